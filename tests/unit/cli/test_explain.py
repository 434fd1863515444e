"""`pykb explain` has the whole reference without a network: messages and markers, pages, names of the Python API."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pykb.api.builtin import structs
from pykb.cli.explain import describe, explain, fields_of, find, names_of, type_text
from pykb.diagnostics.codes import all_codes
from pykb.scaffold.locate import reference

PAGES = {path.stem: path for path in reference().glob("*.md")}


def test_each_page_of_the_reference_is_shown_and_named_in_the_help(pykb: Any) -> None:
    """Piped, it is the Markdown of the page. No message has the name of a page."""
    assert pykb("explain", "metrics").out == PAGES["metrics"].read_text(encoding="utf-8")
    assert pykb("explain", "metrics.md").out == PAGES["metrics"].read_text(encoding="utf-8")
    assert json.loads(pykb("explain", "flags", "--format", "json").out)["page"] == "flags"
    (named,) = re.findall(r"pages of the reference: ([^.]*)\.", explain.__doc__ or "")
    assert set(re.split(r",\s+", named)) | {"markers"} == set(PAGES)
    assert not PAGES.keys() & all_codes().keys()


@pytest.mark.parametrize(
    "module", ["pykb.api", "pykb.client", "pykb.envtest", "pykb.runtime", "pykb.runtime.fake", "pykb.testing"]
)
def test_each_public_name_is_found(module: str) -> None:
    """With its signature and its docstring."""
    for name in import_module(module).__all__:
        found, path, missing = find(f"{module}.{name}")
        assert (path, missing) == (f"{module}.{name}", "")
        assert describe(path, found).startswith(path)


def test_a_name_is_described_with_its_members(pykb: Any) -> None:
    """Each member can be named in turn, also an inherited one."""
    text = pykb("explain", "pykb.runtime.Client").out
    assert "Reads and writes objects of an API server." in text
    assert ":class:" not in text
    assert "\n  get\n      Read one object." in text
    assert (
        "    key: Key,\n    *,\n    namespace: str | None = None,\n" in pykb("explain", "pykb.runtime.Client.get").out
    )
    assert json.loads(pykb("explain", "pykb.runtime.Client", "--format=json").out)["text"] == text


@pytest.mark.parametrize(
    ("subject", "remedy"),
    [
        ("pykb.runtime.Managr", "`pykb explain pykb.runtime.Manager`"),
        ("pykb.runtime.Client.gett", "`pykb explain pykb.runtime.Client.get`"),
        ("pykb.runtime._logging", "`pykb explain pykb.runtime`"),
        ("pykb.api.conditions.nothing.more", "`pykb explain pykb.api.conditions`"),
        ("pykb.gen.run", "`pykb explain pykb`"),
        ("metrcs", "`pykb explain metrics`"),
        ("kubebuilder:validation:Minimun", "`pykb explain +kubebuilder:validation:Minimum`"),
        ("Deploymnt.spec", "`pykb explain Deployment.spec`"),
        ("pykb.api.core.v1.Secrt", "`pykb explain pykb.api.core.v1.Secret`"),
        ("Service.spec.prts", "`pykb explain Service.spec.ports`"),
        ("Service.spec.ports.port.x", "`pykb explain Service.spec.ports.port`"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_what_is_near(pykb: Any, subject: str, remedy: str) -> None:
    """Only what is public is there."""
    ended = pykb("explain", subject)
    assert ended.code == 2
    assert remedy in ended.err


@pytest.mark.parametrize("subject", ["Vessel", "vessels", "Vessel.spec.size"])
def test_a_kind_of_the_project_is_in_a_file(pykb: Any, project: Path, subject: str) -> None:
    """Its types are not imported."""
    assert pykb("create", "api", "--group", "fleet", "--version", "v1", "--kind", "Vessel", "--no-make").code == 0
    kind = subject.partition(".")[0]
    types = "sealvm/api/v1/vessel_types.py"
    assert (project / types).exists()
    assert f"help: `{kind}` is a kind of this project: its fields are in `{types}`" in pykb("explain", subject).err


@pytest.mark.parametrize(
    ("topic", "remedy"),
    [
        ("updat", "`pykb update`"),
        ("crate api", "`pykb create`"),
        ("alpha update", "`pykb update`"),
        ("metrcs", "`pykb explain metrics`"),
        ("anchor-mising", "`pykb explain anchor-missing`"),
        ("NetworkPolcy", "`pykb explain NetworkPolicy`"),
    ],
)
def test_help_of_what_is_not_there_names_what_is_near(pykb: Any, topic: str, remedy: str) -> None:
    """Commands first, and then all that can be explained."""
    ended = pykb("help", *topic.split())
    assert ended.code == 2
    assert remedy in ended.err


@pytest.mark.parametrize(
    ("topic", "start"),
    [
        ("metrics", "# Metrics"),
        ("anchor-missing", "error[anchor-missing]: "),
        ("+kubebuilder:validation:Enum", "+kubebuilder:validation:Enum"),
        ("pykb.runtime.Manager", "pykb.runtime.Manager("),
        ("generate", "Usage: pykb generate "),
        ("create api", "Usage: pykb create api "),
    ],
)
def test_help_of_a_topic_is_its_explanation(pykb: Any, topic: str, start: str) -> None:
    """A command comes first, and a misspelt one is called an unknown command."""
    assert pykb("help", *topic.split()).out.startswith(start)
    assert "error[unknown-command]" in pykb("help", "crate").err


def test_names_are_offered_in_the_order_of_their_declaration() -> None:
    """A class has those of its bases after its own, without Python's."""
    names = names_of(find("pykb.runtime.fake.FakeApiServer")[0])
    assert "use_webhooks" in names
    assert not any(name.startswith("_") for name in names)


