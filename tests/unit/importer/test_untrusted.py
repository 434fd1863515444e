"""A CRD of a stranger becomes types and runs nothing, though they are imported to be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.cli import app


@pytest.mark.parametrize("version", ["v1", "../../../../escaped", "v1/../../x", "os;import os"])
def test_no_text_of_a_crd_becomes_code_or_a_path(
    make_crd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Whatever ends a string, a comment or a line of Python, in every place that takes text."""
    proof = tmp_path / "proof"
    call = f"__import__('pathlib').Path({str(proof)!r}).touch()"
    texts = [f'"""\n{call}\n"""', f"\\\n{call}", f"\r{call}\x0c{call}\u2028{call}", f'"+{call}+"', f"'+{call}+'", "\\"]
    fields = {
        f"f{number}": {"type": "string", "description": text, "default": text, "enum": [text, "B"], "title": text}
        for number, text in enumerate(texts)
    }
    fields |= {f"x: int = {call}": {"type": "string"}, '"""': {"type": "string", "pattern": texts[0]}}
    manifest = make_crd(fields, description=texts[0])
    manifest["spec"]["versions"][0]["name"] = version
    (tmp_path / "p").mkdir()
    (tmp_path / "p/crd.yaml").write_text(yaml.safe_dump(manifest))
    monkeypatch.chdir(tmp_path / "p")
    assert app.run(["import", "crd", "crd.yaml", "--output", "ext"]) in {0, 1}
    assert not proof.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p"]
    assert {path.name for path in Path.cwd().iterdir()} <= {"crd.yaml", "ext"}
