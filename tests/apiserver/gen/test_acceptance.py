"""What pykb accepts, a real API server accepts: projects made by chance, hostile but plausible.

24 by default; ``PYKB_FUZZ_CASES`` counts markers, twenty for each project.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostic, Severity
from pykb.envtest import ControlPlane
from pykb.envtest.rest import Answer, Rest
from pykb.gen.options import GenerateOptions, SchemaOptions
from pykb.gen.run import GenerateResult, generate
from tests.apiserver.gen.hostile_projects import make_project, tamed
from tests.apiserver.gen.test_generated_crds import check

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(3600)]

CASES = max(24, int(os.environ.get("PYKB_FUZZ_CASES", "0")) // 20)
BATCHES = 4
INSTALLED = max(1, CASES // 25)
ROUNDS = 15
# Of these pykb warns, since servers differ by version: it has said so, and what is left after it is judged.
WARNED = {"cel-cost", "cel-name"}
# What `kubectl apply` asks for, without storing anything.
DRY = "?dryRun=All&fieldValidation=Strict"
URLS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}


@pytest.fixture(scope="module")
def rest(control_plane: ControlPlane) -> Rest:
    """One client for all cases."""
    return control_plane.rest()


def accepted(seed: int, root: Path) -> GenerateResult | None:
    """What is generated from a project, once everything that pykb finds wrong is taken out of it; now and then none."""
    files = make_project(seed)
    for _ in range(ROUNDS):
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        with warnings.catch_warnings(action="ignore"):
            result = generate(
                GenerateOptions(
                    root=root, generators=("crd", "webhook"), schemas=SchemaOptions(allow_dangerous_types=True)
                )
            )
        wrong = [found for found in result.diagnostics if _counts(found)]
        if not wrong:
            return result
        files = tamed(files, [(found.span.path, found.span.line) for found in wrong if found.span])
    return None


def _counts(found: Diagnostic) -> bool:
    return found.severity is Severity.ERROR or found.code.slug in WARNED


def documents(result: GenerateResult) -> Iterator[Any]:
    """All manifests that were generated."""
    for artifacts in result.artifacts.values():
        for artifact in artifacts:
            yield from artifact.documents


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_is_accepted_here_is_accepted_there(batch: int, rest: Rest, tmp_path: Path) -> None:
    """No refusal: of structure, defaults, rules with their cost, names, webhooks."""
    count = CASES // BATCHES
    refusals, judged = [], 0
    for seed in range(batch * count, (batch + 1) * count):
        root = tmp_path / str(seed)
        result = accepted(seed, root)
        if result is None:
            continue
        judged += 1
        for document in documents(result):
            answer: Answer = rest.call("POST", URLS[document["kind"]] + DRY, document)
            if not answer.ok:
                refusals.append(f"project {seed}: {answer.message[:2000]}\n{_shown(root)}")
    assert not refusals, "\n".join(refusals)
    assert judged > count * 0.8


def _shown(root: Path) -> str:
    """The files of a project without what all have in common."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))]
    return "\n".join(text.rpartition("Names = ")[2] for text in texts if text)


@pytest.mark.parametrize("first", range(0, INSTALLED * 10, 10))
def test_what_is_installed_is_established(first: int, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A dry run does not show the conditions: names that are accepted, a schema that is structural."""
    results = (accepted(seed, tmp_path / str(seed)) for seed in range(first, first + 10))
    result = next(found for found in results if found is not None)
    for artifact in result.artifacts["crd"]:
        for document in artifact.documents:
            check(control_plane, dict(document))
