"""Mutates files of types and runs each through the whole generator; a program, since a hang must not hang the tests.

    python fuzz_types.py FOLDER FIRST COUNT

FOLDER is scratch. A line of JSON for each case: `codes` of what was found, or `problem` and the `source` that made it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import random
import resource
import signal
import sys
import tokenize
import traceback
import warnings
from pathlib import Path
from types import FrameType

from pykb.diagnostics import Diagnostic
from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate
from pykb.markers.registry import builtin_registry

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"
SECONDS = 20
"""The longest that one case may take: a thousand times what it takes."""
MEMORY = 3 * 2**30
NAMES = "from datetime import *\nfrom enum import *\nfrom typing import *\nfrom pykb.api import *\n\n"
SEEDS = [
    NAMES + path.read_text(encoding="utf-8").replace("from __future__ import annotations\n", "")
    for folder in ("differential", "crd", "virtulmachine", "foo")
    for path in sorted((TESTDATA / folder).rglob("*types.py"))
]
MARKERS = [definition.example for definition in builtin_registry()]
WORDS = [
    *("str", "int", "bool", "bytes", "None", "float", "Any", "dict[str, Any]", "list[str]", "list[Spec]", "set[str]", "..."),
    *("Quantity", "IntOrString", "datetime", "timedelta", "Struct", "CustomResource", "Literal['a', 1]", "Literal[()]"),
    *("tuple[int, str]", "tuple[int, int]", "dict[int, str]", "type", "object", "Annotated[str, Field(pattern='(')]"),
    *("Annotated[int, Field(ge=5, le=1)]", "Annotated[str, CEL('self.')]", "Annotated[list[str], ListMap('a')]", "int | str"),
    *("'Missing'", "lambda: 1", "Nullable()", "Field(default=object())", "Field(alias='x')", "= 1", "-1", "2**70", "'\\ud800'"),
    *("class", "def", "type X = int", "pass", "@annotate(ExactlyOneOf('a'))", "@property", "yield", "await", "\x00", "\ufeff"),
    *("Generic[T]", "TypeVar('T')", "Enum", "StrEnum", "(", ")", "[", "]", ":", ",", "=", "|", "#", "\\", "\n", "\t", "\f", '"""'),
]  # fmt: skip


class TooLong(BaseException):
    """A case that does not end; no `except Exception` may keep it."""


def mutate(text: str, chance: random.Random) -> str:
    """Some words, lines and markers changed, moved, doubled or lost."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
                lines.insert(at, f"{indent}# {chance.choice(MARKERS)}")
            case 4:
                lines[at] = chance.choice((" " + lines[at], lines[at][1:], "    " + lines[at], lines[at].lstrip()))
            case 5:
                lines[at] = spoilt(lines[at], chance)
            case _:
                text = other_word(text, chance)
                continue
        text = "\n".join(lines)
    return text


def mutated(chance: random.Random) -> str:
    """A file that differs from a good one, three times out of four still Python: most of the generator comes after."""
    seed = chance.choice(SEEDS)
    source = mutate(seed, chance)
    if chance.random() < 0.25:
        return source
    for _ in range(20):
        with contextlib.suppress(SyntaxError, ValueError):
            ast.parse(source)
            break
        source = mutate(seed, chance)
    return source


def spoilt(line: str, chance: random.Random) -> str:
    """A character inserted, lost or changed."""
    at = chance.randrange(len(line) + 1)
    return line[:at] + chance.choice(("", chance.choice(WORDS), chance.choice("{}[]();,:=+'\"` é\u2028"))) + line[at + chance.randrange(2) :]  # fmt: skip


def other_word(text: str, chance: random.Random) -> str:
    """A token replaced by another one, of the same file or not."""
    tokens = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError, ValueError):
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    if not tokens:
        return text
    token = chance.choice(tokens)
    new = chance.choice((chance.choice(WORDS), chance.choice(tokens).string))
    lines = text.split("\n")
    if token.start[0] != token.end[0] or token.start[0] > len(lines):
        return text
    line = lines[token.start[0] - 1]
    lines[token.start[0] - 1] = line[: token.start[1]] + new + line[token.end[1] :]
    return "\n".join(lines)


def place_of(diagnostic: Diagnostic, folder: Path) -> str:
    """What is wrong with the place of a diagnostic; nothing, usually."""
    span = diagnostic.span
    if span is None:
        return "" if diagnostic.code.slug == "nothing-to-generate" else "no place"
    path = folder / span.path
    if not path.is_file():
        return f"no file {span.path}"
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not 1 <= span.line <= len(lines):
        return f"line {span.line} of {len(lines)}"
    if not 1 <= span.column <= len(lines[span.line - 1]) + 1:
        return f"column {span.column} of {len(lines[span.line - 1])} in line {span.line}"
    return ""


def outcome(source: str, folder: Path) -> dict[str, object]:
    """What the generator makes of a file of types."""
    package = folder / "shop" / "api" / "v1"
    package.mkdir(parents=True, exist_ok=True)
    for part in (package, package.parent, package.parent.parent):
        (part / "__init__.py").touch()
    (package / "things_types.py").write_text(source, encoding="utf-8", errors="surrogatepass", newline="")
    result = generate(GenerateOptions(root=folder, paths=("shop/api",)))
    render(result.diagnostics, style=Format.FULL)
    render(result.diagnostics, style=Format.JSON).encode()
    files = [artifact.render().encode() for made in result.artifacts.values() for artifact in made]
    codes = sorted({d.code.slug for d in result.diagnostics})
    for diagnostic in result.diagnostics:
        if wrong := place_of(diagnostic, folder):
            return {"problem": f"{diagnostic.code.slug}: {wrong}: {diagnostic.message}"}
    if not files and not codes:
        return {"problem": "neither output nor a word"}
    return {"codes": codes}


def stop(_number: int, _frame: FrameType | None) -> None:
    """Ends a case that takes too long."""
    raise TooLong


def main(folder: Path, first: int, count: int) -> None:
    """Run the cases one after the other."""
    warnings.simplefilter("ignore")  # of Pydantic about the user's types
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, stop)
    for case in range(first, first + count):
        source = mutated(random.Random(case))
        signal.alarm(SECONDS)
        try:
            found = outcome(source, folder)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever it is, it is what is looked for
            found = {"problem": traceback.format_exc()}
        except TooLong:
            found = {"problem": f"not done after {SECONDS} s: {traceback.format_exc()}"}
        finally:
            signal.alarm(0)
        extra = {"source": source} if "problem" in found else {}
        sys.stdout.write(json.dumps({"case": case, **found, **extra}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
