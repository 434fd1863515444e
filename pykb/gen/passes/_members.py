"""Collects what fields' markers require of the object around them: unions, dependencies, fixed presence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.crd import ONE_OF_MEMBER
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import PropertyNode, Rule
from pykb.gen.passes._markers import expression, not_expressible
from pykb.markers.model import Marker, unwrap
from pykb.meta.names import cel_selector, cel_text


@dataclass(slots=True)
class _Union:
    """A group of fields of which one is set."""

    span: Span
    discriminator: str | None = None
    members: dict[str, str] = field(default_factory=dict)
    may_be_none: bool = False


@dataclass(slots=True)
class Members:
    """Collects what the fields of one object require of it."""

    properties: Mapping[str, PropertyNode]
    diagnostics: Diagnostics
    rules: list[Rule] = field(default_factory=list)
    unions: dict[str, _Union] = field(default_factory=dict)
    deciding: dict[tuple[str, str], str] = field(default_factory=dict)
    conditions: list[_Condition] = field(default_factory=list)

    def read(self, prop: PropertyNode, markers: Iterable[Marker], *, frozen: bool) -> None:
        """Read the markers of one field."""
        if frozen:
            self.keep(prop, prop.span)
        for marker in sorted(unwrap(markers), key=lambda m: m.definition.priority):
            if marker.definition.member is not None:
                marker.definition.member(_Member(self, prop, marker))

    def keep(self, prop: PropertyNode, span: Span | None) -> None:
        """Forbid removing an optional field."""
        if not prop.required:
            at = cel_selector(prop.name)
            rule = f"!has(oldSelf.{at}) || has(self.{at})"
            self.rules.append(Rule(rule, f"field {prop.name} is immutable once set", span=span))

    def finish(self) -> list[Rule]:
        """The rules of the object, after all fields were read. Rules of single fields come before those of groups."""
        rules = self.rules + [rule for union in self.unions.values() for rule in self._of_union(union)]
        rules += [rule for condition in self.conditions for rule in condition.rules(self)]
        return list(dict.fromkeys(rules))

    def _of_union(self, union: _Union) -> list[Rule]:
        names = " ".join(union.members)
        if union.discriminator is None:
            count = "+".join(f"(has(self.{cel_selector(name)})?1:0)" for name in union.members)
            if union.may_be_none:
                return [Rule(f"{count} <= 1", f"at most one of the fields in [{names}] may be set", span=union.span)]
            return [Rule(f"{count} == 1", f"exactly one of the fields in [{names}] must be set", span=union.span)]
        by, of = union.discriminator, cel_selector(union.discriminator)
        is_set = "" if self.properties[by].required else f"has(self.{of}) && "
        return [
            Rule(
                f"({is_set}self.{of} == {cel_text(value)}) == has(self.{cel_selector(name)})",
                f"field {name} must be set when {by} is {value}, and not otherwise",
                span=union.span,
            )
            for name, value in union.members.items()
        ]


@dataclass(frozen=True, slots=True)
class _Member:
    """A marker on a field, applied to the object around it (:class:`pykb.markers.effect.Holder`)."""

    members: Members
    prop: PropertyNode
    marker: Marker

    @property
    def name(self) -> str:
        return self.prop.name

    @property
    def at(self) -> str:
        return f"self.{cel_selector(self.name)}"

    @property
    def before(self) -> str:
        return f"oldSelf.{cel_selector(self.name)}"

    @property
    def inner(self) -> str:
        return self.marker.value.name if isinstance(self.marker.value, Marker) else ""

    def argument(self, name: str = "") -> object:
        return self.marker.arguments.get(name)

    def text(self, name: str) -> str:
        return str(self.argument(name) or "")

    def beside(self, name: str) -> str | None:
        if name in self.members.properties:
            return f"self.{cel_selector(name)}"
        near = closest(name, self.members.properties)
        self._report(
            self.marker.span_of("field"),
            f"`{name}` is not a field next to `{self.name}`",
            *((f"did you mean `{near}`?",) if near else ()),
        )
        return None

    def rule(self, rule: str, message: str) -> None:
        self.members.rules.append(Rule(rule, message, span=self.marker.span))

    def keep(self) -> None:
        self.members.keep(self.prop, self.marker.span)

    def _union(self) -> _Union:
        return self.members.unions.setdefault(self.text("union"), _Union(self.marker.span))

    def discriminate(self) -> None:
        self._union().discriminator = self.name

    def join(self, *, may_be_none: bool) -> None:
        union = self._union()
        union.members[self.name] = self.text("memberName") or _pascal(self.prop.attribute)
        union.may_be_none = union.may_be_none or may_be_none
        if self.prop.required:
            attribute = self.prop.attribute
            message = f"the field `{attribute}` is required, so it cannot be one member of a union"
            self._report(self.marker.span, message, f"{attribute}: ... | None = None")

    def decide(self, group: str) -> None:
        self.members.deciding[self.marker.name, self.text(group)] = self.name

    def while_decided(self, group: str, value: str, by: str, *, forbids: bool) -> None:
        given = self.text("value") or self.text(value)
        self.members.conditions.append(_Condition(self, (by, self.text(group)), given, forbids))

    def _report(self, at: Span, message: str, *help_: str) -> None:
        self.members.diagnostics.add(_wrong_member(at, message, *help_))


@dataclass(frozen=True, slots=True)
class _Condition:
    """A tag for a field that applies while another field has a certain value."""

    member: _Member
    group: tuple[str, str]
    value: str
    forbids: bool

    def rules(self, members: Members) -> list[Rule]:
        marker, name = self.member.marker, self.member.name
        inner = marker.value
        by = members.deciding.get(self.group)
        if by is None:
            message = f"no field beside `{name}` is the discriminator of `+{marker.name}`"
            members.diagnostics.add(_wrong_member(marker.span, message, f"+{self.group[0]}"))
            return []
        if not isinstance(inner, Marker):
            return []
        of = cel_selector(by)
        other = f"self.{of} != {cel_text(self.value)}"
        if not members.properties[by].required:
            other = f"!has(self.{of}) || {other}"
        asked = self._asked(inner)
        if asked is None:
            members.diagnostics.add(not_expressible(marker, inner))
            return []
        rule, words = asked
        return [Rule(f"{other} || {rule}", f"field {name} {words} when {by} is {self.value}", span=marker.span)]

    def _asked(self, inner: Marker) -> tuple[str, str] | None:
        """What the tag requires of the field, as CEL and in words."""
        at = self.member.at
        if inner.definition.required:
            return f"has({at})", "is required"
        if self.forbids:
            return f"!has({at})", "is forbidden"
        said = expression(inner, at)
        present = "" if self.member.prop.required else f"!has({at}) || "
        return (f"{present}({said})", f"must fulfil {inner.text}") if said else None


def _wrong_member(at: Span, message: str, *help_: str) -> Diagnostic:
    return ONE_OF_MEMBER.at(at, message, help=help_)


def _pascal(attribute: str) -> str:
    """The Go field name for an attribute. It is the default value of a discriminator."""
    return "".join(part[:1].upper() + part[1:] for part in attribute.strip("_").split("_"))
