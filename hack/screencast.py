"""`make screencast`: records commands of the README and of a tutorial as they are, and draws them.

Three recordings: from `init` to a reconciled object, the explorer that finds a fault, and the operator of the tutorial
at work. The commands run as a user
types them. What differs from run to run (times, ports, folders) is replaced, long output is cut, and the pace is the
same each time. `docs/images/NAME.cast` is an asciicast (version 2) for players, `NAME.svg` the same as a picture.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from html import escape
from pathlib import Path

from hack.demo import Demo, edit_types, wait_for_running
from hack.tutorial import PAGE, blocks, paste

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDTH, HEIGHT = 100, 26
AT_MOST = 16  # lines of output of a command
AT_LAST = 120  # seconds until a Job must be started
READING, TYPING, LINE, END = 1.4, 0.5, 0.07, 6.0  # seconds after a command, before its output, per line, at the end

Cast = list[tuple[float, str]]
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_OTHER = re.compile(r"\x1b(?:\(B|\[[0-9;?]*[A-Za-ln-z])")  # codes that do not colour
_REPLACED = (
    (re.compile(r"(?<=false {5})[\dms]+ +[\dms]+$"), "...        ..."),  # the times of a CronJob, in their columns
    (re.compile(r"\bcronjob-sample-[a-z0-9]{5}\b"), "cronjob-sample-7xk2p"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:6443"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "2026-01-01T00:00:00Z"),
    (re.compile(r" ?(?:in|after) \d+(?:\.\d+)? ?(?:s|seconds)\b"), ""),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|MiB|MB)\b"), "..."),
)
_NOISE = re.compile(
    r"^(?:make(?:\[\d+\])?: |\s*\|?$|diff --git |index |--- |\+\+\+ |WARNING: |\w[\w ]* \.\.\.$|exploring: )"
)

CREATES = """        if resource.status.phase is None:
            page = ConfigMap(metadata=ObjectMeta(name=request.name, namespace=request.namespace))
            await self.client.create(page)
            resource.status.phase = "Running"
            await self.client.status.update(resource)
"""
APPLIES = """        page = ConfigMap(metadata=ObjectMeta(name=request.name, namespace=request.namespace))
        await ensure_applied(self.client, page, owner=resource)
        if resource.status.phase is None:
            resource.status.phase = "Running"
            await self.client.status.update(resource)
"""


class Recorder(Demo):
    """Runs commands as the demo does, and keeps what they print."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment |= {"FORCE_COLOR": "1", "TERM": "xterm-256color", "GIT_PAGER": "cat"}
        self.cast: Cast = []
        self._now = 0.5

    def show(self, command: str, output: str = "") -> None:
        """Add a command and its output to the recording."""
        is_long = len(command) > WIDTH - 2
        *first, last = textwrap.wrap(command, WIDTH - 6, break_on_hyphens=False) if is_long else [command]
        for number, piece in enumerate([*(f"{each} \\" for each in first), last]):
            prompt = "    " if number else "\x1b[1;32m$\x1b[0m "
            self._add(f"{prompt}\x1b[1m{piece}\x1b[0m", TYPING)
        for line in shortened(cleaned(output, self.folder)):
            self._add(line, LINE)
        self._now += READING

    def _add(self, line: str, pause: float) -> None:
        self.cast.append((round(self._now, 2), line))
        self._now += pause

    def run(self, command: str, *, shown: bool = True, finds: str = "") -> None:
        """Run one command to its end. It ends with 0, or with 1 and a finding that is expected."""
        print(f"$ {command}", flush=True)
        words = shlex.split(command)
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode != bool(finds) or finds not in done.stdout:
            sys.exit(f"{done.stdout}\nerror: `{command}` ended with exit code {done.returncode}")
        if shown:
            self.show(command, done.stdout)

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a command in the background. Its output is not shown."""
        self.show(f"{command} &")
        with self.log.open("wb") as log:
            return subprocess.Popen(
                shlex.split(command),
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> Path:
        """What the command in the background prints."""
        return self.folder.parent / "background.log"


def cleaned(output: str, folder: Path) -> list[str]:
    """The lines of an output, without what differs from run to run."""
    text = _OTHER.sub("", output.replace("\r\n", "\n")).replace(str(folder), ".").replace(str(Path.home()), "~")
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    lines = [line.expandtabs(4).rstrip() for line in text.split("\n")]
    return [piece for line in lines if not _NOISE.match(_SGR.sub("", line)) for piece in wrapped(line)]


def wrapped(line: str) -> list[str]:
    """A line in pieces that fit the terminal. A colour that is open at a break is lost, as in few lines it is."""
    if len(_SGR.sub("", line)) <= WIDTH:
        return [line]
    return textwrap.wrap(_SGR.sub("", line), WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def shortened(lines: list[str]) -> list[str]:
    """The first and the last lines of a long output."""
    left_out = len(lines) - AT_MOST
    if left_out <= 1:
        return lines
    head = AT_MOST - 4
    return [*lines[:head], f"\x1b[2m... {left_out + 1} lines ...\x1b[0m", *lines[-3:]]


def as_asciicast(cast: Cast, title: str) -> str:
    """The recording in asciinema's format: https://docs.asciinema.org/manual/asciicast/v2/."""
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title}
    events = [[at, "o", f"{line}\r\n"] for at, line in cast]
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in (header, *events))


