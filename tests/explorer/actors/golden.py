"""What a real cluster did, recorded by `make test-actors ARGS=--update-golden`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "kube-controller-manager.json"


def read() -> dict[str, Any]:
    """The recorded facts, with the version of Kubernetes."""
    facts: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return facts
