"""What stops `pykb delete` before it changes anything."""

from __future__ import annotations

from pykb.diagnostics.model import Code

EDITED_BY_HAND = Code(
    "edited-by-hand",
    "what would be deleted was edited by hand",
    "`pykb delete` compares each file with what the scaffold would be today. It removes files without edits, since "
    "`pykb create` can make them again. With `--force` it also removes edited files, and keeps them in `.pykb/backup`.",
)

STILL_USED = Code(
    "still-used",
    "code that stays uses what would be deleted",
    "`pykb delete` removes the lines that `pykb create` wrote. It does not change your own code. Change the lines that "
    "it lists first. With `--force` it deletes anyway, and the lines fail until you change them.",
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
