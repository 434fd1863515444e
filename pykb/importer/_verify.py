"""Verifies an import: generates CRDs from the new types and compares them with the imported ones."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.codes.importer import CRD_NOT_KEPT
from pykb.importer._builtin import builtin_types
from pykb.importer._compare import differences
from pykb.importer._package import ModuleFile, needed_inits
from pykb.importer.definition import Definition

_PACKAGE = "imported_types"
_SHOWN = 5


def verify(definitions: Iterable[Definition], files: Iterable[ModuleFile], diagnostics: Diagnostics) -> None:
    """Report the details of each CRD that the types do not reproduce.

    Args:
        definitions: The imported CRDs.
        files: The modules made from them.
        diagnostics: Gets one warning for each detail.
    """
    generated = regenerate(files, diagnostics)
    builtin = builtin_types()
    for definition in definitions:
        found = generated.get(definition.name)
        if found is None:
            continue
        lost = list(differences(definition.manifest, found, builtin.is_known))
        if lost:
            more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
            diagnostics.add(
                CRD_NOT_KEPT.at(
                    None,
                    f"`{definition.name}`, generated from these types, differs from what was imported",
                    notes=(*lost[: _SHOWN - 1], lost[_SHOWN - 1] + more) if more else tuple(lost),
                ),
            )


def regenerate(files: Iterable[ModuleFile], diagnostics: Diagnostics) -> dict[str, dict[str, Any]]:
    """The CRDs that the modules of an import generate, by name."""
    from pykb.gen.options import GenerateOptions
    from pykb.gen.run import generate

    written = list(files)
    with tempfile.TemporaryDirectory(prefix="pykb-import-") as folder:
        root = Path(folder).resolve()
        texts = {f"{_PACKAGE}/{file.path}": file.text for file in written} | dict(needed_inits(_PACKAGE, written))
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8", newline="\n")
        options = GenerateOptions(root, ("crd",), (_PACKAGE,), allow_dangerous_types=True)
        result = generate(options)
    # The CRD's API server may be more lenient than pykb's generator. The types are still useful.
    refused = [found for found in result.diagnostics if found.severity is Severity.ERROR]
    diagnostics.extend(replace(found, severity=Severity.WARNING, span=None, labels=()) for found in refused)
    documents = [document for artifact in result.artifacts.get("crd", ()) for document in artifact.documents]
    return {str(document["metadata"]["name"]): dict(document) for document in documents}  # type: ignore[index]
