"""Objects of other kinds in the samples and fixtures of a project: they are there when the operator starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from pykb.api.builtin import find_class, kinds
from pykb.api.safe_text import safe_text
from pykb.client.codec import gvk_of
from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.explore import LEFT_OUT, SETTING
from pykb.diagnostics.suggest import closest
from pykb.explore._history import Identity, Manifest
from pykb.meta.gvk import GroupVersion, GroupVersionKind

_MOST = 200
_DEFAULT = "default"


class Objects:
    """Takes the objects that files have, and sorts them.

    Args:
        crds: The definitions of the project's own kinds.
        namespaces: Those that samples name. Samples are explored in the default one, so their objects are there, too.

    Attributes:
        definitions: Definitions of other kinds.
        background: What is there before the operator starts.
        own: Objects of the project's own kinds, which a setting names.
        places: Where they are written.
        notes: What was left out.
    """

    def __init__(self, crds: Collection[Manifest], namespaces: Collection[str]) -> None:
        self._own = {group_kind_of(crd) for crd in crds}
        self._others: dict[tuple[str, str], Manifest] = {}
        self._namespaces = namespaces
        self._taken: list[tuple[Manifest, Span, bool]] = []
        self.background: dict[Identity, Manifest] = {}
        self.own: list[tuple[Manifest, Span]] = []
        self.places: dict[Identity, Span] = {}
        self.notes: list[Diagnostic] = []

    @property
    def definitions(self) -> list[Manifest]:
        """The definitions of other kinds that files have."""
        return list(self._others.values())

    def take(self, written: Manifest, span: Span, *, is_named: bool) -> None:
        """Take an object. Definitions count for all objects, in whatever order they come.

        Args:
            written: The object.
            span: Where it is written.
            is_named: Whether a setting names its file. Then it is an error if it cannot be there.

        Raises:
            EnvironmentProblem: It is named, and no object.
        """
        version, kind = written.get("apiVersion"), written.get("kind")
        if not isinstance(version, str) or not isinstance(kind, str):
            if is_named:
                raise SETTING.problem("this object has no `apiVersion` or no `kind`", "write both", span=span)
        elif kind == "CustomResourceDefinition":
            try:
                self._others.setdefault(group_kind_of(written), written)
            except (KeyError, TypeError) as error:
                if is_named:
                    raise SETTING.problem("this definition lacks a group or names", span=span) from error
        else:
            self._taken.append((written, span, is_named))

    def sort(self) -> None:
        """Look at all that was taken.

        Raises:
            EnvironmentProblem: A named object cannot be there.
        """
        for kind in self._own:
            self._others.pop(kind, None)
        for written, span, is_named in self._taken:
            if (GroupVersion.parse(written["apiVersion"]).group, written["kind"]) in self._own:
                if is_named:
                    self.own.append((written, span))
                continue
            wrong = self._wrong(written)
            if wrong and is_named:
                raise SETTING.problem(wrong[0], *wrong[1:], span=span)
            if wrong:
                self.notes.append(LEFT_OUT.at(span, *wrong))
            elif len(self.background) < _MOST:
                self._add(written, span)
            else:
                self.notes.append(LEFT_OUT.at(span, f"this object is left out, as there are {_MOST} others"))
                return

    def _add(self, written: Manifest, span: Span) -> None:
        metadata = dict(written["metadata"])
        gvk = gvk_of(written)
        if is_namespaced(gvk, self._others.get((gvk.group, gvk.kind))):
            namespace = metadata.get("namespace") or _DEFAULT
            metadata["namespace"] = _DEFAULT if namespace in self._namespaces else namespace
        elif gvk.kind == "Namespace" and metadata["name"] in self._namespaces:
            metadata["name"] = _DEFAULT
        manifest = {**written, "metadata": metadata}
        identity = Identity.of(manifest)
        self.background[identity], self.places[identity] = manifest, span

    def _wrong(self, written: Manifest) -> tuple[str, ...]:
        """Why an object cannot be there, and what to do; empty if it can."""
        gvk, metadata = gvk_of(written), written.get("metadata")
        what = f"{gvk.api_version} {gvk.kind}"
        cls = find_class(gvk)
        if (gvk.group, gvk.kind) not in self._others and (cls is None or cls.resource is None):
            near = closest(gvk.kind, {known.kind for known in kinds()} | {kind for _, kind in self._own})
            remedy = "name the file of its CustomResourceDefinition in `objects` of `[tool.pykb.explore]`"
            helps = (f"did you mean `{near}`?",) if near and near != gvk.kind else (remedy,)
            return (f"no definition of {what} is known", *helps)
        if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
            return (f"this object of {what} has no `metadata.name`", "give it a name")
        try:
            if cls is not None:
                cls.from_wire(written)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            return (f"{what} {metadata['name']} is not valid: {place}: {safe_text(first['msg'])}", "correct it")
        return ()


def is_namespaced(gvk: GroupVersionKind, crd: Manifest | None) -> bool:
    """Whether objects of a kind have a namespace: as its definition says, or as that of a built-in kind is known."""
    if crd is not None:
        return bool(crd["spec"].get("scope") == "Namespaced")
    cls = find_class(gvk)
    return cls is not None and cls.resource is not None and cls.resource.namespaced


def group_kind_of(crd: Mapping[str, Any]) -> tuple[str, str]:
    """The group and the kind that a CustomResourceDefinition defines."""
    return crd["spec"]["group"], crd["spec"]["names"]["kind"]
