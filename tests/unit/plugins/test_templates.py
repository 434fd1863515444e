"""Every template of a request: it sees what it names, and what it makes needs no formatter.

Charts, bundles and dashboards are made of other values. `test_helm.py`, `test_olm.py` and `test_grafana.py` render them.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import UndefinedError, meta, nodes

from pykb.commands.transition import reconciler_name
from pykb.plugins import Style
from pykb.plugins.rendering import Files
from pykb.plugins.request import ApiRequest, Controller, KindRequest, Spoke, WebhookRequest
from pykb.project import Certificates
from pykb.project.file import Project
from pykb.project.resource import Operand, Resource, Webhooks
from pykb.python_source.source import CodeStyle
from pykb.scaffold.locate import templates
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.template import environment

RUFF = Path(sys.executable).with_name("ruff")
FILES = templates() / "files"
ALL = sorted(
    path.relative_to(FILES).as_posix()
    for path in FILES.rglob("*.j2")
    if path.relative_to(FILES).parts[0] not in ("chart", "grafana", "olm")
)
SEEN = {"project": Project, "resource": Resource, "controller": Controller, "spoke": Spoke, "has_sample": bool}
OWN: dict[str, tuple[str, ...]] = {
    "controllers/controller.py.j2": ("controller",),
    "controllers/handlers.py.j2": ("controller",),
    "controllers/operand.py.j2": ("controller",),
    "tests/controllers/test_controller.py.j2": ("controller",),
    "tests/controllers/test_operand.py.j2": ("controller",),
    "tests/controllers/test_handlers.py.j2": ("controller",),
    "api/version/conversion.py.j2": ("spoke",),
    "tests/api/test_conversion.py.j2": ("spoke",),
    "tests/webhooks/test_webhook.py.j2": ("has_sample",),
}
"""What a template sees besides the request, the project and the resource."""
OPERANDS = (Operand("memcached:1.6"), Operand("example.com/a/b@sha256:" + "0" * 64, ("run", "--x=1", 'a"b'), 80, 1001))


def is_of_webhooks(name: str) -> bool:
    """Whether `create webhook` renders a template."""
    folders = ("webhooks/", "tests/webhooks/", "tests/api/", "config/webhook/", "config/cert", "config/prometheus/")
    return name.startswith(folders) or "conversion" in name or "manager_webhook" in name or "traffic" in name


def included() -> set[str]:
    """The templates that are parts of others."""
    parsed = (environment().parse((FILES / name).read_text("utf-8")) for name in ALL)
    return {str(each) for tree in parsed for each in meta.find_referenced_templates(tree)}


INCLUDED = included()
WHOLE = [name for name in ALL if name not in INCLUDED or name == "webhooks/setup.py.j2"]


@dataclasses.dataclass
class Case:
    """Requests with names of some form, and all that they render."""

    root: Path
    group: str = "g"
    version: str = "v1"
    kind: str = "Ship"
    plural: str = "ships"
    project_name: str = "fleet"
    multigroup: bool = False
    namespaced: bool = True
    external: bool = False
    path: str = ""

    def resource(self) -> Resource:
        """The kind."""
        made = Resource(
            self.group, "example.com", self.version, self.kind, self.plural, namespaced=self.namespaced,
            api=not self.external, external=self.external,
        )  # fmt: skip
        return dataclasses.replace(made, path=self.path or self.api().module("api", self.version))

    def api(self, style: Style = Style.RECONCILER) -> ApiRequest:
        """A request of `create api`."""
        plain = Resource(self.group, "example.com", self.version, self.kind, self.plural, path=self.path)
        request = ApiRequest(
            project=self.project(), resource=plain, boilerplate="# Mine.", force=False, known=None, source=None,
            make_resource=not self.external, controller=None,
        )  # fmt: skip
        name = f"{request.group_prefix}{self.kind.lower()}" if self.multigroup else ""
        module = request.module(
            "controllers", f"{self.kind.lower()}_{'handlers' if style == 'handlers' else 'controller'}"
        )
        controller = Controller(module, name, reconciler_name(self.kind, ""), style)
        return dataclasses.replace(request, controller=controller)

    def webhooks(self) -> WebhookRequest:
        """A request of `create webhook`."""
        made = Webhooks(defaulting=True, validation=True, conversion=True, spoke=("v1alpha10",))
        return WebhookRequest(
            project=self.project(), resource=self.resource(), boilerplate="", force=False, made=made, named=made.spoke
        )

    def project(self) -> Project:
        """PROJECT."""
        return Project(
            domain="example.com",
            project_name=self.project_name,
            package=self.project_name,
            multigroup=self.multigroup,
            namespaced=not self.namespaced,
            certificates=Certificates.CERT_MANAGER if self.multigroup else Certificates.BUILT_IN,
        )

    def request(self, name: str) -> KindRequest:
        """The request that a template is rendered for."""
        if is_of_webhooks(name):
            return self.webhooks()
        style = Style.HANDLERS if "handlers" in name else Style.RECONCILER
        operand = OPERANDS[len(self.kind) % 2] if "operand" in name or "image_patch" in name else None
        return dataclasses.replace(self.api(style), resource=dataclasses.replace(self.resource(), operand=operand))

    def text(self, name: str) -> str:
        """A rendered template."""
        request = self.request(name)
        values = {
            "controller": getattr(request, "controller", None),
            "spoke": Spoke("v1alpha10", request.module("api", "v1alpha10", f"{self.kind.lower()}_conversion")),
            "has_sample": not self.external,
        }
        own = {each: values[each] for each in OWN.get(name, ())}
        return Files(request, PlanBuilder(self.root)).text(name, **own)


@pytest.mark.parametrize("name", WHOLE)
def test_a_template_sees_what_it_names(name: str, tmp_path: Path) -> None:
    """It renders for kinds of every sort; what is unknown would raise."""
    for values in ({}, {"namespaced": False}, {"multigroup": True}, {"external": True, "path": "ext.types"}):
        text = Case(tmp_path, **values).text(name)  # type: ignore[arg-type]
        assert text.endswith("\n")
        assert not text.endswith("\n\n")


@pytest.mark.parametrize("name", ALL)
def test_a_template_names_nothing_else_in_any_branch(name: str) -> None:
    """Also where no test leads: the objects that it may see, and what those have."""
    tree = environment().parse((FILES / name).read_text("utf-8"))
    request = WebhookRequest if is_of_webhooks(name) else ApiRequest
    seen = {"request": request, **SEEN}
    assert meta.find_undeclared_variables(tree) <= {
        "request",
        "project",
        "resource",
        "config",
        "mutating",
        *OWN.get(name, ()),
    }
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name in seen:
            assert hasattr(seen[node.node.name], node.attr), f"{node.node.name}.{node.attr}"


@pytest.mark.parametrize("name", ALL)
def test_no_template_breaks_lines_itself(name: str) -> None:
    """What is long is for the formatter to know, by the settings of the project."""
    tree = environment().parse((FILES / name).read_text("utf-8"))
    assert not [node.name for node in tree.find_all(nodes.Filter) if node.name in ("length", "count", "wordwrap")]


@pytest.mark.parametrize("text", ["{{ nobody }}", "{{ resource.nothing }}", "{% if project.nothing %}{% endif %}"])
def test_a_name_that_is_unknown_is_an_error(text: str, tmp_path: Path) -> None:
    """A misspelt name is never an empty text."""
    case = Case(tmp_path)
    with pytest.raises(UndefinedError):
        environment().from_string(text).render(project=case.project(), resource=case.resource())


def cases(root: Path) -> Iterator[Case]:
    """Kinds of every length, each with short and long names around it."""
    for length in range(1, 64):
        kind, plural = "K" + "i" * (length - 1), "p" * length
        yield Case(root, kind=kind, plural=plural)
        yield (
            Case(root, kind=kind, group="g" * length, version="v2alpha10", multigroup=True),
            Case(root, kind=kind, plural="p" * 63, group="l" * 50 + "." + "g" * length, multigroup=True),
            Case(root, project_name="n" * length, group="g" * length, plural="p" * (64 - length)),
            Case(root, kind=kind, external=True, path=f"{'m' * length}.types", namespaced=False),
        )[length % 4]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, dict[str, str]]]:
    """What the templates of Python give for each case, as yet without any form."""
    root = tmp_path_factory.mktemp("plain")
    names = [name for name in WHOLE if name.endswith(".py.j2")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodeStyle, "formatted", lambda _, text: text)
        return [(case, {name: case.text(name) for name in names}) for case in cases(root)]


@pytest.mark.parametrize(("width", "first"), [(79, 0), (120, 1)])
def test_the_formatter_would_write_the_same(
    width: int, first: int, plain: list[tuple[Case, dict[str, str]]], tmp_path: Path
) -> None:
    """Whatever the lengths of names and lines: Ruff makes of the plain text what pykb makes of it.

    Each width has the kinds of all lengths, the larger one those with long names around them.
    """
    ours: dict[Path, str] = {}
    for number, (case, texts) in enumerate(plain[first::2]):
        if len(case.kind) > width * 3 / 4:  # 59 columns of 79: what is returned would need brackets of its own
            continue
        folder = tmp_path / str(number)
        for name, text in texts.items():
            path = folder / name.removesuffix(".j2")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            ours[path] = CodeStyle(case.project_name, width).formatted(text)
        settings = f"line-length = {width}\nlint.isort.known-first-party = ['{case.project_name}']\n"
        (folder / "ruff.toml").write_text(settings, encoding="utf-8")
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        subprocess.run([RUFF, *command, "--quiet", "--no-cache", tmp_path], check=True)
    wrong = [path for path, text in ours.items() if path.read_text("utf-8") != text]
    assert wrong == []
