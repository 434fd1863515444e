"""The recipe of the sample `memcached`: nothing but what `deploy-image` scaffolds."""

from __future__ import annotations

from hack.samples.steps import create_api, init, pykb

STEPS = [
    init("--domain", "example.com", "--project-name", "memcached-operator", "--replicas", "2"),
    create_api(
        *("cache", "v1", "Memcached"),
        *("--plugins", "deploy-image", "--image", "memcached:1.6", "--image-container-port", "11211"),
        *("--image-container-command", "memcached,--memory-limit=64,-v", "--run-as-user", "1001"),
    ),
    pykb("generate"),
]
