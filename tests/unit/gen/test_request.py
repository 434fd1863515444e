"""Command line and settings together make the options of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen.request import KEYS, Given, make_request


def test_without_arguments_everything_is_generated_to_kubebuilders_places(tmp_path: Path) -> None:
    """The defaults."""
    request = make_request(tmp_path, Given(), Diagnostics())
    assert request.options.generators == ("crd", "rbac", "webhook")
    assert request.rules.folders["crd"] == "config/crd/bases"
    assert request.options.role_name == "manager-role"
    assert request.options.is_whole


def test_a_command_line_of_controller_gen_is_understood(tmp_path: Path) -> None:
    """What kubebuilder's Makefile says."""
    words = ["rbac:roleName=mine", "crd:maxDescLen=0", "webhook", "paths=./...", "output:crd:artifacts:config=crds"]
    request = make_request(tmp_path, Given(words=tuple(words)), Diagnostics())
    assert request.options.role_name == "mine"
    assert request.options.max_description == 0
    assert dict(request.rules.folders) == {"crd": "crds", "rbac": "config/rbac", "webhook": "config/webhook"}
    assert request.options.is_whole


@pytest.mark.parametrize(
    ("words", "setting", "fields"),
    [
        ((), "", True),
        (("crd",), "", True),
        (("crd", "paths=./..."), "", False),
        (("crd", "rbac:roleName=x"), "", False),
        (("crd:generateEmbeddedObjectMeta=true", "paths=./..."), "", True),
        (("crd:generateEmbeddedObjectMeta=false",), "generate-embedded-object-meta = true", False),
        (("crd", "paths=./..."), "generate-embedded-object-meta = true", True),
        ((), "generate-embedded-object-meta = false", False),
    ],
)
def test_embedded_metadata_has_fields_unless_controller_gen_would_leave_them_out(
    words: tuple[str, ...], setting: str, fields: bool, tmp_path: Path
) -> None:
    """Its words have its default, and what follows from that alone is said."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.pykb.generate]\n{setting}\n")
    options = make_request(tmp_path, Given(words=words), Diagnostics()).options
    assert options.schemas.embedded_metadata is fields
    assert options.schemas.reports_bare_metadata is (not fields and "Embedded" not in "".join(words) and not setting)


def test_the_command_line_wins_over_the_settings(tmp_path: Path) -> None:
    """`[tool.pykb.generate]` holds defaults."""
    (tmp_path / "pyproject.toml").write_text('[tool.pykb.generate]\nrole-name = "theirs"\nmax-desc-len = 5\n')
    request = make_request(tmp_path, Given(options={"role-name": "mine"}), Diagnostics())
    assert (request.options.role_name, request.options.max_description) == ("mine", 5)


@pytest.mark.parametrize(
    ("setting", "message", "column"),
    [
        ('role-nam = "x"', "has no key `role-nam`", 1),
        ("role-name = 3", "takes a string, found `3`", 1),
        ("paths = [1]", "takes a list of strings, found `[1]`", 1),
        ("max-desc-len = true", "takes a whole number, found `true`", 1),
    ],
)
def test_mistakes_in_the_settings_have_a_place(setting: str, message: str, column: int, tmp_path: Path) -> None:
    """The line of the key in pyproject.toml."""
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.pykb.generate]\n{setting}\n")
    found = Diagnostics()
    make_request(tmp_path, Given(), found)
    (diagnostic,) = found
    assert message in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.path, diagnostic.span.line, diagnostic.span.column) == ("pyproject.toml", 4, column)


def test_compat_names_a_version_of_controller_gen(tmp_path: Path) -> None:
    """Nothing else can be claimed."""
    found = Diagnostics()
    assert (
        make_request(tmp_path, Given(options={"compat": "controller-gen=v0.23.0"}), found).options.compatible_with
        == "v0.23.0"
    )
    make_request(tmp_path, Given(options={"compat": "v0.23.0"}), found)
    assert [d.code.slug for d in found] == ["generate-option"]


@pytest.mark.parametrize(
    ("text", "message", "help_", "line"),
    [
        ("[tool.pykb]\nrole-name = 'x'\n", "but `[tool.pykb.generate]` has", "[tool.pykb.generate]", 2),
        ("[tool.pykb.generate]\nkubernetes = '>=1.33'\n", "but `[tool.pykb]` has", "[tool.pykb]", 2),
        (
            "[tool.pykb]\nkubernets = '>=1.33'\n",
            "`[tool.pykb]` has no key `kubernets`",
            "did you mean `kubernetes`?",
            2,
        ),
        ("[tool.pykb.generat]\nrole-name = 'x'\n", "`[tool.pykb]` has no key `generat`", "did you mean `generate`?", 1),
        ("[tool.pykb.generate]\nmax-desclen = 1\n", "has no key `max-desclen`", "did you mean `max-desc-len`?", 2),
    ],
)
def test_unknown_settings_are_errors_that_name_the_nearest(
    text: str, message: str, help_: str, line: int, tmp_path: Path
) -> None:
    """A setting that means nothing would be missed in silence."""
    (tmp_path / "pyproject.toml").write_text(text)
    found = Diagnostics()
    make_request(tmp_path, Given(), found)
    (diagnostic,) = found
    assert message in diagnostic.message
    assert diagnostic.help == (help_,)
    assert diagnostic.span is not None
    assert diagnostic.span.line == line


@pytest.mark.parametrize(
    ("content", "message", "place"),
    [
        (b"[project]\n[tool.pykb\n", "expected TOML: Expected ']' at the end of a table declaration", (2, 11)),
        (b"[tool.pykb.generate]\n\xff\xfe", "expected TOML, which is UTF-8: found another encoding", (1, 1)),
        (b"[tool.pykb]\ngenerate = 1\n", "expected the table `[tool.pykb.generate]`, found another value", (2, 1)),
        (b"[tool]\npykb = 'tool.pykb'\n", "expected the table `[tool.pykb]`, found another value", (2, 1)),
        (b"tool = 'tool.pykb'\n", "expected the table `[tool]`, found another value", (1, 1)),
    ],
)
def test_settings_that_cannot_be_read_are_said(
    content: bytes, message: str, place: tuple[int, int], tmp_path: Path
) -> None:
    """At the place that the reader names, where it names one."""
    (tmp_path / "pyproject.toml").write_bytes(content)
    found = Diagnostics()
    make_request(tmp_path, Given(), found)
    (diagnostic,) = found
    assert diagnostic.message == message
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == place


SETTINGS = """
[tool.pykb.generate]
paths = ["shop"]
role-name = "r"
rbac-file-name = "roles.yaml"
header-file = "h.txt"
year = 2026
max-desc-len = 7
allow-dangerous-types = true
generate-embedded-object-meta = false
ignore-unexported-fields = true
crd-versions = ["v1"]
preserve-unknown-fields = false
compat = "controller-gen=v0.23.0"
builtin-descriptions = "openapi.json"
output-dir = "out"
allow-breaking = true
"""


def test_every_option_can_be_set_in_the_project(tmp_path: Path) -> None:
    """What a command line can say, `[tool.pykb.generate]` can."""
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    found = Diagnostics()
    request = make_request(tmp_path, Given(), found)
    options = request.options
    assert list(found) == []
    assert (options.paths, options.role_name, options.rbac_file_name) == (("shop",), "r", "roles.yaml")
    assert (options.header_file, options.year, options.max_description) == ("h.txt", "2026", 7)
    assert (options.schemas.allow_dangerous_types, options.schemas.embedded_metadata) == (True, False)
    assert (options.preserve_unknown_fields, options.compatible_with) == (False, "v0.23.0")
    assert options.builtin_descriptions == "openapi.json"
    assert set(request.rules.folders.values()) == {"out"}
    assert request.allow_breaking
    assert {key for key in KEYS if f"{key} = " not in SETTINGS} == set()


@pytest.mark.parametrize(
    ("word", "folders", "printed", "discarded"),
    [
        ("output:dir=x", ("x", "x", "x"), (), ()),
        ("output:stdout", None, ("crd", "rbac", "webhook"), ()),
        ("output:none", None, (), ("crd", "rbac", "webhook")),
        ("output:artifacts:config=x", ("x", "x", "x"), (), ()),
        ("output:artifacts:config=x,code=y", ("x", "x", "x"), (), ()),
        ("output:rbac:dir=x", ("config/crd/bases", "x", "config/webhook"), (), ()),
        ("output:crd:artifacts:config=x", ("x", "config/rbac", "config/webhook"), (), ()),
        ("output:webhook:stdout", None, ("webhook",), ()),
        ("output:crd:none", None, (), ("crd",)),
    ],
)
def test_every_output_rule_is_understood(
    word: str,
    folders: tuple[str, ...] | None,
    printed: tuple[str, ...],
    discarded: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """Of all generators, or of one."""
    found = Diagnostics()
    rules = make_request(tmp_path, Given(words=("crd", "rbac", "webhook", word)), found).rules
    assert list(found) == []
    assert tuple(rules.folders.values()) == (folders or ("config/crd/bases", "config/rbac", "config/webhook"))
    assert (sorted(rules.printed), sorted(rules.discarded)) == (sorted(printed), sorted(discarded))


def test_what_is_typed_in_a_folder_is_relative_to_it(tmp_path: Path) -> None:
    """The project is found upward; the settings stay relative to it."""
    (tmp_path / "pyproject.toml").write_text('[tool.pykb.generate]\nheader-file = "h.txt"\n')
    here = tmp_path / "shop" / "api"
    words = ("crd", "paths=./...", "output:crd:dir=out")
    request = make_request(tmp_path, Given(words, {"paths": ["v1"], "output-dir": ".."}, here), Diagnostics())
    assert request.options.paths == ("shop/api/v1", "shop/api/...")
    assert dict(request.rules.folders) == {"crd": "shop/api/out", "rbac": "shop", "webhook": "shop"}
    assert request.options.header_file == "h.txt"
    assert not request.options.is_whole


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Given(options={"crd-versions": ["v1beta1"]}), "API servers know `apiextensions.k8s.io/v1` only"),
        (Given(options={"preserve-unknown-fields": True}), "is refused by the API server"),
        (Given(check=True, stdout=True), "`--check` compares files"),
        (Given(check=True, words=("crd", "output:stdout")), "`--check` compares files"),
        (
            Given(words=("crd:deprecatedV1beta1CompatibilityPreserveUnknownFields=true",)),
            "is refused by the API server",
        ),
    ],
)
def test_values_that_make_no_sense_are_said(given: Given, message: str, tmp_path: Path) -> None:
    """controller-gen writes what servers no longer take."""
    found = Diagnostics()
    make_request(tmp_path, given, found)
    assert [d.code.slug for d in found] == ["generate-option"]
    assert message in next(iter(found)).message


def test_no_annotation_is_claimed_where_the_command_line_leaves_it_out(tmp_path: Path) -> None:
    """`omitToolVersion` wins over the project's `compat`."""
    (tmp_path / "pyproject.toml").write_text('[tool.pykb.generate]\ncompat = "controller-gen=v0.23.0"\n')
    options = make_request(tmp_path, Given(words=("crd:omitToolVersion=true",)), Diagnostics()).options
    assert options.compatible_with is None


@pytest.mark.parametrize("place", ["out", "shop/out"])
def test_an_absolute_path_inside_the_project_is_like_a_relative_one(place: str, tmp_path: Path) -> None:
    """From the project's folder, from one below it, and in the settings; also where the project has a second name."""
    root, link = tmp_path / "project", tmp_path / "link"
    (root / "shop").mkdir(parents=True)
    link.symlink_to(root)
    for folder in (root, root / "shop"):
        for seen in (root, link):
            found = Diagnostics()
            given = Given((), {"output-dir": str(seen / place), "paths": [str(seen / "shop/...")]}, folder)
            request = make_request(root, given, found)
            assert (set(request.rules.folders.values()), request.options.paths) == ({place}, ("shop/...",))
            assert not list(found)
    (root / "pyproject.toml").write_text(f'[tool.pykb.generate]\noutput-dir = "{root / place}"\n', "utf-8")
    assert set(make_request(root, Given(), Diagnostics()).rules.folders.values()) == {place}
    outside = Diagnostics()
    make_request(root, Given((), {"output-dir": str(tmp_path / "other")}, root), outside)
    assert [each.code.slug for each in outside] == ["generate-path-outside"]
