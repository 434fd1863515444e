"""``pykb delete api`` and ``pykb delete webhook``."""

from __future__ import annotations

from pykb.cli.options import How, taking
from pykb.commands.options import OldApi, OldWebhook


@taking(How, "how")
@taking(OldApi)
def api(options: OldApi, how: How) -> None:
    """Delete a version of a kind: what `create api` and `create webhook` made, and their lines in shared files.

    Files that you edited, and lines of yours that use the kind, stop the command. Nothing is changed then. Objects and
    CRDs in a cluster stay until you delete them there.

    Examples:
      pykb delete api --group infra --version v1 --kind Machine --diff
      pykb delete api --group infra --version v1alpha1 --kind Machine --no-controller
      pykb delete api --group infra --version v1 --kind Machine --no-resource --controller-name machine-cleaner
    """
    _delete(options, f"`{options.kind}`", how)


@taking(How, "how")
@taking(OldWebhook)
def webhook(options: OldWebhook, how: How) -> None:
    """Delete webhooks of a kind: all of them, or those of the given types.

    The last webhook of the project takes Service, certificates and network policy with it, unless you edited them.

    Examples:
      pykb delete webhook --group infra --version v1 --kind Machine
      pykb delete webhook --group infra --version v1 --kind Machine --programmatic-validation
      pykb delete webhook --group infra --version v2 --kind Machine --conversion --spoke v1
    """
    _delete(options, f"the webhooks of `{options.kind}`", how)


def _delete(options: OldApi | OldWebhook, what: str, how: How) -> None:
    from pykb.cli.changes import accepted, scaffold
    from pykb.cli.project import require_project
    from pykb.commands.delete import plan_delete

    root, project = require_project(writes=how.writes)
    scaffold(accepted(*plan_delete(options, project, root), root), what, root, (), how)
