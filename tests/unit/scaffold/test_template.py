"""Project templates: pykb's own and those of others, rendered without running anything of theirs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.scaffold.template import built_in, opened, render_tree

FOLDER = "{{cookiecutter.project_name}}"
VARIABLES = {"project_name": "app", "package": "app", "owner": "{{ 7 * 7 }}"}


def template(files: dict[str, str], **defaults: object) -> dict[str, str]:
    """The files of a template with its cookiecutter.json."""
    declared = {"project_name": "x", **defaults}
    return {"cookiecutter.json": json.dumps(declared), **{f"{FOLDER}/{k}": v for k, v in files.items()}}


def test_a_template_is_rendered_with_our_values_and_its_defaults(make_tree: Callable[..., Path]) -> None:
    """Our values win and are never rendered themselves; other variables take their defaults, in order."""
    source = make_tree(
        template(
            {
                "{{cookiecutter.package}}/a.py": "{{ cookiecutter.owner }} {{ cookiecutter.team }} {{ cookiecutter.size }}"
            },
            team="{{ cookiecutter.project_name }}-team",
            size=["small", "big"],
        )
    )
    found = Diagnostics()
    files = render_tree(source, VARIABLES, found)
    assert not found
    assert {path: file.content for path, file in files.items()} == {"app/a.py": b"{{ 7 * 7 }} app-team small"}


def test_modes_and_missing_last_newlines_are_kept(make_tree: Callable[..., Path]) -> None:
    """A script of the template is a script of the project."""
    source = make_tree(template({"run.sh": "#!/bin/sh", "plain": "x\n"}))
    (source / FOLDER / "run.sh").chmod(0o755)
    files = render_tree(source, VARIABLES, Diagnostics())
    assert (files["run.sh"].mode, files["run.sh"].content, files["plain"].mode) == (0o755, b"#!/bin/sh", 0o644)


def test_bytecode_is_no_part_of_a_template(make_tree: Callable[..., Path]) -> None:
    """Pip compiles the templates of an installed pykb, and people run the scripts of their own."""
    source = make_tree(template({"hack/a.py": "", "hack/__pycache__/a.cpython-311.pyc": "/home/me", "old.pyc": "x"}))
    assert list(render_tree(source, VARIABLES, Diagnostics())) == ["hack/a.py"]


def test_hooks_and_extensions_of_a_template_are_not_run(make_tree: Callable[..., Path], tmp_path: Path) -> None:
    """A template of a stranger runs no code of theirs."""
    proof = tmp_path / "ran"
    source = make_tree(
        {
            **template({"a": ""}, _extensions=["local_extensions.Bad"]),
            "hooks/post_gen_project.sh": f"#!/bin/sh\ntouch {proof}\n",
            "hooks/pre_gen_project.py": f"open({str(proof)!r}, 'w')\n",
            "local_extensions.py": f"open({str(proof)!r}, 'w')\n",
        }
    )
    (source / "hooks/post_gen_project.sh").chmod(0o755)
    found = Diagnostics()
    assert render_tree(source, VARIABLES, found)
    assert not proof.exists()


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"cookiecutter.json": "{"},
        {"cookiecutter.json": "{}"},
        template({"a": "{{ cookiecutter.nothing }}"}),
        template({"a": "{% if %}"}),
        template({"a": ""}, team="{{ nothing }}"),
    ],
    ids=["no json", "bad json", "no folder", "undefined", "syntax", "bad default"],
)
def test_a_broken_template_is_a_finding(make_tree: Callable[..., Path], files: dict[str, str]) -> None:
    """Whatever is wrong with it: one message, no file, nothing left in a temporary folder."""
    found = Diagnostics()
    assert render_tree(make_tree(files), VARIABLES, found) == {}
    assert [d.code.slug for d in found] == ["template-broken"]


def test_a_template_without_its_folder_is_told_what_is_missing(make_tree: Callable[..., Path]) -> None:
    """By the name that the folder must have."""
    found = Diagnostics()
    render_tree(make_tree({"cookiecutter.json": "{}"}), VARIABLES, found)
    assert "`{{cookiecutter.project_name}}`" in next(iter(found)).message


@pytest.mark.parametrize("link", [f"{FOLDER}/key", f"{FOLDER}/keys", "templates"])
def test_no_link_of_a_template_leads_out_of_it(make_tree: Callable[..., Path], tmp_path: Path, link: str) -> None:
    """A template of a stranger carries no file of this machine into a project."""
    secret = tmp_path / "secrets" / "id"
    secret.parent.mkdir()
    secret.write_text("secret")
    source = make_tree(template({"a": "", "b/c": ""}))
    (source / FOLDER / "inside").symlink_to("b")
    assert render_tree(source, VARIABLES, Diagnostics()).keys() >= {"a", "b/c"}
    (source / link).symlink_to(secret if link.endswith("key") else secret.parent)
    found = Diagnostics()
    assert render_tree(source, VARIABLES, found) == {}
    (finding,) = found
    assert link in finding.message


def test_a_clone_that_fails_is_told_in_gits_words(tmp_path: Path) -> None:
    """The line that says why, and none that is empty."""
    found = Diagnostics()
    with opened(f"file://{tmp_path}/none", found):
        (finding,) = found
    assert finding.notes
    assert all(note.startswith("fatal: ") for note in finding.notes)


def test_without_git_a_folder_still_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address needs git, and the finding says what does not."""
    monkeypatch.setenv("PATH", "/no/such/folder")
    found = Diagnostics()
    with opened("https://example.com/t.git", found) as folder:
        assert folder is None
    assert [d.help for d in found] == [("give a folder instead: `--template DIR`",)]


def test_a_git_repository_is_cloned_and_rendered(make_tree: Callable[..., Path]) -> None:
    """By its address, without a shell."""
    source = make_tree(template({"a": "{{ cookiecutter.package }}"}))
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.email=a@b", "-c", "user.name=a", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    found = Diagnostics()
    with opened(f"file://{source}", found) as folder:
        assert folder is not None
        assert {path: f.content for path, f in render_tree(folder, VARIABLES, found).items()} == {"a": b"app"}
    assert not folder.exists()


@pytest.mark.parametrize(
    "source", ["no-such-folder", "--upload-pack=touch x.git", "ext::sh -c touch%x.git", "file:///no/such.git"]
)
def test_addresses_that_are_none_are_findings(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an option of git's nor a transport that runs programs gets through."""
    monkeypatch.chdir(tmp_path)
    found = Diagnostics()
    with opened(source, found) as folder:
        assert folder is None
    assert [d.code.slug for d in found] == ["template-missing"]
    assert list(tmp_path.iterdir()) == []


def test_the_built_in_template_renders_the_same_twice() -> None:
    """Same input, same bytes."""
    variables = {
        "project_name": "app", "package": "app", "domain": "e.com", "owner": "o", "license": "apache2",
        "boilerplate": "# x", "year": "", "namespaced": False, "multigroup": False, "pykb_version": "1",
        "python_version": "3.11",
    }  # fmt: skip
    found = Diagnostics()
    assert render_tree(built_in(), variables, found) == render_tree(built_in(), variables, found)
    assert not found
