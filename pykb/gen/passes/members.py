"""What a field's tags say about the object that holds it: unions, dependencies, presence that must not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import ONE_OF_MEMBER, TAG_NOT_EXPRESSIBLE
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import PropertyNode, Rule
from pykb.gen.passes.expressions import expression, literal_text, selector
from pykb.gen.passes.names import unwrap
from pykb.markers.model import Marker

_DISCRIMINATORS = {"k8s:discriminator": "name", "k8s:modeDiscriminator": "modality"}
_CONDITIONAL = {
    "k8s:member": ("k8s:discriminator", "discriminator", "memberName"),
    "k8s:ifMode": ("k8s:modeDiscriminator", "modality", "mode"),
}


@dataclass(slots=True)
class _Union:
    """One group of fields of which one is set."""

    discriminator: str | None = None
    members: dict[str, str] = field(default_factory=dict)
    may_be_none: bool = False


@dataclass(slots=True)
class Members:
    """Gathers what the fields of one object say about it."""

    properties: Mapping[str, PropertyNode]
    diagnostics: Diagnostics
    _rules: list[Rule] = field(default_factory=list)
    _unions: dict[str, _Union] = field(default_factory=dict)
    _discriminators: dict[tuple[str, str], str] = field(default_factory=dict)
    _conditional: list[tuple[PropertyNode, Marker]] = field(default_factory=list)

    def read(self, prop: PropertyNode, markers: Iterable[Marker], *, frozen: bool) -> None:
        """Take in what one field says."""
        name, at = prop.name, selector(prop.name)
        tags = tuple(unwrap(markers))
        if not prop.required and (frozen or any(tag.name == "k8s:immutable" for tag in tags)):
            self._rules.append(Rule(f"!has(oldSelf.{at}) || has(self.{at})", f"field {name} is immutable once set"))
        for tag in tags:
            self._rules += self._tag(prop, tag)

    def _tag(self, prop: PropertyNode, tag: Marker) -> list[Rule]:
        name, at = prop.name, selector(prop.name)
        match tag.name:
            case "k8s:forbidden":
                return [Rule(f"!has(self.{at})", f"field {name} is forbidden")]
            case "k8s:update" if tag.value == "NoSet":
                return [Rule(f"has(oldSelf.{at}) || !has(self.{at})", f"field {name} cannot be set later")]
            case "k8s:update" if tag.value == "NoUnset":
                return [Rule(f"!has(oldSelf.{at}) || has(self.{at})", f"field {name} cannot be removed")]
            case "k8s:dependentRequired" | "k8s:dependentForbidden":
                return self._dependency(prop, tag)
            case "k8s:unionDiscriminator":
                self._union(tag).discriminator = name
            case "k8s:unionMember" | "k8s:zeroOrOneOfMember":
                union = self._union(tag)
                union.members[name] = str(tag.arguments.get("memberName") or _pascal(prop.attribute))
                union.may_be_none = union.may_be_none or tag.name == "k8s:zeroOrOneOfMember"
                if prop.required:
                    self.diagnostics.add(
                        ONE_OF_MEMBER.at(
                            tag.span,
                            f"the field `{prop.attribute}` is required, so it cannot be one member of a union",
                            help=(f"{prop.attribute}: ... | None = None",),
                        ),
                    )
            case _ if tag.name in _DISCRIMINATORS:
                self._discriminators[tag.name, str(tag.arguments.get(_DISCRIMINATORS[tag.name]) or "")] = name
            case _ if tag.name in _CONDITIONAL:
                self._conditional.append((prop, tag))
        return []

    def _union(self, tag: Marker) -> _Union:
        return self._unions.setdefault(str(tag.arguments.get("union") or ""), _Union())

    def _dependency(self, prop: PropertyNode, tag: Marker) -> list[Rule]:
        other = str(tag.arguments.get("field"))
        if other not in self.properties:
            near = closest(other, self.properties)
            self.diagnostics.add(
                ONE_OF_MEMBER.at(
                    tag.span_of("field"),
                    f"`{other}` is no field beside `{prop.name}`",
                    help=(f"did you mean `{near}`?",) if near else (),
                ),
            )
            return []
        needed = tag.name == "k8s:dependentRequired"
        wanted = f"has(self.{selector(other)})" if needed else f"!has(self.{selector(other)})"
        word = "required" if needed else "forbidden"
        return [
            Rule(f"!has(self.{selector(prop.name)}) || {wanted}", f"field {other} is {word} when {prop.name} is set")
        ]

    def finish(self) -> list[Rule]:
        """The rules of the object, once all fields were read: those of single fields first, then those of groups."""
        rules = self._rules + [rule for union in self._unions.values() for rule in self._union_rules(union)]
        for prop, tag in self._conditional:
            rules += self._condition(prop, tag)
        return rules

    def _union_rules(self, union: _Union) -> list[Rule]:
        names = " ".join(union.members)
        if union.discriminator is None:
            if not union.members:
                return []
            count = "+".join(f"(has(self.{selector(name)})?1:0)" for name in union.members)
            if union.may_be_none:
                return [Rule(f"{count} <= 1", f"at most one of the fields in [{names}] may be set")]
            return [Rule(f"{count} == 1", f"exactly one of the fields in [{names}] must be set")]
        by = union.discriminator
        prop = self.properties[by]
        of = selector(by)
        is_set = "" if prop.required else f"has(self.{of}) && "
        return [
            Rule(
                f"({is_set}self.{of} == {literal_text(value)}) == has(self.{selector(name)})",
                f"field {name} must be set when {by} is {value}, and not otherwise",
            )
            for name, value in union.members.items()
        ]

    def _condition(self, prop: PropertyNode, tag: Marker) -> list[Rule]:
        family, group_argument, value_argument = _CONDITIONAL[tag.name]
        by = self._discriminators.get((family, str(tag.arguments.get(group_argument) or "")))
        if by is None:
            self.diagnostics.add(
                ONE_OF_MEMBER.at(
                    tag.span,
                    f"no field beside `{prop.name}` is the discriminator of `+{tag.name}`",
                    help=(f"+{family}",),
                ),
            )
            return []
        value, inner = str(tag.arguments.get("value") or tag.arguments.get(value_argument) or ""), tag.value
        if not isinstance(inner, Marker):
            return []
        of = selector(by)
        other = f"self.{of} != {literal_text(value)}"
        if not self.properties[by].required:
            other = f"!has(self.{of}) || {other}"
        field_ = f"self.{selector(prop.name)}"
        if inner.name == "k8s:required":
            return [Rule(f"{other} || has({field_})", f"field {prop.name} is required when {by} is {value}")]
        if inner.name == "k8s:forbidden":
            return [Rule(f"{other} || !has({field_})", f"field {prop.name} is forbidden when {by} is {value}")]
        said = expression(inner, field_)
        if said is None:
            self.diagnostics.add(
                TAG_NOT_EXPRESSIBLE.at(
                    inner.span,
                    f"`+{inner.name}` cannot be said inside `+{tag.name}` in a CRD",
                    help=('say it by a CEL rule: `+kubebuilder:validation:XValidation:rule="..."`',),
                ),
            )
            return []
        present = "" if prop.required else f"!has({field_}) || "
        return [
            Rule(f"{other} || {present}({said})", f"field {prop.name} must fulfil {inner.text} when {by} is {value}")
        ]


def _pascal(attribute: str) -> str:
    """The name of the Go field that the attribute would have; the default value of a discriminator."""
    return "".join(part[:1].upper() + part[1:] for part in attribute.strip("_").split("_"))
