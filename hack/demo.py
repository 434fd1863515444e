"""`make demo`: the whole main job as a user does it, from an empty directory to a reconciled object.

Every step is a command that a user would type, and it is printed before it runs. The project and its control plane are
in a temporary folder. They are removed at the end, even after Ctrl-C.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
SPEC = '''    cpu: str
    """Number of virtual CPUs."""

    memory: str
    """Memory, as a quantity."""
'''
STATUS = '''    phase: str | None = None
    """What the machine is doing."""

'''
RECONCILE = """        print(f"cpu: {resource.spec.cpu}, memory: {resource.spec.memory}")
        resource.status.phase = "Running"
        await self.client.status.update(resource)
"""
SAMPLE = """  cpu: "2"
  memory: 4Gi
"""
PATIENCE = 60  # seconds until the object must be reconciled


class Demo:
    """Runs commands in the project's folder and shows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            # Without the variables of the outer make: the project's make must not act as its child.
            **{name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "KUBECONFIG": str(folder / ".pykb/cluster/kubeconfig"),
        }

    def run(self, command: str) -> None:
        """Run one command to its end.

        Raises:
            CalledProcessError: The command failed. Its output was shown.
        """
        print(f"\n\x1b[1m$ {command}\x1b[0m", flush=True)
        subprocess.run(shlex.split(command), cwd=self.folder, env=self.environment, check=True)

    def use_kubectl_of_the_control_plane(self) -> None:
        """Put the control plane's kubectl on PATH, for machines without kubectl."""
        done = subprocess.run(
            ["pykb", "envtest", "path"], env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        )
        self.environment["PATH"] += os.pathsep + done.stdout.strip()

    def start(self, command: str, log: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a command in the background, in its own process group. Its output is shown, or written to a file."""
        print(f"\n\x1b[1m$ {command} &\x1b[0m", flush=True)
        with Path(log or os.devnull).open("wb") as file:
            output = file if log else None
            words, folder = shlex.split(command), self.folder
            return subprocess.Popen(words, cwd=folder, env=self.environment, stdout=output, start_new_session=True)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a piece of a file, as a user would in an editor."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        if old not in text:
            sys.exit(f"error: {path} does not contain the text to edit: {old!r}")
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        print(f"  edited {path}")


def main() -> None:
    """Run all steps and clean up."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pykb-demo-") as temporary:
        folder = Path(temporary, "sealvm")
        folder.mkdir()
        demo = Demo(folder)
        manager: subprocess.Popen[bytes] | None = None
        try:
            scaffold(demo)
            edit_types(demo)
            demo.run("pykb cluster up --no-controller-manager")
            demo.use_kubectl_of_the_control_plane()
            demo.run("make")
            demo.run("make install")
            manager = demo.start("make run")
            demo.run("kubectl apply -k config/samples")
            wait_for_running(demo, manager)
            demo.run("kubectl get virtulmachines -o yaml")
        except subprocess.CalledProcessError as failed:
            sys.exit(f"\nerror: `{shlex.join(failed.cmd)}` ended with exit code {failed.returncode}")
        finally:
            if manager and manager.poll() is None:
                os.killpg(manager.pid, signal.SIGINT)
                manager.wait(timeout=60)
            if (folder / ".pykb/cluster").exists():
                demo.run("pykb cluster down")
    print(f"\nDone in {time.monotonic() - started:.0f} s. Start your own: pykb init --domain example.com")


def scaffold(demo: Demo) -> None:
    """Run the two commands that make the project."""
    demo.run('pykb init --domain sealyun.com --license apache2 --owner "fanux"')
    demo.run("pykb create api --group infra --version v1 --kind VirtulMachine --resource --controller --no-make")


def edit_types(demo: Demo) -> None:
    """Make a user's edits: two fields, a status, and a line that uses them."""
    types = "sealvm/api/v1/virtulmachine_types.py"
    text = (demo.folder / types).read_text(encoding="utf-8")
    example = text[text.index("    foo: ") : text.index("\n\n\n", text.index("    foo: ")) + 1]
    demo.edit(types, example, SPEC)
    anchor = text[text.index("class VirtulMachineStatus") :].split('"""\n\n', 1)[0] + '"""\n\n'
    demo.edit(types, anchor, anchor + STATUS)
    controller = "sealvm/controllers/virtulmachine_controller.py"
    demo.edit(controller, '        self.logger.info("reconciling %s", request)\n', RECONCILE)
    demo.edit("config/samples/infra_v1_virtulmachine.yaml", "  foo: bar\n", SAMPLE)


def wait_for_running(demo: Demo, manager: subprocess.Popen[bytes]) -> None:
    """Wait until the reconciler has written its status."""
    command = "kubectl get virtulmachine virtulmachine-sample -o jsonpath={.status.phase}"
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if manager.poll() is not None:
            sys.exit(f"error: `make run` ended with exit code {manager.returncode}")
        phase = subprocess.run(
            shlex.split(command), cwd=demo.folder, env=demo.environment, check=False, capture_output=True, text=True
        ).stdout
        if phase == "Running":
            return
        time.sleep(0.2)
    sys.exit(f"error: the sample was not reconciled within {PATIENCE} s")


if __name__ == "__main__":
    main()
