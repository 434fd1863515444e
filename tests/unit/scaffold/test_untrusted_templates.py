"""A template of a stranger gives text: it runs no code, reads no file of this machine and writes none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.scaffold.template import RenderedFile, render_tree

Make = Callable[..., Path]
FOLDER = "{{cookiecutter.project_name}}"
VARIABLES = {"project_name": "app", "package": "app", "owner": "o", "namespaced": False}

# One for each way out that our environment shuts. Jinja's own tests know the spellings of each.
ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",  # Python's internals, by attributes, filters and format strings
    "{{ lipsum|attr('__globals__') }}",
    "{{ [lipsum]|map(attribute='__globals__')|join }}",
    "{{ '{0.__class__}'.format('') }}",
    "{{ random_ascii_string.__globals__ }}",  # a function of cookiecutter
    "{{ self._TemplateReference__context.environment.extensions }}",
    "{% import 'inc' as i %}{{ i._TemplateModule__context }}",
    "{{ cookiecutter.update({'x': 1}) }}",  # changes of what is given
    "{{ x.__class__ }}",  # unknown names
    "{% do lipsum.__globals__ %}",  # extensions
    "{% debug %}",
    "{% include '/etc/passwd' %}",  # files outside of the template
    "{% include '../../outside' %}",
    "{% include '../cookiecutter.json' %}",
    "{% include 'cookiecutter.json' %}",
]


def template(files: dict[str, str], **defaults: object) -> dict[str, str]:
    """The files of a template with its cookiecutter.json."""
    return {"cookiecutter.json": json.dumps(defaults), **{f"{FOLDER}/{name}": text for name, text in files.items()}}


def outcome(source: Path) -> tuple[dict[str, RenderedFile], list[str]]:
    """The files of a template, and what is wrong with it."""
    found = Diagnostics()
    files = render_tree(source, VARIABLES, found)
    assert {d.code.slug for d in found} <= {"template-broken"}
    return files, [note for d in found for note in d.notes]


@pytest.mark.parametrize("text", ESCAPES)
def test_no_expression_gets_to_python(make_tree: Make, text: str) -> None:
    """Neither in a file, nor in a default of `cookiecutter.json`, nor in the name of a file."""
    make_tree({"outside": "secret"}, "outside")
    inc = {f"{FOLDER}/inc": "{% set a = 1 %}"}
    files, notes = outcome(make_tree({**template({"a": text}), **inc}))
    assert (files, len(notes)) == ({}, 1)
    files, notes = outcome(make_tree({**template({"a": ""}, team=text), **inc}, "by_default"))
    assert (files, len(notes)) == ({}, 1)
    if "/" not in text:
        files, notes = outcome(make_tree({**template({text: ""}), **inc}, "by_name"))
        assert (files, len(notes)) == ({}, 1)


def test_what_is_left_is_text(make_tree: Make) -> None:
    """The names of Python's inner things in plain text, and format strings that want nothing of them."""
    text = "''.__class__ {{ '{0}-{b}'.format(1, b=2) }} {{ '%s'|format('x') }} {{ 'A b'|slugify }} {{ {}|jsonify }}"
    files, notes = outcome(make_tree(template({"a": text})))
    assert notes == []
    assert files["a"].content == b"''.__class__ 1-2 x a-b {}"


