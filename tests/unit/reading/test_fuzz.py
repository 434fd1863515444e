"""Mutated files and answers: whoever reads them gives data, or the error that it promises; nothing else comes out.

500 cases for each reader by default; ``PYKB_FUZZ_CASES`` sets another number.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pykb.api._core_schema import to_rust
from pykb.api.quantity import Quantity
from pykb.api.time import parse_duration, parse_time
from pykb.client.login._kubeconfig import KubeconfigSource
from pykb.client.selectors import LabelSelector
from pykb.diagnostics import Diagnostics, EnvironmentProblem
from pykb.envtest.crds import read_crds
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import WebhookManifest
from pykb.gen.cel.evaluate import verdict
from pykb.gen.cel.resolve import resolve
from pykb.gen.cel.syntax import CelSyntaxError
from pykb.gen.cel.syntax import parse as parse_cel
from pykb.gen.cel.types import Findings
from pykb.gen.checks.value import is_match, pattern_problem
from pykb.gen.ir import SchemaNode
from pykb.gen.manifest import load_manifest
from pykb.gen.request import read_settings
from pykb.importer.definition import find_definitions
from pykb.importer.definition import parse as parse_source
from pykb.importer.plan import package_files
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry
from pykb.project.file import check, read
from pykb.project.resource import Resource
from pykb.project.writer import with_resource
from pykb.reading import read_json, read_python, yaml_text
from pykb.scaffold.insert import Fragment, FragmentKind, Member, extend, insert

CASES = int(os.environ.get("PYKB_FUZZ_CASES", "500"))
TESTDATA = Path(__file__).parents[3] / "testdata"
PIECES = (
    *(
        "[",
        "]",
        "{",
        "}",
        ":",
        ": ",
        "- ",
        "? ",
        "|",
        ">",
        "'",
        '"',
        "`",
        "\\",
        "#",
        "%",
        "@",
        "!",
        "&a ",
        "*a",
        "<<: *a\n",
    ),
    *(
        "\0",
        "\x07",
        "\r\n",
        "\r",
        "\n",
        "\t",
        "\ufeff",
        "\u2028",
        "\ud800",
        "\U0001f600",
        "\n---\n",
        "\n...\n",
        "%YAML 9.9\n",
    ),
    *("!!int ", "!!binary ", "!!python/name:os.system ", "!!timestamp ", "!!set ", "null", "~", "true", "9" * 400),
    *("1e400", ".nan", "0x", "2001-99-99", "12:30:45", "9" * 5000, "-", "(", ")", "\\u0000", "[" * 300, "{a: " * 300),
    *(
        "a" * 3000,
        "- " * 300,
        "(" * 300,
        ".a" * 300,
        "!" * 300,
        '{"a":' * 300,
        "$",
        "*",
        "+",
        "?",
        "{9999}",
        "(?i)",
        "\\p{L}",
    ),
)
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: a
clusters:
- name: c
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: YQ==}
contexts:
- {name: a, context: {cluster: c, user: u, namespace: n}}
users:
- name: u
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: get, args: [a], env: [{name: A, value: b}], provideClusterInfo: true}
"""
CREDENTIAL = json.dumps(
    {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {
            "token": "t",
            "expirationTimestamp": "2030-01-01T00:00:00Z",
            "clientCertificateData": "x",
            "clientKeyData": "y",
        },
    }
)
DEEP = "class A(B):\n    # +optional\n    a: int = Field(default=1)\n\nX = Annotated[int, 1]\nY: TypeAlias = A\n"
RULES = (
    "self.replicas <= self.maxReplicas && has(self.a) || !(self.b in ['x', \"y\"])",
    "self.all(x, x.name.matches('^[a-z]+$') ? x.size() > 1u : x.v == b'\\x00')",
    "oldSelf.orValue({'a': 1.5e3}).?b[0].c == -1 && duration('1h') < self.d",
)


