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
    "the operator cannot read stored objects without it, and changes beside it are refused, until somebody adds it",
    ("make it optional (`| None = None`), or give it a default", _VERSION),
)
REQUIRED_AT_ROOT = Effect(
    "the API server refuses every change of stored objects without it: those with a finalizer cannot be deleted",
    ("give it a default: `Field(default_factory=...)`",),
)
RETYPED = Effect(
    "the operator cannot read stored objects with another value, and changes there are refused, until it is mended",
    ("keep the type, or let it hold both (`int | str`)", _VERSION),
)
NARROWED = Effect(
    "what was allowed is refused: in new objects, and in stored ones when this part of them changes",
    ("keep what was allowed, and refuse it by a validating webhook for new objects only", _VERSION),
)
NARROWED_AT_ROOT = Effect(
    "the API server refuses every change of stored objects that break it: those with a finalizer cannot be deleted",
    ("put the rule on `spec`: what did not change is not judged there",),
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
    "items are identified in another way: duplicates are refused, and who applies only some may lose or repeat others",
    ("keep how items are identified", _VERSION),
)
MERGED = Effect(
    "who applies a part of it owns more or less than before, and may overwrite others",
    ("keep how it is merged", _VERSION),
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
    ("keep the old version until all are, and `status.storedVersions` of the CRD is without it",),
    matters=False,
)
UNCONVERTED = Effect(
    "nothing but `apiVersion` changes between the versions: fields that only one of them has are dropped",
    ("keep the conversion webhook",),
)
IMMUTABLE = Effect(
    "the API server refuses the CRD: it takes another one only after the old is deleted, with all its objects",
    ("keep it, or make another kind",),
)
RENAMED_KIND = Effect(
    "manifests and clients that name the old kind are refused",
    ("keep the kind, or make another one beside it",),
)
GONE = Effect(
    "a cluster keeps the CRD and its objects, and nobody cleans up after them any more",
    ("have the operator work off their finalizers, and delete the CRD, before it goes",),
)
STATUS_GONE = Effect(
    "writes of the status alone get 404, and each change of it counts as one of the spec (`metadata.generation`)",
    ("keep `+kubebuilder:subresource:status`",),
)
SCALE_GONE = Effect(
    "`kubectl scale` and autoscalers get 404",
    ("keep `+kubebuilder:subresource:scale`",),
)
UNSELECTABLE = Effect(
    "`--field-selector` by it is refused",
    ("keep `+kubebuilder:selectablefield`",),
    matters=False,
)
UNSHOWN = Effect(
    "`kubectl get` does not show it any more",
    ("keep `+kubebuilder:printcolumn`",),
    matters=False,
)
UNKNOWN_NAME = Effect(
    "command lines and rules that use it fail",
    ("keep it",),
    matters=False,
)
