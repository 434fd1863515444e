"""Incompatible changes, and their consequences.

The consequences are those of a real API server, shown by tests/apiserver/gen/test_compat.py. Since Kubernetes 1.30 it
accepts invalid parts of an object that an update leaves unchanged (https://kep.k8s.io/4008). Before, the whole object
had to be valid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

ITEM = "[*]"
"""In a path: every item of a list, or every value of a map."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The consequences of a kind of change.

    Attributes:
        consequence: What happens to stored objects and to clients.
        ways: How to avoid it.
        matters: Whether objects or requests are refused or changed. If only the display changes, the finding is a note.
    """

    consequence: str
    ways: tuple[str, ...]
    matters: bool = True


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One incompatible change.

    Attributes:
        what: What changed, as the rest of a sentence that begins with the place: `is gone`.
        effect: What it leads to.
        path: The field, from the root of the object.
        version: The version of the kind; empty for what all versions share.
        keyword: The keyword of the schema that changed, or `storage` of a version; empty for the field itself.
    """

    what: str
    effect: Effect
    path: tuple[str, ...] = ()
    version: str = ""
    keyword: str = ""

    def of(self, version: str) -> Incompatibility:
        """The same change in a version."""
        return replace(self, version=version)

    @property
    def place(self) -> str:
        """The field as messages show it: ``spec.disks[*].size``; empty at the root."""
        return ".".join(self.path).replace(f".{ITEM}", ITEM)


_VERSION = "or add a version, with a converter"
PRUNED = Effect(
    "the API server drops the values that are stored there",
    ("keep the field, and say in its description that it is deprecated", _VERSION),
)
REQUIRED = Effect(
    "until somebody adds it, the operator cannot read stored objects without it, and changes next to it are refused",
    ("make it optional (`| None = None`), or give it a default", _VERSION),
)
REQUIRED_AT_ROOT = Effect(
    "the API server refuses every change of stored objects without it: those with a finalizer cannot be deleted",
    ("give it a default: `Field(default_factory=...)`",),
)
RETYPED = Effect(
    "until it is corrected, the operator cannot read stored objects with another value, and changes there are refused",
    ("keep the type, or accept both types (`int | str`)", _VERSION),
)
NARROWED = Effect(
    "values that were allowed are refused: in new objects, and in stored objects when this part changes",
    ("keep allowing them, and refuse them only in new objects with a validating webhook", _VERSION),
)
NARROWED_AT_ROOT = Effect(
    "the API server refuses every change of stored objects that break it: those with a finalizer cannot be deleted",
    ("put the rule on `spec`: there it is not checked for values that did not change",),
)
NULL = Effect(
    "the API server drops the nulls that are stored there",
    ("keep it nullable", _VERSION),
)
DEFAULTED = Effect(
    "stored objects keep the old default, and new ones do not get it",
    ("keep the default", _VERSION),
)
LIST = Effect(
    "items are identified in another way: duplicates are refused, and applying some may lose or repeat others",
    ("keep the list type and its keys", _VERSION),
)
MERGED = Effect(
    "a client that applies a part of it owns more or less than before, and may overwrite others",
    ("keep the map type", _VERSION),
)
EMBEDDED = Effect(
    "stored objects without `apiVersion` and `kind` there cannot be changed at all: not even their finalizers",
    ("add a version, with a converter",),
)
VERSION_GONE = Effect(
    "clients of that version get 404, and the API server refuses the CRD while `status.storedVersions` has it",
    ("keep it with `+kubebuilder:unservedversion` until every object is stored in another version",),
)
UNSERVED = Effect(
    "clients of that version get 404",
    ("announce it first: `+kubebuilder:deprecatedversion`",),
)
STORAGE = Effect(
    "stored objects lose the fields that only the old version has, as nothing converts them",
    ("give the kind a converter: `pykb create webhook --conversion`",),
)
MIGRATED = Effect(
    "stored objects stay in the old version until they are written again",
    ("keep the old version until all are written again and `status.storedVersions` of the CRD no longer has it",),
    matters=False,
)
UNCONVERTED = Effect(
    "only `apiVersion` changes between the versions: fields that only one of them has are dropped",
    ("keep the conversion webhook",),
)
IMMUTABLE = Effect(
    "the API server refuses the CRD until the old one is deleted, with all its objects",
    ("keep it, or create another kind",),
)
RENAMED_KIND = Effect(
    "manifests and clients that name the old kind are refused",
    ("keep the kind, or add another one",),
)
GONE = Effect(
    "a cluster keeps the CRD and its objects, but no operator cleans up after them",
    ("delete the CRD first, while the operator still runs and handles the finalizers",),
)
STATUS_GONE = Effect(
    "writes to `/status` get 404, and each change of the status increments `metadata.generation`",
    ("keep `+kubebuilder:subresource:status`",),
)
SCALE_GONE = Effect(
    "`kubectl scale` and autoscalers get 404",
    ("keep `+kubebuilder:subresource:scale`",),
)
UNSELECTABLE = Effect(
    "`--field-selector` with it is refused",
    ("keep `+kubebuilder:selectablefield`",),
    matters=False,
)
UNSHOWN = Effect(
    "`kubectl get` no longer shows it",
    ("keep `+kubebuilder:printcolumn`",),
    matters=False,
)
UNKNOWN_NAME = Effect(
    "command lines and rules that use it fail",
    ("keep it",),
    matters=False,
)
