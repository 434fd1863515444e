"""`pykb generate --fix`: corrects the source where there is one correction, and touches nothing else."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

import pytest

from pykb.cli import changes as command
from pykb.diagnostics import Diagnostics
from pykb.files.plan import Draft, add_fixes
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate

SOURCE = """\
from typing import Annotated

# +kubebuilder:rbac:groups=apps/v1,resources=Deployment,verbs=GET;lst
# +kubebuilder:rbac:urls=metrics,verbs=get\r
# +kubebuilder:rbac:grups=batch,resources=jobs,verbs=get\x20\x20

text = "# +kubebuilder:rbac:grups=a"
"""
WANTED = """\
from typing import Annotated

# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list
# +kubebuilder:rbac:urls=/metrics,verbs=get\r
# +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get\x20\x20

text = "# +kubebuilder:rbac:grups=a"
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a controller whose markers have slips."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop/controller.py"
    path.parent.mkdir()
    path.write_bytes(SOURCE.encode())
    return path


def test_all_slips_are_corrected_and_the_manifests_written(pykb, source: Path) -> None:
    """Several in one line, those that others hide, line ends and blanks as they were."""
    source.chmod(0o600)
    done = pykb("generate", "rbac", "--fix")
    assert (done.code, done.out) == (0, ""), done.err
    assert source.read_bytes() == WANTED.encode()
    assert source.stat().st_mode & 0o777 == 0o600
    assert "updated shop/controller.py\n" in done.err
    assert "deployments" in Path("config/rbac/role.yaml").read_text()
    again = pykb("generate", "rbac", "--fix")
    assert (again.code, again.err) == (0, "")


def test_without_the_option_the_command_says_that_there_is_one(pykb, source: Path) -> None:
    """And changes nothing."""
    done = pykb("generate", "rbac")
    assert done.code == 1
    assert done.err.endswith("nothing was written\n`pykb generate --fix` corrects 6 findings\n")
    assert source.read_bytes() == SOURCE.encode()


def test_what_has_no_single_correction_stays_and_is_reported(pykb, source: Path) -> None:
    """The rest is fixed all the same; no manifest is written."""
    unclear = "# +kubebuilder:rbac:groups=apps,resources=a,verbs=frobnicate,colour=red\n"
    source.write_text(unclear + "# +kubebuilder:rbac:groups=apps,resources=a,verb=get\n")
    done = pykb("generate", "rbac", "--fix")
    assert done.code == 1
    assert done.err.endswith("no manifests were written\n")
    assert "marker-argument-unknown" in done.err
    assert source.read_text() == unclear + "# +kubebuilder:rbac:groups=apps,resources=a,verbs=get\n"
    assert not Path("config").exists()


@pytest.mark.parametrize("option", ["--diff", "--dry-run"])
def test_a_preview_writes_nothing(pykb, source: Path, option: str) -> None:
    """A patch, or a list, on stdout."""
    done = pykb("generate", "rbac", "--fix", option)
    assert done.code == 0
    assert ("+# +kubebuilder:rbac:groups=batch" in done.out) == (option == "--diff")
    assert "shop/controller.py" in done.out
    assert source.read_bytes() == SOURCE.encode()
    assert not Path("config").exists()


def test_a_preview_fails_if_findings_would_stay(pykb, source: Path) -> None:
    """They are on stderr."""
    with source.open("a") as file:
        file.write("# +kubebuilder:rbac:groups=apps,resources=a,verbs=get,colour=red\n")
    done = pykb("generate", "rbac", "--fix", "--diff")
    assert done.code == 1
    assert "`colour`" in done.err
    assert "grups" not in done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--diff",), "flag-required"),
        (("--dry-run",), "flag-required"),
        (("--fix", "--check"), "flag-conflict"),
        (("--fix", "--check-compat", "HEAD"), "flag-conflict"),
    ],
)
def test_options_that_do_not_go_together_are_refused(pykb, source: Path, words: tuple[str, ...], code: str) -> None:
    """By the code of usage errors."""
    done = pykb("generate", "rbac", *words)
    assert (done.code, f"error[{code}]" in done.err) == (2, True)
    assert source.read_bytes() == SOURCE.encode()


def test_the_json_of_a_finding_has_the_edit(pykb, source: Path) -> None:
    """Applied as the reference says, it makes what `--fix` makes of it."""
    source.write_text("# +kubebuilder:rbac:grups=apps,resources=a,verbs=get,colour=red\n")
    found = json.loads(pykb("generate", "rbac", "--format", "json").err)
    fixes = [each["fix"] for each in found]
    assert fixes == [
        [
            {
                "span": {"path": "shop/controller.py", "line": 1, "column": 21, "endLine": 1, "endColumn": 26},
                "old": "grups",
                "new": "groups",
            }
        ],
        [],
    ]