def test_the_fields_of_a_kind_are_shown_with_their_types(pykb: Any) -> None:
    """As `kubectl explain` does: by the name of the kind or by that of the class, and from there by fields."""
    assert pykb("explain", "NetworkPolicy").out == (
        "NetworkPolicy of networking.k8s.io/v1 (networkpolicies, namespaced)\n"
        "pykb.api.networking.v1.NetworkPolicy\n\n"
        "  metadata  ObjectMeta\n"
        "  spec      NetworkPolicySpec\n\n"
        "The fields of a field: `pykb explain NetworkPolicy.spec`\n"
    )
    assert "\n  stringData (string_data)  dict[str, str]\n" in pykb("explain", "pykb.api.core.v1.Secret").out
    assert pykb("explain", "services.spec.ports").out == (
        "Service.spec.ports: list[ServicePort]\n\n"
        "  port                        int        required\n"
        "  appProtocol (app_protocol)  str\n"
        "  name                        str\n"
        "  nodePort (node_port)        int\n"
        "  protocol                    str        default TCP, one of SCTP, TCP, UDP\n"
        "  targetPort (target_port)    int | str\n"
    )
    assert pykb("explain", "Secret.data").out == "Secret.data: dict[str, bytes]\n"
    assert pykb("explain", "Container.env").out.startswith("Container.env: list[EnvVar]\n")
    [field, *_] = json.loads(pykb("explain", "Service.spec.ports", "--format=json").out)["fields"]
    assert field == {"name": "port", "wire": "port", "type": "int", "required": True, "default": None, "values": []}


def test_a_kind_of_several_groups_names_the_others(pykb: Any) -> None:
    """The newest version comes first, and the core group before others."""
    ended = pykb("explain", "HorizontalPodAutoscaler")
    assert ended.out.startswith("HorizontalPodAutoscaler of autoscaling/v2 ")
    assert ended.err == "note: there is also `pykb explain pykb.api.autoscaling.v1.HorizontalPodAutoscaler`\n"
    assert pykb("explain", "event").out.startswith("Event of v1 ")


def test_each_type_is_shown_in_short_words() -> None:
    """Without modules, annotations, and what cannot be printed."""
    texts = {type_text(field.annotation) for cls in structs() for field in fields_of(cls)}
    assert [text for text in texts if not re.fullmatch(r"[\w\[\], |']+", text)] == []
    assert [text for text in texts if "Annotated" in text or "None" in text] == []
