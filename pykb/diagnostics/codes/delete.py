"""What stops `pykb delete` and `pykb edit --certificates` before they change anything."""

from __future__ import annotations

from pykb.diagnostics.model import Code

EDITED_BY_HAND = Code(
    "edited-by-hand",
    "what would be deleted was edited by hand",
    "`pykb delete` and `pykb edit --certificates` compare each file with what the scaffold would be today. They "
    "remove files without edits: pykb can make them again. With `--force` they also remove edited files, and keep "
    "them in `.pykb/backup`.",
)

STILL_USED = Code(
    "still-used",
    "code that stays uses what would be deleted",
    "`pykb delete` and `pykb edit --certificates` remove the lines that pykb wrote. They do not change your own code "
    "and kustomizations. Change the lines that are listed first. With `--force` the commands delete anyway, and the "
    "lines fail until you change them.",
)

WEBHOOK_MISSING = Code(
    "webhook-missing",
    "the kind does not have the webhook to delete",
    "PROJECT lists the webhooks of each kind. A conversion webhook belongs to its hub, the version in which objects "
    "are stored.",
)

CONTROLLER_MISSING = Code(
    "controller-missing",
    "the kind does not have the controller to delete",
    "PROJECT lists the controllers of each kind. A kind with one controller has `controller: true`. The controllers of "
    "a kind with several have names.",
)

CONTROLLER_SHARED = Code(
    "controller-shared",
    "the controller of the version also serves other versions",
    "PROJECT lists a controller with the version that it was created with. When this version is deleted and others "
    "stay, say whether the controller stays as well. It must not use the deleted version then.",
)