def mutated(text: str, chance: random.Random) -> str:
    """Some places of a text cut, doubled, swapped or with something put in."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(text) + 1)
        to = min(len(text), at + chance.choice((1, 1, 2, 8, 40)))
        match chance.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at]
            case 2:
                text = text[:at] + text[at:to] * chance.choice((2, 2, 50)) + text[to:]
            case 3:
                text = text[:at] + chance.choice(PIECES) + text[to:]
            case _:
                text = text[:at] + chance.choice(PIECES) + text[at:]
    return text


def as_bytes(text: str, chance: random.Random) -> bytes:
    """As a file may have it: in another encoding, or broken off in a character."""
    match chance.randrange(12):
        case 0:
            return text.encode("utf-16", "replace")
        case 1:
            return b"\xef\xbb\xbf" + text.encode("utf-8", "replace")
        case 2:
            content = text.encode("utf-8", "replace")
            return content[: chance.randrange(len(content) + 1)] + b"\xff\xc3" + content[-20:]
        case 3:
            return text.replace("\n", "\r\n").encode("utf-8", "replace")
    return text.encode("utf-8", "surrogatepass")


def samples(pattern: str, *, most: int = 6000) -> list[str]:
    """The files of testdata that match, if they are short."""
    found = sorted(path for path in TESTDATA.glob(pattern) if path.is_file())
    texts = [path.read_text(encoding="utf-8") for path in found]
    kept = [text for text in texts if len(text) <= most]
    assert kept, pattern
    return kept


def _cel(text: str) -> None:
    tree = parse_cel(text)
    schema = SchemaNode().put("type", "object")
    assert isinstance(resolve(tree, schema, is_root=False), Findings | None)
    verdict(text, {"replicas": 1}, schema, matches=is_match)


def _import(text: str) -> None:
    diagnostics = Diagnostics()
    definitions = find_definitions(parse_source(text, "a.yaml", diagnostics), diagnostics)
    if not diagnostics.has_errors():
        package_files(definitions, diagnostics)


def _collect(text: str) -> None:
    collect(text, "a.py", registry=builtin_registry(), diagnostics=Diagnostics())


def _kustomization(text: str) -> None:
    extend(text, [Member("resources", "new.yaml"), Member("patches", "path: p.yaml")], path="k.yaml")


def _insert_python(text: str) -> None:
    insert(text, [Fragment("imports", "from a.b import c", FragmentKind.IMPORT)], path="main.py")
    insert(text, [Fragment("controllers", "c(manager)", FragmentKind.STATEMENT, key="c")], path="main.py")


def _regex(text: str) -> None:
    to_rust(text)
    if pattern_problem(text) is None:
        is_match(text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")


SLOW = {"import": 20, "manifest": 8, "markers": 8, "python": 2}
"""What takes longer gets fewer cases."""
TEXTS: dict[str, tuple[Callable[[], list[str]], Callable[[str], object], tuple[type[Exception], ...]]] = {
    "yaml": (lambda: samples("foo/config/**/*.yaml"), yaml_text.load_all, (yaml.MarkedYAMLError,)),
    "manifest": (lambda: samples("crd/versions/**/*.yaml"), load_manifest, (yaml.MarkedYAMLError,)),
    "json": (lambda: [CREDENTIAL], read_json, (ValueError,)),
    "python": (lambda: samples("foo/sample_controller/**/*.py"), read_python, (SyntaxError,)),
    "markers": (lambda: [*samples("foo/sample_controller/api/**/*.py"), DEEP], _collect, ()),
    "import": (lambda: samples("import/crds/*.yaml", most=20_000), _import, ()),
    "kustomization": (lambda: samples("foo/config/**/kustomization.yaml"), _kustomization, ()),
    "main": (lambda: samples("*/*/__main__.py"), _insert_python, ()),
    "cel": (lambda: list(RULES), _cel, (CelSyntaxError,)),
    "regex": (lambda: [r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[\d\w])*$", r"^\Q[\E(?:a|b){1,3}[[:alpha:]&&]$"], _regex, ()),
    "quantity": (lambda: ["100m", "1.5Gi", "-1e3", "0.000001"], lambda t: Quantity(t).canonical(), (ValueError,)),
    "duration": (lambda: ["1h30m", "1.5s", "-2us"], parse_duration, (ValueError,)),
    "time": (lambda: ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456+02:00"], parse_time, (ValueError,)),
    "selector": (lambda: ["a=b,c!=d,e in (f,g),!h", "k notin (x)"], LabelSelector.parse, (ValueError,)),
}


@pytest.mark.parametrize("reader", TEXTS)
def test_a_mutated_text_is_read_or_refused(reader: str) -> None:
    """With no error but the one that the reader promises."""
    seeds, read, promised = TEXTS[reader]
    texts, chance = seeds(), random.Random(reader)
    for _ in range(CASES // SLOW.get(reader, 1)):
        text = mutated(chance.choice(texts), chance)
        try:
            read(text)
        except promised:
            continue
        except Exception as error:
            error.add_note(f"for {text[:3000]!r}")
            raise


def _kubeconfig(path: Path) -> None:
    KubeconfigSource([path])._load()


def _small_kubeconfig(path: Path) -> None:
    Rest.from_kubeconfig(path)


def _project(path: Path) -> None:
    project, found = read(path.parent)
    check(project)
    if not found:
        with_resource(project, Resource("infra", "example.com", "v1", "Box", "boxes"))


FILES: dict[str, tuple[str, Callable[[], list[str]], Callable[[Path], object]]] = {
    "kubeconfig": ("config", lambda: [KUBECONFIG], _kubeconfig),
    "control plane": ("config", lambda: [KUBECONFIG], _small_kubeconfig),
    "definitions": ("crd.yaml", lambda: samples("foo/config/crd/bases/*.yaml"), lambda p: read_crds([p])),
    "webhooks": ("w.yaml", lambda: samples("*/config/webhook/manifests.yaml"), WebhookManifest.read),
    "PROJECT": ("PROJECT", lambda: [*samples("*/PROJECT"), "conversion: true"], _project),
    "pyproject": (
        "pyproject.toml",
        lambda: ["[tool.pykb.generate]\npaths = ['a']\n"],
        lambda p: read_settings(p.parent, Diagnostics()),
    ),
}


@pytest.mark.parametrize("reader", FILES)
def test_a_mutated_file_is_read_or_refused(reader: str, tmp_path: Path) -> None:
    """What is wrong with it is a diagnostic."""
    name, seeds, read = FILES[reader]
    texts, chance = seeds(), random.Random(reader)
    for _ in range(CASES // 10):
        content = as_bytes(mutated(chance.choice(texts), chance), chance)
        (tmp_path / name).write_bytes(content)
        try:
            read(tmp_path / name)
        except EnvironmentProblem:
            continue
        except Exception as error:
            error.add_note(f"for {content[:3000]!r}")
            raise
