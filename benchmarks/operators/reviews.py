"""The row of the webhook server. The same client sends reviews to both programs."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.operators.process import Operator, running
from benchmarks.operators.results import Figures
from benchmarks.operators.run import GO, Run
from benchmarks.operators.world import KILOBYTE, TEN_KILOBYTES, thing, world
from pykb.serving.tls import self_signed

CONNECTIONS = 8
SIZES = {"1 kB": KILOBYTE, "10 kB": TEN_KILOBYTES}


def webhook(run: Run) -> None:
    """Reviews are answered by a typed defaulter and validator, by TLS over connections that are kept."""
    count = run.size(20_000, 400)
    run.results.begin("webhook", {"reviews": count, "connections": CONNECTIONS}, resume=run.resume)
    with world() as place, tempfile.TemporaryDirectory() as folder:
        certificates = Path(folder)
        certificate, key = self_signed(("127.0.0.1",))
        (certificates / "tls.crt").write_bytes(certificate)
        (certificates / "tls.key").write_bytes(key)
        for size, variables in SIZES.items():
            (certificates / size).write_text(json.dumps(_questions(variables)), encoding="utf-8")

        def measure(program: str) -> Figures:
            port = _free_port()
            start = run.program(program)
            argv = (*start, str(place.operator_kubeconfig), "webhook", str(port), str(certificates))
            with running(program, argv) as operator:
                operator.wait_until_done(timeout=60)
                figures: Figures = {}
                for size in SIZES:
                    _load(run, port, count // 10, certificates / size)
                    figures |= _asked(run, operator, port, count, certificates / size)
                return figures | {"peak": operator.usage().peak}

        run.alternate("webhook", (GO, "pykb"), measure)


def _asked(run: Run, operator: Operator, port: int, count: int, questions: Path) -> Figures:
    before = operator.usage()
    seconds = _load(run, port, count, questions)
    cpu = operator.usage().cpu - before.cpu
    return {f"CPU per review of {questions.name}": 1000 * cpu / count, f"reviews of {questions.name}": count / seconds}


def _load(run: Run, port: int, count: int, questions: Path) -> float:
    argv = (str(run.peer), "load", f"https://127.0.0.1:{port}", str(CONNECTIONS), str(count), str(questions))
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def _questions(variables: int) -> list[dict[str, Any]]:
    """The reviews that the API server sends for the creation and a change of an object without limits."""
    full = thing(1, variables=variables)
    bare = full | {"spec": {name: value for name, value in full["spec"].items() if name != "limits"}}
    return [
        _question("mutate", "CREATE", bare, None),
        _question("validate", "CREATE", full, None),
        _question("mutate", "UPDATE", full, full),
        _question("validate", "UPDATE", full, full),
    ]


def _question(verb: str, operation: str, new: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    kind = {"group": "bench.example.com", "version": "v1", "kind": "Widget"}
    resource = {"group": "bench.example.com", "version": "v1", "resource": "widgets"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": new["metadata"]["name"],
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "admin", "uid": "014fbff9a07c", "groups": ["system:authenticated", "admin"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.title()}Options"},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    patched = verb == "mutate" and "limits" not in new["spec"]
    return {"path": f"/{verb}-bench-example-com-v1-widget", "patched": patched, "review": review}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