def from_asciicast(text: str) -> tuple[Cast, str]:
    """The recording and its title."""
    header, *events = map(json.loads, text.splitlines())
    return [(at, line.removesuffix("\r\n")) for at, _, line in events], header["title"]


_STYLE = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "34": "u", "36": "c"}
_CELL, _ROW, _TOP, _LEFT = 7.8, 18, 40, 14


def as_svg(cast: Cast, title: str) -> str:
    """The recording as an animated picture.

    All lines are there from the start. A cover below the newest line hides the others, and the text moves up when the
    terminal is full: two animations with steps. Viewers without animations show the end.
    """
    ends = cast[-1][0] + END
    rows = [f'<text y="{number * _ROW - 5}">{_spans(line)}</text>' for number, (_, line) in enumerate(cast, start=1)]
    cover = _keyframes("cover", [(at, min(n, HEIGHT)) for n, (at, _) in enumerate(cast, start=1)], ends, 1)
    moves = [(at, n - HEIGHT) for n, (at, _) in enumerate(cast, start=1) if n > HEIGHT]
    scroll = _keyframes("scroll", moves, ends, -1)
    shown, last = min(len(cast), HEIGHT), max(0, len(cast) - HEIGHT)
    width, height = round(WIDTH * _CELL + 2 * _LEFT), HEIGHT * _ROW + _TOP + 14
    inner = height - _TOP
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">
<title>{escape(title)}</title>
<style>
text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d5d9e0;white-space:pre}}
.b{{font-weight:bold;fill:#fff}}.d{{fill:#8b93a1}}.r{{fill:#ff7b72}}.g{{fill:#7ee787}}.y{{fill:#e3b341}}
.u{{fill:#79c0ff}}.c{{fill:#76e3ea}}
#cover{{animation:cover {ends:.1f}s step-end infinite}}
#scroll{{animation:scroll {ends:.1f}s step-end infinite}}
{cover}{scroll}
@media (prefers-reduced-motion:reduce){{#cover,#scroll{{animation:none}}}}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#16191f"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/>
<circle cx="60" cy="18" r="6" fill="#28c840"/>
<svg x="{_LEFT}" y="{_TOP}" width="{width - 2 * _LEFT}" height="{inner}" overflow="hidden">
<g id="scroll" transform="translate(0,-{last * _ROW})">
{chr(10).join(rows)}
</g>
<rect id="cover" transform="translate(0,{shown * _ROW})" width="100%" height="{inner}" fill="#16191f"/>
</svg>
</svg>
"""


def _keyframes(name: str, steps: list[tuple[float, int]], ends: float, sign: int) -> str:
    frames = "".join(f"{at / ends:.2%}{{transform:translateY({sign * rows * _ROW}px)}}" for at, rows in steps)
    return f"@keyframes {name}{{0%{{transform:translateY(0)}}{frames}}}\n"


def _spans(line: str) -> str:
    """A line with its colours. Each piece has its own place, so that another font does not shift columns."""
    out, column, style = [], 0, ""
    for number, piece in enumerate(_SGR.split(line)):
        if number % 2:
            style = " ".join(_STYLE[code] for code in piece.split(";") if code in _STYLE)
        elif piece:
            name = f' class="{style}"' if style else ""
            out.append(f'<tspan x="{column * _CELL:.1f}"{name}>{escape(piece, quote=False)}</tspan>')
            column += len(piece)
    return "".join(out)


def scaffold(demo: Recorder, *, shown: bool) -> None:
    """Run the two commands that make the project, and make a user's edits."""
    demo.run("git init -q", shown=False)
    demo.run('pykb init --domain sealyun.com --owner "fanux"', shown=shown)
    api = "pykb create api --group infra --version v1 --kind VirtulMachine --resource --controller --no-make"
    demo.run(api, shown=shown)
    edit_types(demo)


def record_init(demo: Recorder) -> None:
    """From `init` to a reconciled object."""
    scaffold(demo, shown=True)
    demo.show("# edit the types: two fields and a status; edit the controller: five lines")
    demo.run("make", shown=False)  # the first run also installs packages
    demo.run("make")
    demo.run("pykb cluster up --no-controller-manager")
    demo.use_kubectl_of_the_control_plane()
    demo.run("make install")
    manager = demo.start("make run")
    try:
        demo.run("kubectl apply -k config/samples")
        wait_for_running(demo, manager)
        demo.run("kubectl get virtulmachine virtulmachine-sample -o jsonpath-as-json={.status}")
    finally:
        if manager.poll() is None:
            os.killpg(manager.pid, signal.SIGINT)
            manager.wait(timeout=60)
        else:
            print(demo.log.read_text(encoding="utf-8"), file=sys.stderr)
        demo.run("pykb cluster down", shown=False)


def record_explore(demo: Recorder) -> None:
    """The explorer finds a fault, and does not find it after the remedy."""
    scaffold(demo, shown=False)
    controller = "sealvm/controllers/virtulmachine_controller.py"
    text = (demo.folder / controller).read_text(encoding="utf-8")
    start = text.index('        print(f"cpu:')
    body = text[start : text.index("        return Result()", start)].rstrip("\n") + "\n"
    demo.edit(controller, body, CREATES)
    demo.edit(
        controller,
        "from pykb.runtime import ",
        "from pykb.api.core.v1 import ConfigMap\nfrom pykb.api.meta.v1 import ObjectMeta\n"
        "from pykb.runtime import ensure_applied, ",
    )
    marker = "    # +kubebuilder:rbac:"
    rules = '    # +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch\n'
    demo.edit(controller, marker, rules + marker)
    for command in ("pykb generate", "git add -A", "git -c user.name=a -c user.email=a@b.c commit -qm start"):
        demo.run(command, shown=False)
    demo.run("pykb explore --only explore-crash", finds="[explore-crash]")
    demo.edit(controller, CREATES, APPLIES)
    demo.run("git diff -U0")
    demo.run("pykb explore --only explore-crash")


def record_cronjob(demo: Recorder) -> None:
    """Step 5 of the tutorial to a complete operator, by the commands of the page."""
    before, _, step = PAGE.read_text(encoding="utf-8").partition("\n## 6. ")[0].partition("\n## 5. ")
    demo.folder = demo.folder.with_name("cron")
    demo.folder.mkdir()
    demo.environment["KUBECONFIG"] = str(demo.folder / ".pykb/cluster/kubeconfig")
    for block in blocks(before):
        language, title, body = block.groups()
        if title:
            paste(demo.folder / title, language, body)
        elif language == "sh":
            for command in body.splitlines():
                if not command.startswith("mkdir "):
                    demo.run(command, shown=False)
    manager = None
    try:
        for command in (line for block in blocks(step) if block[1] == "sh" for line in block[3].splitlines()):
            if command == "make run":
                manager = demo.start(command)
                wait_for_job(demo)
            elif "pykb cluster up" in command:
                demo.run("pykb cluster up")
                demo.use_kubectl_of_the_control_plane()
            else:
                demo.run(command)
    finally:
        if manager is not None:
            os.killpg(manager.pid, signal.SIGINT)
            manager.wait(timeout=60)
        demo.run("pykb cluster down", shown=False)


def wait_for_job(demo: Recorder) -> None:
    """Wait until the next full minute, when the operator starts a Job."""
    command = "kubectl get jobs -o name"
    deadline = time.monotonic() + AT_LAST
    while time.monotonic() < deadline:
        words = shlex.split(command)
        if subprocess.run(words, cwd=demo.folder, env=demo.environment, check=True, stdout=subprocess.PIPE).stdout:
            return
        time.sleep(1)
    sys.exit(f"{demo.log.read_text(encoding='utf-8')}\nerror: no Job was started in {AT_LAST} seconds")


RECORDINGS = {
    "init": (record_init, "From pykb init to a reconciled object"),
    "explore": (record_explore, "pykb explore finds a fault"),
    "cronjob": (record_cronjob, "The CronJob operator at work"),
}


def main() -> None:
    """Record those that are named, or all."""
    IMAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or RECORDINGS:
        record, title = RECORDINGS[name]
        with tempfile.TemporaryDirectory(prefix="pykb-screencast-") as temporary:
            folder = Path(temporary, "sealvm")
            folder.mkdir()
            demo = Recorder(folder)
            record(demo)
        (IMAGES / f"{name}.cast").write_text(as_asciicast(demo.cast, title), encoding="utf-8")
        (IMAGES / f"{name}.svg").write_text(as_svg(demo.cast, title), encoding="utf-8")


if __name__ == "__main__":
    main()
