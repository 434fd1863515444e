"""Applies markers to schemas, after checking that each fits the type.

Tags of map keys and conditional fields, and groups of fields of which one is set, have no keyword. They become CEL.
:class:`Members` collects what the markers of fields require of the object around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pykb.api import annotations as api
from pykb.diagnostics import Diagnostic, Diagnostics, Severity, Span
from pykb.diagnostics.codes.crd import DEFAULT_VALUE, MARKER_TYPE, ONE_OF_MEMBER, TAG_NOT_EXPRESSIBLE
from pykb.diagnostics.suggest import did_you_mean
from pykb.gen.draft import Draft, shown_type, type_label
from pykb.gen.ir import LIMITS, Keyword, PropertyNode, Rule, SchemaNode, read_rules
from pykb.markers.definition import LISTS, NUMBERS, TEXTS, Does, Holds, Sets, Whole
from pykb.markers.model import Marker, unwrap
from pykb.meta.names import cel_selector, cel_text

_COMPARISONS = {
    keyword: f"{'{0}' if keyword in LIMITS['integer'] else 'size({0})'} {'>=' if keyword == least else '<='} {{1}}"
    for least, most in LIMITS.values()
    for keyword in (least, most)
}
_RELATIONS = {"at most": ("may", " <= 1"), "exactly": ("must", " == 1"), "at least": ("must", "")}
ANNOTATIONS: dict[type, str] = {
    api.AtMostOneOf: "at most",
    api.ExactlyOneOf: "exactly",
    api.AtLeastOneOf: "at least",
}


def expression(marker: Marker, it: str) -> str | None:
    """The CEL expression that a tag puts on a value; ``None`` for tags that are not about a single value.

    Args:
        marker: The tag.
        it: The CEL expression of the value.
    """
    effect = marker.definition.effect
    value = _Value(it, marker.arguments)
    if isinstance(effect, Holds):
        effect.say(value)
    elif isinstance(effect, Sets) and effect.keyword in _COMPARISONS:
        value.put(effect.keyword, marker.value)
    return " && ".join(value.parts) or None


@dataclass(slots=True)
class _Value:
    """A value without a schema. Collects its constraints as expressions."""

    it: str
    arguments: Mapping[str, object]
    parts: list[str] = field(default_factory=list)

    def argument(self, name: str = "") -> object:
        return self.arguments.get(name)

    def get(self, keyword: str, *, here: bool = False) -> object:
        del keyword, here
        return None

    def put(self, keyword: str, value: object) -> None:
        if keyword == "pattern":
            self.parts.append(f"{self.it}.matches({cel_text(str(value))})")
        else:
            self.parts.append(_COMPARISONS[keyword].format(self.it, value))

    def fill(self, keyword: str, value: object, *, implied: bool = False) -> None:
        if not implied:
            self.put(keyword, value)

    def rule(self, rule: str, message: object = None, **parts: object) -> None:
        del message, parts
        self.parts.append(rule)


def one_of_rule(
    relation: str,
    members: list[str],
    schema: SchemaNode,
    span: Span | None,
    what: str,
    diagnostics: Diagnostics,
) -> list[Rule]:
    """The rule of a group; empty when one of its members cannot take part.

    Args:
        relation: How many are set: ``at most``, ``exactly`` or ``at least`` one.
        members: Wire names of fields.
        schema: The object with these fields.
        span: Where the group is declared.
        what: How messages call the object.
        diagnostics: Gets members that cannot take part.
    """
    properties = schema.properties or {}
    wrong = False
    for member in members:
        prop = properties.get(member)
        wrong = wrong or prop is None or prop.required
        if prop is None:
            diagnostics.report(
                ONE_OF_MEMBER,
                span,
                f"`{member}` is not a field of {what}"
                + ("; nested fields cannot take part in a group" if "." in member else ""),
                *did_you_mean(member, properties),
            )
        elif prop.required:
            diagnostics.report(
                ONE_OF_MEMBER,
                span,
                f"the field `{member}` is required, so it cannot be a member of a one-of group",
                f"{prop.attribute}: ... | None = None",
            )
    return [] if wrong else [_counting_rule(relation, members, span)]


def _counting_rule(relation: str, members: Iterable[str], span: Span | None) -> Rule:
    """The rule that so many of these fields are set."""
    verb, comparison = _RELATIONS[relation]
    present = [f"has(self.{cel_selector(member)})" for member in members]
    rule = "+".join(f"({each}?1:0)" for each in present) + comparison if comparison else "||".join(present)
    return Rule(rule, f"{relation} one of the fields in [{' '.join(members)}] {verb} be set", span=span)


_OBJECTS = ("object",)
_TYPES = {
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"), NUMBERS),
    **dict.fromkeys(("maxLength", "minLength", "pattern"), TEXTS),
    **dict.fromkeys(("maxItems", "minItems", "uniqueItems"), LISTS),
    **dict.fromkeys(("maxProperties", "minProperties"), _OBJECTS),
}
"""Keywords for certain types. All other keywords are checked on the finished schema."""
_PARTS: tuple[Literal["items", "values"], ...] = ("items", "values")
_NOUNS = {NUMBERS: "numbers", TEXTS: "strings", LISTS: "lists", _OBJECTS: "objects"}


def empties(markers: Iterable[Marker]) -> bool:
    """Whether markers replace the whole schema."""
    return any(marker.definition.effect is Whole.EMPTIES for marker in markers)


def emptied(node: SchemaNode) -> SchemaNode:
    """What is left of a schema that markers replace."""
    return SchemaNode({k: v for k, v in node.keywords.items() if k == "description"}, node.span)


def apply_markers(draft: Draft, markers: Iterable[Marker]) -> SchemaNode:
    """Apply the markers to a schema, in order of priority number and of the number of ``items:``."""
    given = tuple(unwrap(markers))
    if empties(given):
        draft.start(emptied(draft.node))
    for marker in sorted(given, key=lambda m: (m.definition.items_depth, m.definition.priority)):
        _apply(draft, marker, given, marker.definition.items_depth)
    return draft.node


def _apply(draft: Draft, marker: Marker, given: tuple[Marker, ...], depth: int) -> None:
    if depth == 0:
        _Use(draft, marker, given).apply()
        return
    items = draft.part("items") if draft.type == "array" else None
    if items is None:
        _Use(draft, marker, given).refuse("applies to the elements of a list, but {}")
    else:
        _apply(items, marker, given, depth - 1)
        draft.adopt("items", items)


@dataclass(frozen=True, slots=True)
class _Use:
    """A marker on a schema, the subject of its effect (:class:`pykb.markers.definition.Subject`)."""

    draft: Draft
    marker: Marker
    given: tuple[Marker, ...] = ()

    def apply(self) -> None:
        effect = self.marker.definition.effect
        if isinstance(effect, Sets):
            self._set(effect)
        elif isinstance(effect, Does | Holds) and self._fits(effect.on):
            effect.say(self)

    def _set(self, effect: Sets) -> None:
        types = _TYPES.get(effect.keyword, ())
        if not self._fits(types, textual=types in {NUMBERS, TEXTS}):
            return
        value = self._value()
        if types == NUMBERS and self.type == "integer" and isinstance(value, float) and not value.is_integer():
            message = f"`+{self.marker.name}` takes a whole number here, found `{value}`: {self._what()}"
            self._misfit(self.marker.span_of(), message)
        elif effect.adds:
            self._extend(effect.keyword, value)
        else:
            if effect.keyword == "default" and value == "null" and self.marker.text.rstrip().endswith("=null"):
                self.draft.diagnostics.add(_null_text(self.marker, self.draft.place.what))
            self.draft.put_marker(effect.keyword, self._keyword(value), effect.drops)

    def _value(self) -> object:
        marker = self.marker
        if marker.definition.value is None:
            return {k: v for k, v in marker.arguments.items() if v is not None} or True
        # The grammar reads `{}` as an empty map. For a list, it means an empty list.
        return [] if marker.value == {} and self.type == "array" else marker.value

    def _keyword(self, value: object) -> Keyword:
        return Keyword(value, self.marker.span, self.marker.text or f"+{self.marker.name}")

    def _extend(self, keyword: str, value: object) -> None:
        old = self.draft.node.keywords.get(keyword)
        said = old.value if old is not None and isinstance(old.value, list) else []
        if value in said:
            return
        if old is not None and not old.spelling.startswith("+"):
            self.draft.contradict(self._keyword([value]), old)
        else:
            self.draft.put(keyword, self._keyword([*said, value]))

    def _fits(self, types: tuple[str, ...], *, textual: bool = False) -> bool:
        # A schema of `Any` has no type to contradict.
        if not types or self.type in types or (textual and self.draft.effective.is_int_or_string):
            return True
        noun = _NOUNS.get(types) or " or ".join(types)
        name = self.marker.definition.base_name.removeprefix("kubebuilder:validation:")
        self._misfit(self.marker.span, f"`{name}` applies to {noun}, but {self._what()}", *self._better())
        return False

    def _better(self) -> tuple[str, ...]:
        said = getattr(self.marker.definition.effect, "keyword", "")
        for keyword in LIMITS.get(self.type or "", ()):
            if keyword[:3] == said[:3]:
                name = f"{keyword[0].upper()}{keyword[1:]}"
                return (f"for {_MEASURES[self.type or '']}, use `+kubebuilder:validation:{name}={self.marker.value}`",)
        return ()

    @property
    def type(self) -> str | None:
        return self.draft.type

    @property
    def it(self) -> str:
        return "self"

    @property
    def inner(self) -> str:
        return self.marker.value.name if isinstance(self.marker.value, Marker) else ""

    def argument(self, name: str = "") -> object:
        return self.marker.arguments.get(name)

    def named(self) -> dict[str, object]:
        return {name: value for name, value in self.marker.arguments.items() if name}

    def beside(self, keyword: str) -> list[str]:
        return [str(m.value) for m in self.given if getattr(m.definition.effect, "keyword", "") == keyword]

    def get(self, keyword: str, *, here: bool = False) -> object:
        own = self.draft.node.get(keyword)  # when both set it, the type's is in `allOf`
        return own if here or own is not None else self.draft.effective.get(keyword)

    def put(self, keyword: str, value: object) -> None:
        self.draft.put_marker(keyword, self._keyword(value))

    def fill(self, keyword: str, value: object, *, implied: bool = False) -> None:
        del implied
        if self.get(keyword) is None:
            self.put(keyword, value)

    def reorder(self, keyword: str, values: list[object]) -> None:
        old = self.draft.node.keywords.get(keyword) or self.draft.effective.keywords[keyword]
        self.draft.put(keyword, replace(old, value=values))

    def drop(self, keyword: str) -> None:
        self.draft.change(lambda node: node.without(keyword))

    def rule(self, rule: str, message: object = None, **parts: object) -> None:
        for new in read_rules([{"rule": rule, "message": message, **parts}], self.marker.span) or ():
            other = next((old for old in self.draft.node.rules if old.rule == rule and old != new), None)
            if other is not None and "rule" in self.marker.arguments:  # the author wrote the same rule twice
                old = Keyword(other.parts, other.span, f'CEL("{rule}", ...)')
                self.draft.contradict(self._keyword(new.parts), old)
            else:
                self.draft.add(new)

    def fields(self, relation: str) -> None:
        value = self.marker.value
        names = [str(name) for name in (value if isinstance(value, list) else [value])]
        draft, marker = self.draft, self.marker
        what = draft.place.what
        draft.add(*one_of_rule(relation, names, draft.effective, marker.span_of(), what, draft.diagnostics))

    def refuse(self, message: str, *help_: str) -> None:
        self._misfit(self.marker.span, f"`+{self.marker.name}` {message.format(self._what())}", *help_)

    def _what(self) -> str:
        return f"{self.draft.place.what} is {shown_type(self.draft.effective)}"

    def _misfit(self, at: Span, message: str, *help_: str) -> None:
        labels = type_label(self.draft.effective, self.draft.place.span)
        self.draft.diagnostics.report(MARKER_TYPE, at, message, *help_, label="this marker", labels=labels)

    def inexpressible(self) -> None:
        inner = self.marker.value
        if isinstance(inner, Marker):
            self.draft.diagnostics.add(not_expressible(self.marker, inner))

    def each_value(self) -> None:
        for name in _PARTS:
            part = self.draft.part(name)
            if part is not None:
                self._inside(part)
                self.draft.adopt(name, part)
                return
        self.refuse("applies to lists and maps, but {}")

    def each_key(self) -> None:
        inner = self.marker.value
        if self.draft.effective.values is None:
            self.refuse("applies to maps, but {}")
        elif isinstance(inner, Marker):
            rule = expression(inner, "key")
            if rule is None:
                self.inexpressible()
            else:
                self.rule(f"self.all(key, {rule})", f"each key must fulfil {inner.text}")

    def field(self, name: str, *, forbids: bool) -> None:
        prop = (self.draft.effective.properties or {}).get(name)
        inner = self.marker.value
        if prop is None:
            self.refuse(f"names the field `{name}`, which does not exist: {{}}")
        elif isinstance(inner, Marker) and inner.definition.required is not None:
            self.draft.adopt_field(prop, required=inner.definition.required)
        elif forbids:
            self.rule(f"!has(self.{cel_selector(name)})", f"field {name} is forbidden")
        else:
            part = self.draft.field(prop)
            self._inside(part)
            self.draft.adopt_field(prop, part)

    def _inside(self, part: Draft) -> None:
        inner = self.marker.value
        if isinstance(inner, Marker):
            apply_markers(part, [inner])
            if not isinstance(inner.definition.effect, Sets | Does | Holds):
                self.inexpressible()


_MEASURES = {
    "string": "the number of characters",
    "array": "the number of elements",
    "object": "the number of keys",
    **dict.fromkeys(NUMBERS, "the number itself"),
}


def not_expressible(marker: Marker, inner: Marker) -> Diagnostic:
    """The finding for a tag inside another tag that a CRD cannot express."""
    return TAG_NOT_EXPRESSIBLE.at(
        inner.span,
        f"`+{inner.name}` cannot be used inside `+{marker.name}` in a CRD",
        'use a CEL rule instead: `+kubebuilder:validation:XValidation:rule="..."`',
    )


def _null_text(marker: Marker, what: str) -> Diagnostic:
    return DEFAULT_VALUE.at(
        marker.span_of(),
        f"the default of {what} is the string `null`, not the absence of a value",
        f'+{marker.name}="null"',
        "or remove it: then the field has no default",
        severity=Severity.WARNING,
    )


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
        if union.discriminator is None:
            return [_counting_rule("at most" if union.may_be_none else "exactly", union.members, union.span)]
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
    """A marker on a field, applied to the object around it (:class:`pykb.markers.definition.Holder`)."""

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
        self._report(
            self.marker.span_of("field"),
            f"`{name}` is not a field next to `{self.name}`",
            *did_you_mean(name, self.members.properties),
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
        self.members.diagnostics.report(ONE_OF_MEMBER, at, message, *help_)


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
            members.diagnostics.report(ONE_OF_MEMBER, marker.span, message, f"+{self.group[0]}")
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


def _pascal(attribute: str) -> str:
    """The Go field name for an attribute. It is the default value of a discriminator."""
    return "".join(part[:1].upper() + part[1:] for part in attribute.strip("_").split("_"))