def test_a_file_that_changed_meanwhile_is_left_alone(source: Path, tmp_path: Path) -> None:
    """The edits were made for another text; a line may be gone altogether."""
    result = generate(GenerateOptions(root=tmp_path, generators=("rbac",)))
    for text in ("# shorter\n", SOURCE.replace("grups", "group", 1)):
        source.write_bytes(text.encode())
        draft = Draft(tmp_path)
        add_fixes(draft, result.diagnostics)
        assert [each.code.slug for each in draft.diagnostics] == ["file-changed"]
        assert draft.build().is_empty
    with pytest.raises(command.typer.Exit):
        command.fixed(tmp_path, result, lambda: result)
    assert source.read_bytes() == text.encode()


def test_a_file_with_a_mark_of_its_encoding_keeps_it(source: Path, tmp_path: Path) -> None:
    """Columns count from the first character after it."""
    source.write_bytes(b"\xef\xbb\xbf# +kubebuilder:rbac:grups=apps,resources=a,verbs=get\n")
    found = Diagnostics(generate(GenerateOptions(root=tmp_path, generators=("rbac",))).diagnostics)
    draft = Draft(tmp_path)
    add_fixes(draft, found)
    assert draft.current("shop/controller.py") == b"\xef\xbb\xbf# +kubebuilder:rbac:groups=apps,resources=a,verbs=get\n"


def test_fixes_that_would_repeat_forever_end(source: Path, tmp_path: Path) -> None:
    """A mistake of pykb's own (two fixes that undo each other) must not make the command hang."""
    first = generate(GenerateOptions(root=tmp_path, generators=("rbac",)))
    rounds: list[int] = []

    def undo() -> object:
        rounds.append(1)
        source.write_bytes(SOURCE.encode())
        return first

    assert command.fixed(tmp_path, first, undo) is first  # type: ignore[arg-type]
    assert len(rounds) == 1


RULES = [
    "# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch",
    "# +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=get;update;patch,namespace=sealvm",
    '# +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=create;delete',
    "# +kubebuilder:rbac:urls=/metrics,verbs=get",
]


@pytest.mark.parametrize("seed", range(15))
def test_random_slips_are_undone_or_left_and_nothing_else_changes(pykb, source: Path, seed: int) -> None:
    """After `--fix` there are fewer findings or as many with no fix left, and only spoilt lines differ from before."""
    chance = random.Random(seed)
    spoilt = [spoil(line, chance) if chance.random() < 0.6 else line for line in RULES]
    source.write_text("\n".join(spoilt) + "\n")
    options = GenerateOptions(root=source.parents[1], generators=("rbac",))
    before = list(generate(options).diagnostics)
    pykb("generate", "rbac", "--fix")
    after = list(generate(options).diagnostics)
    lines = source.read_text().split("\n")[:-1]
    assert all(line in {was, meant} for line, was, meant in zip(lines, spoilt, RULES, strict=True))
    assert not any(each.fix for each in after)
    assert len(after) < len(before) or not any(each.fix for each in before)


def spoil(line: str, chance: random.Random) -> str:
    """A line with a wrong letter in its marker."""
    at = chance.choice([i for i, letter in enumerate(line) if letter.isalpha()])
    return line[:at] + chance.choice(["", chance.choice(string.ascii_letters), line[at].swapcase()]) + line[at + 1 :]


def test_a_slip_in_a_resource_of_the_project_is_corrected(pykb, source: Path) -> None:
    """Of its kinds and their subresources, and of Kubernetes. What is no slip of one is left alone."""
    package = source.parent / "api"
    package.mkdir()
    for folder in (source.parent, package):
        (folder / "__init__.py").touch()
    (package / "v1.py").write_text(
        "from pykb.api import CustomResource, GroupVersion\n\n\n"
        'class VirtulMachine(CustomResource, group_version=GroupVersion("a.example.com", "v1")):\n    size: int = 1\n'
    )
    rule = "# +kubebuilder:rbac:groups=a.example.com;apps,resources={},verbs=get\n"
    source.write_text(rule.format("virtulmachnes;virtulmachines/statuss;deploymets;crates/status"))
    done = pykb("generate", "--fix")
    assert (done.code, source.read_text()) == (
        0,
        rule.format("virtulmachines;virtulmachines/status;deployments;crates/status"),
    ), done.err