@pytest.mark.parametrize("text", ["{{ 1 / 0 }}", "{{ range(10 ** 9)|list }}", "{{ 'a' * 10 ** 18 }}", "{{ 'a' + 1 }}", "{{ [1][9].x }}", "{{ 'x'|center('y') }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ '%d' % 'x' }}", "{{ '{'.format() }}"])  # fmt: skip
def test_an_expression_that_fails_is_a_finding(make_tree: Make, text: str) -> None:
    """Whatever Python raises, and whatever is too large."""
    assert outcome(make_tree(template({"a": text})))[0] == {}
    assert outcome(make_tree(template({"a": ""}, team=text)))[0] == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"extensions": ["jinja2.ext.do"]},
        {"loader": "x"},
        {"undefined": "x"},
        {"finalize": "x"},
        {"sandboxed": False},
        {"block_start_string": 1},
        {"block_start_string": "{{"},
        ["trim_blocks"],
        "trim_blocks",
        7,
        None,
    ],
    ids=str,
)
def test_a_template_changes_the_syntax_of_its_environment_and_no_more(make_tree: Make, settings: object) -> None:
    """Extensions and classes cannot be brought in by the back door."""
    assert outcome(make_tree(template({"a": ""}, _jinja2_env_vars=settings)))[0] == {}


def test_another_syntax_is_kept(make_tree: Make) -> None:
    """For templates of templates."""
    settings = {"variable_start_string": "[[", "variable_end_string": "]]"}
    declared = {"cookiecutter.json": json.dumps({"_jinja2_env_vars": settings})}
    files, _ = outcome(make_tree({**declared, "[[cookiecutter.project_name]]/a": "{{ x }} [[ cookiecutter.owner ]]"}))
    assert files["a"].content == b"{{ x }} o"


@pytest.mark.parametrize(
    "text", ["[]", "1", "null", '"x"', "[" * 100_000, '{"a": 1, "a": {}}', '{"_copy_without_render": 1}']
)
def test_any_json_is_a_template_or_a_finding(make_tree: Make, text: str) -> None:
    """Never a failure of ours."""
    outcome(make_tree({**template({"a": ""}), "cookiecutter.json": text}))


@pytest.mark.parametrize("evil", ["../../victim/keep", "{root}/victim/keep", "../victim/keep"])
def test_rendering_writes_nothing_whatever_the_names_are(make_tree: Make, tmp_path: Path, evil: str) -> None:
    """A name that leads elsewhere is only a name; a folder of such a name is not emptied."""
    victim = make_tree({"keep": "mine"}, "victim")
    evil = evil.replace("{root}", str(tmp_path))
    source = make_tree(
        template({"{{cookiecutter.evil}}": "theirs", "{{cookiecutter.copied}}/x": "y"}, evil=evil, copied=str(victim))
    )
    declared = json.loads((source / "cookiecutter.json").read_text())
    (source / "cookiecutter.json").write_text(
        json.dumps({**declared, "_copy_without_render": ["{{cookiecutter.copied}}"]})
    )
    files, _ = outcome(source)
    assert evil in files
    assert {path.name: path.read_text() for path in victim.iterdir()} == {"keep": "mine"}


def test_a_name_that_renders_to_nothing_leaves_the_file_out(make_tree: Make) -> None:
    """Also that of a folder."""
    files, notes = outcome(
        make_tree(template({"{% if cookiecutter.namespaced %}a{% endif %}": "", "{{ '' }}/b": "", "c/d": ""}))
    )
    assert (list(files), notes) == (["c/d"], [])


def test_what_is_not_to_be_rendered_is_copied(make_tree: Make) -> None:
    """A file by its rendered name; below a folder that is copied also names are left alone."""
    source = make_tree(
        template(
            {
                "{{cookiecutter.package}}.txt": "{{ x }}",
                "raw/{{x}}/y": "{{ y }}",
                "bin": "a\0{{ z }}",
                "crlf": "a\r\nb",
            },
            _copy_without_render=["*.txt", "raw"],
        )
    )
    (source / FOLDER / "latin").write_bytes("größe {{ x }}".encode("latin-1"))
    files, _ = outcome(source)
    assert {path: file.content for path, file in files.items()} == {
        "app.txt": b"{{ x }}",
        "raw/{{x}}/y": b"{{ y }}",
        "bin": b"a\0{{ z }}",
        "crlf": b"a\r\nb",
        "latin": "größe {{ x }}".encode("latin-1"),
    }
