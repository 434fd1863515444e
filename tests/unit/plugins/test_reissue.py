"""`edit --certificates` gives what `create webhook --certificates` would have given, both ways, and loses no edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.commands.options import Edits, NewApi, NewProject, NewWebhook
from pykb.project import Certificates
from tests.unit.plugins.scaffolding import New, create, start, write
from tests.unit.plugins.test_delete import edit, tree
from tests.unit.plugins.test_regroup import MIXED, OPTIONS, changed, differences

BUILT_IN, CERT_MANAGER = Edits(certificates=Certificates.BUILT_IN), Edits(certificates=Certificates.CERT_MANAGER)
DISK = (
    NewApi("infra", "v1beta1", "Disk", controller=False),
    NewApi("infra", "v1", "Disk", controller=False),
    NewApi("infra", "v1beta1", "Machine", controller=False),
    NewApi("infra", "v1", "Machine"),
)
CONVERTED = (  # not in the order of PROJECT
    *DISK,
    NewWebhook("infra", "v1", "Machine", conversion=True),
    NewWebhook("infra", "v1", "Disk", conversion=True),
    NewWebhook("infra", "v1", "Disk", defaulting=True),
)
PROJECTS: dict[str, tuple[NewProject, Sequence[New]]] = {
    "one": (OPTIONS, (*DISK, NewWebhook("infra", "v1", "Machine", validation=True))),
    "converted": (OPTIONS, CONVERTED),
    "all": (replace(OPTIONS, multigroup=True, namespaced=True), MIXED),
    "none": (OPTIONS, DISK),
}
DEFAULT = "config/default/kustomization.yaml"


def made(name: str, root: Path, certificates: Certificates) -> Path:
    """A project whose webhooks have these certificates."""
    options, additions = PROJECTS[name]
    issued = [replace(each, certificates=certificates) if isinstance(each, NewWebhook) else each for each in additions]
    return start(options, root, *issued)


@pytest.mark.parametrize("name", ["converted", "all"])
@pytest.mark.parametrize("wanted", [BUILT_IN, CERT_MANAGER], ids=["built-in", "cert-manager"])
def test_the_result_is_that_of_create(name: str, wanted: Edits, tmp_path: Path) -> None:
    """To the byte, and so is the way back; the same command again changes nothing."""
    one, other = (CERT_MANAGER, BUILT_IN) if wanted is BUILT_IN else (BUILT_IN, CERT_MANAGER)
    assert one.certificates is not None
    assert other.certificates is not None
    root = made(name, tmp_path / "edited/fleet", one.certificates)
    before = tree(root)
    write(*changed(root, wanted))
    assert differences(tree(root), tree(made(name, tmp_path / "fresh/fleet", other.certificates))) == ""
    plan, found = changed(root, wanted)
    assert plan is not None
    assert plan.is_empty
    assert not list(found)
    write(*changed(root, one))
    assert differences(tree(root), before) == ""


def test_all_options_at_once(tmp_path: Path) -> None:
    """The certificates follow the other options of the same command."""
    root = made("converted", tmp_path / "edited/fleet", Certificates.BUILT_IN)
    write(
        *changed(root, Edits(multigroup=True, namespaced=True, owner="fanux", certificates=Certificates.CERT_MANAGER))
    )
    PROJECTS["together"] = (replace(OPTIONS, multigroup=True, namespaced=True, owner="fanux"), CONVERTED)
    fresh = made("together", tmp_path / "fresh/fleet", Certificates.CERT_MANAGER)
    assert differences(tree(root), tree(fresh)) == ""


def test_without_webhooks_the_choice_is_kept_for_the_first(tmp_path: Path) -> None:
    """Only PROJECT changes, and the way back leaves nothing."""
    root = made("none", tmp_path / "fleet", Certificates.BUILT_IN)
    before = tree(root)
    write(*changed(root, CERT_MANAGER))
    assert {path for path, content in tree(root).items() if before.get(path) != content} == {"PROJECT"}
    create(root, NewWebhook("infra", "v1", "Machine", validation=True))
    assert (root / "config/certmanager/issuer.yaml").is_file()
    assert not (root / "config/certificates").exists()
    other = made("none", tmp_path / "other/fleet", Certificates.BUILT_IN)
    write(*changed(other, CERT_MANAGER))
    write(*changed(other, BUILT_IN))
    assert tree(other) == before


def test_a_project_of_before_the_choice_has_cert_manager(tmp_path: Path) -> None:
    """PROJECT says the issuer from now on."""
    root = made("one", tmp_path / "fleet", Certificates.CERT_MANAGER)
    edit(root, "PROJECT", "plugins:\n  kustomize.common.pykb.dev/v1:\n    certificates: cert-manager\n", "")
    plan, found = changed(root, CERT_MANAGER)
    assert plan is not None
    assert plan.is_empty
    assert not list(found)
    write(*changed(root, BUILT_IN))
    assert "certificates: built-in\n" in (root / "PROJECT").read_text()
    assert not (root / "config/certmanager").exists()


OWN = "- path: own_patch.yaml\n  target:\n    kind: Deployment\n"


def test_what_does_not_concern_certificates_stays(tmp_path: Path) -> None:
    """Own members, their order and comments; edits of files that both have; a comment that was edited."""
    root = made("converted", tmp_path / "fleet", Certificates.CERT_MANAGER)
    edit(root, DEFAULT, "resources:\n", "resources:\n- own.yaml  # ours\n")
    edit(root, DEFAULT, "- ../certmanager\n", "- ../certmanager\n- ../other\n")
    edit(root, DEFAULT, "# Serves the webhooks on :9443", "# Ours. Serves the webhooks on :9443")
    edit(root, DEFAULT, "\nreplacements:\n", f"{OWN}\nreplacements:\n")
    edit(root, "config/webhook/service.yaml", "port: 443", "port: 8443")
    edit(root, "config/default/manager_webhook_patch.yaml", "name: webhook-server\n", "name: hooks\n")
    before = tree(root)
    write(*changed(root, BUILT_IN))
    text = (root / DEFAULT).read_text()
    assert "- own.yaml  # ours\n" in text
    assert "- ../certificates\n- ../other\n" in text
    assert "certmanager" not in text
    assert f"    kind: Deployment\n{OWN}" in text
    patch = (root / "config/default/manager_webhook_patch.yaml").read_text()
    assert "name: hooks\n" in patch
    assert "--cert-secret" in patch
    assert "volumeMounts" not in patch
    write(*changed(root, CERT_MANAGER))
    assert differences(tree(root), before) == ""


EDITS = {
    "issuer": ("config/certmanager/issuer.yaml", "  selfSigned: {}", "  ca:\n    secretName: company", 1),
    "mount": ("config/default/manager_webhook_patch.yaml", "mountPath: /tmp/k8s", "mountPath: /run/k8s", 11),
    "metrics": ("config/certmanager/kustomization.yaml", "#- certificate-metrics", "- certificate-metrics", 1),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_would_be_lost_stops_the_command(name: str, tmp_path: Path) -> None:
    """With its place; `--force` keeps a copy."""
    root = made("one", tmp_path / "fleet", Certificates.CERT_MANAGER)
    path, old, new, line = EDITS[name]
    edit(root, path, old, new)
    before = tree(root)
    plan, found = changed(root, BUILT_IN)
    assert plan is None
    assert [(each.code.slug, each.span.path, each.span.line) for each in found if each.span] == [
        ("edited-by-hand", path, line)
    ]
    write(*changed(root, replace(BUILT_IN, force=True)))
    fresh = made("one", tmp_path / "fresh/fleet", Certificates.BUILT_IN)
    assert differences(tree(root), tree(fresh)) == ""
    (kept,) = root.glob(f".pykb/backup/*/{path}")
    assert kept.read_bytes() == before[path]


def test_a_kustomization_that_names_what_goes_stops_the_command(tmp_path: Path) -> None:
    """Prometheus verifies the metrics with an authority that nobody would publish."""
    root = made("one", tmp_path / "fleet", Certificates.BUILT_IN)
    path = "config/prometheus/kustomization.yaml"
    edit(root, path, "#patches:\n#- path: monitor_tls_patch", "patches:\n- path: monitor_authority_patch")
    plan, found = changed(root, CERT_MANAGER)
    assert plan is None
    (finding,) = found
    assert finding.code.slug == "still-used"
    assert finding.span is not None
    assert (finding.span.path, finding.span.line, finding.span.column) == (path, 6, 9)
    assert "`config/prometheus/monitor_authority_patch.yaml` would be deleted" in finding.message
