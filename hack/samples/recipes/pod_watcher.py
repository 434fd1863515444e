"""The recipe of the sample `pod-watcher`."""

from __future__ import annotations

from hack.samples.steps import create_api, init, own, pykb

STEPS = [
    init("--domain", "example.com"),
    create_api("core", "v1", "Pod", "--no-resource", "--controller"),
    own("pod_watcher/controllers/pod_controller.py", "tests/controllers/test_pod_controller.py"),
    pykb("generate"),
]
