"""Projects made by chance: types, annotations and markers as people write them, right and wrong."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from pykb.markers.definition import Argument, Grammar, MarkerDefinition, MarkerTarget, ValueKind, ValueType
from pykb.markers.registry import builtin_registry
from tests.apiserver.gen import hostile_rules as rules
from tests.apiserver.gen import hostile_words as words

SNAKE = {"messageExpression": "message_expression", "fieldPath": "field_path", "optionalOldSelf": "optional_old_self"}


@dataclass
class Maker:
    """Makes the text of one project."""

    rng: Random
    odd: float = 0.25
    classes: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    registry: tuple[MarkerDefinition, ...] = field(default_factory=lambda: tuple(builtin_registry()))

    # -- types

    def type(self, depth: int = 2) -> str:
        """A type, at most so deep."""
        pick = self.rng.random()
        if depth == 0 or pick < 0.4:
            text = self.rng.choice(words.SCALARS)
        elif pick < 0.55:
            text = self.rng.choice(words.OBJECTS)
        elif pick < 0.60:
            text = self.rng.choice(words.OPEN)
        elif pick < 0.68:
            text = self.struct(depth - 1)
        elif pick < 0.75:
            text = f"dict[str, {self.type(depth - 1)}]"
        else:
            text = f"{self.rng.choice(['list', 'list', 'list', 'list', 'set', 'frozenset'])}[{self.type(depth - 1)}]"
        if self.rng.random() < 0.3:
            said = ", ".join(self.annotation(text) for _ in range(self.rng.choice([1, 1, 2])))
            text = f"Annotated[{text}, {said}]"
        return text

    def struct(self, depth: int) -> str:
        """A class of its own."""
        name = f"Part{next(self.numbers)}"
        body = self.fields(depth, self.rng.randint(1, 3))  # makes what it needs, which stands before it
        self.classes.append(self.a_class(name, "Struct", body, MarkerTarget.TYPE))
        return name

    def a_class(self, name: str, bases: str, body: str, target: MarkerTarget) -> str:
        """A class with its markers and decorators."""
        above = "".join(f"# {self.marker(target)}\n" for _ in range(self.count()))
        if self.rng.random() < 0.15:
            above += f"@annotate({self.annotation('Struct', on_class=True)})\n"
        return f"{above}class {name}({bases}):\n{body}\n\n"

    def count(self) -> int:
        """How many markers."""
        return self.rng.choice([0, 0, 0, 1, 1, 2])

    def fields(self, depth: int, count: int) -> str:
        """The fields of a class, required ones first or not."""
        names = self.rng.sample(words.FIELDS, count)
        return "".join(self.a_field(name, depth) for name in names)

    def a_field(self, name: str, depth: int) -> str:
        """A field with its markers."""
        text = self.type(depth)
        above = "".join(f"    # {self.marker(MarkerTarget.FIELD)}\n" for _ in range(self.count()))
        pick = self.rng.random()
        if pick < 0.35:
            return f"{above}    {name}: {text} | None = None\n" if "|" not in text else f"{above}    {name}: {text}\n"
        if pick < 0.6:
            return f"{above}    {name}: {text}\n"
        if pick < 0.67:
            return f"{above}    {name}: {text} | None\n"
        return f"{above}    {name}: {text} = {self.default(text)}\n"

    def default(self, text: str) -> str:
        """A default, often of a fitting type."""
        fitting = {
            "str": '"a"', "int": "2", "bool": "True", "Color": "Color.RED", "Level": "Level.LOW", "Name": '"n"',
            "Port": "80", "Quantity": 'Quantity("1Gi")', "Inner": 'Inner(a="x")', "Keyed": 'Keyed(name="k")',
        }  # fmt: skip
        if self.rng.random() > self.odd * 1.5:
            bare = re.sub(r"^Annotated\[(\w+),.*", r"\1", text)
            if bare in fitting:
                return fitting[bare]
            if text.startswith("list["):
                return self.rng.choice(
                    ["[]", "Field(default_factory=list)", *(f"[{v}]" for k, v in fitting.items() if k in text)]
                )
        return self.rng.choice(words.VALUES)

    # -- annotations

    def annotation(self, text: str, *, on_class: bool = False) -> str:
        """Something in ``Annotated``, that fits the type or does not."""
        r = self.rng
        fits = self.fitting(text)
        if fits and not on_class and r.random() > self.odd:
            return r.choice(fits)
        everything = [
            self.number_field(), self.length_field(), f"Field(pattern={r.choice(words.PATTERNS)!r})", self.rule(), self.rule(),
            "ListSet()", "ListAtomic()", f'ListMap({", ".join(repr(k) for k in r.sample(words.KEYS, r.choice([0, 1, 1, 1, 2])))})',
            "MapAtomic()", "MapGranular()", "PreserveUnknown()", "EmbeddedResource()", "Nullable()", "Immutable()", "Schemaless()",
            f"Format({r.choice(words.FORMATS)!r})", f"Type({r.choice(words.TYPES)!r})", f"SchemaPatch({r.choice(words.SCHEMAS)})",
            f"SchemaPatch({r.choice(words.SCHEMAS)})", f"RawSchema({r.choice(words.SCHEMAS)})", "XIntOrString()", "SchemaRequired()",
            f"ServerDefault({r.choice(words.VALUES[:40])})", 'ExternalDocs("https://example.com")', 'ExternalDocs("x y")',
            f"SchemaOnly({self.length_field()})", "Field(frozen=True)", "Field(deprecated=True)", 'Field(title="T")', "Field(examples=[1])",
            f'{r.choice(["ExactlyOneOf", "AtMostOneOf", "AtLeastOneOf"])}({", ".join(repr(n) for n in r.sample([*words.FIELDS, "zz"], 2))})',
        ]  # fmt: skip
        return r.choice(everything)

    def fitting(self, text: str) -> list[str]:
        """Annotations that go with a type."""
        if re.match(r"(int|Int32|Int64|float|Port)\b", text):
            return [self.number_field(), self.number_field(), self.rule(), "Immutable()"]
        if re.match(r"(str|Name)\b", text):
            return [
                self.length_field(),
                f"Field(pattern={self.rng.choice(words.PATTERNS[:5])!r})",
                self.rule(),
                f"Format({self.rng.choice(words.FORMATS)!r})",
            ]
        if re.match(r"(list|Names)\b", text):
            return [
                "ListSet()",
                "ListAtomic()",
                'ListMap("name")',
                self.length_field(),
                self.rule(),
                f"ListMap({self.rng.choice(words.KEYS)!r})",
            ]
        if re.match(r"(dict|Inner|Keyed|Part|Pod|Boxed|Node)", text):
            return ["MapAtomic()", "MapGranular()", "PreserveUnknown()", self.rule(), "EmbeddedResource()"]
        return []

    def number_field(self) -> str:
        """A bound of numbers."""
        kind = self.rng.choice(["ge", "gt", "le", "lt", "multiple_of"])
        return f"Field({kind}={self.rng.choice(words.NUMBERS)})"

    def length_field(self) -> str:
        """A bound of lengths."""
        kind = self.rng.choice(["min_length", "max_length", "max_length"])
        return f"Field({kind}={self.rng.choice(words.COUNTS)})"

    def rule(self) -> str:
        """A CEL annotation."""
        extra = "".join(f", {SNAKE.get(k, k)}={v!r}" for k, v in rules.extras(self.rng).items())
        return f"CEL({rules.rule(self.rng)!r}{extra})"

    # -- markers

    def marker(self, target: MarkerTarget) -> str:
        """A marker for a declaration, of the whole registry."""
        fitting = [d for d in self.registry if target in d.targets and not d.go_only and d.category != "CRD"]
        weighted = [
            d for d in fitting if "XValidation" in d.name or d.grammar is Grammar.DECLARATIVE or d.items_depth == 0
        ]
        definition = self.rng.choice(weighted if self.rng.random() < 0.85 else fitting)
        return self.spelt(definition)

    def spelt(self, definition: MarkerDefinition, depth: int = 0) -> str:
        """A marker with arguments."""
        r = self.rng
        if r.random() < 0.15:
            return definition.example
        name = definition.name
        while definition.items_depth and r.random() < 0.3:
            name = name.replace("items:", "items:items:", 1)
        if name.endswith("XValidation"):
            said = {"rule": rules.rule(r), **rules.extras(r)}
            return f"+{name}:" + ",".join(f"{k}={quoted(v)}" for k, v in said.items())
        if definition.grammar is Grammar.DECLARATIVE:
            return self.tag(definition, depth)
        value = definition.value
        if value is not None:
            return f"+{name}={self.argument(definition, value)}"
        named = [a for a in definition.arguments if not a.optional or r.random() < 0.4]
        return f"+{name}" + "".join(
            f"{',' if i else ':'}{a.name}={self.argument(definition, a)}" for i, a in enumerate(named)
        )

    def tag(self, definition: MarkerDefinition, depth: int) -> str:
        """A tag of declarative validation."""
        r = self.rng
        inside = []
        for argument in definition.arguments:
            if not argument.name:
                continue
            if argument.optional and r.random() < 0.4:
                continue
            said = r.choice(["name", "a", "b", "kind", "value", "zz", '"x"', "port"])
            inside.append(said if argument.positional else f'{argument.name}: "{said.strip(chr(34))}"')
        if definition.open_arguments:
            inside.append(r.choice(['name: "x"', 'type: "Ready"', "port: 1", 'nope: "x"', 'name: "it\'s"']))
        text = f"+{definition.name}" + (f"({', '.join(inside)})" if inside else "")
        value = definition.value
        if value is None:
            return text
        if value.type.kind is ValueKind.MARKER:
            nested = [d for d in self.registry if d.grammar is Grammar.DECLARATIVE and not d.go_only]
            return f"{text}={self.spelt(r.choice(nested), depth + 1)}" if depth < 3 else f"{text}=+k8s:required"
        return f"{text}={self.argument(definition, value)}"

    def argument(self, definition: MarkerDefinition, argument: Argument) -> str:
        """The text of an argument's value."""
        r = self.rng
        last = definition.base_name.rpartition(":")[2]
        if argument.choices and r.random() > 0.03:
            return r.choice(argument.choices)
        special = {
            "Pattern": [quoted(p) for p in words.PATTERNS], "Format": words.FORMATS, "Type": words.TYPES, "listMapKey": words.KEYS,
            "Enum": ["a;b", "1;2", "red", "true;false", "a;1", "a;a", "null", '"";a', "{a,b}", "1.5;2", "a", '{"a",{b: c}}'],
            "AtMostOneOf": ["a;b", "name;value", "a"], "ExactlyOneOf": ["a;b", "c;name", "zz"], "AtLeastOneOf": ["a;b", "b", "a;zz"],
            "neq": ['"default"', "1", "true", "`a`", "a b", "'x'", "1.5", "null", "[]", '"it\'s"'],
        }  # fmt: skip
        if last in special and not argument.name:
            return r.choice(special[last])
        if argument.name in {"JSONPath", "specpath", "statuspath", "selectorpath"}:
            path = r.choice(words.PATHS)
            return f"`{path}`" if re.search(r"[\s\"',]", path) or r.random() < 0.2 else path
        if argument.name in {"path", "singular", "shortName", "categories"}:
            return quoted(r.choice(words.NAMES)) if r.random() < 0.3 else r.choice(words.NAMES[:3])
        if argument.name in {"annotations", "labels"}:
            return quoted(r.choice(words.PAIRS))
        if argument.name == "url":
            return quoted(
                f"{r.choice(['https', 'https', 'https', 'http', ''])}://{r.choice(words.HOSTS)}{r.choice(['', '/x', '/a b', '?q=1', '#f'])}"
            )
        return self.plain(argument.type)

    def plain(self, kind: ValueType) -> str:
        """A value of a type of the grammar."""
        r = self.rng
        match kind.kind:
            case ValueKind.INTEGER:
                return r.choice(
                    ["0", "1", "2", "5", "10", "63", "100", "1000", "-1", "2147483648", "9223372036854775807"]
                )
            case ValueKind.NUMBER:
                return r.choice(["0", "1", "5", "-1", "1.5", "0.1", "100", "1e3", "9223372036854775807", "1e300"])
            case ValueKind.BOOLEAN:
                return r.choice(["true", "false"])
            case ValueKind.LIST:
                return ";".join(r.choice(["a", "b", "name", "1", '"x y"']) for _ in range(r.randint(1, 2)))
            case ValueKind.JSON:
                return r.choice(words.JSON_VALUES)
            case ValueKind.ANY:
                return r.choice(words.MARKER_VALUES)
        return r.choice(["a", '"a b"', "`x`", "name", '""', "it", '"\\n"', "1"])

    # -- kinds and webhooks

    def kind_markers(self, version: str, *, several: bool) -> str:
        """Markers of a kind."""
        r = self.rng
        of_kinds = [
            d for d in self.registry if d.category == "CRD" and "version" not in d.name and d.name != "kubebuilder:skip"
        ]
        lines = [self.spelt(d) for d in r.choices(of_kinds, k=r.choice([0, 0, 1, 2, 3]))]
        if r.random() < 0.5:
            lines.append("+kubebuilder:subresource:status")
        if several and (version == "v1" or r.random() < 0.05):
            lines.append("+kubebuilder:storageversion")
        if r.random() < 0.05:
            lines.append(
                r.choice(
                    [
                        "+kubebuilder:unservedversion",
                        "+kubebuilder:deprecatedversion",
                        '+kubebuilder:deprecatedversion:warning="x"',
                    ]
                )
            )
        if r.random() < 0.12:
            lines.append(self.marker(MarkerTarget.TYPE))
        return "".join(f"# {line}\n" for line in dict.fromkeys(lines))

    def module(self, version: str, *, several: bool) -> str:
        """The types of one version."""
        self.classes = []
        spec = self.a_class("ThingSpec", "Struct", self.fields(2, self.rng.randint(1, 3)), MarkerTarget.TYPE)
        status = self.a_class(
            "ThingStatus",
            "Struct",
            "    replicas: int = 0\n    phase: str | None = None\n"
            + (self.a_field("more", 1) if self.rng.random() < 0.3 else ""),
            MarkerTarget.TYPE,
        )
        above = self.kind_markers(version, several=several)
        if self.rng.random() < 0.1:
            above += f"@annotate({self.annotation('Struct', on_class=True)})\n"
        more = self.a_field(self.rng.choice(["extra", "data"]), 1) if self.rng.random() < 0.15 else ""
        kind = f"{above}class Thing(CustomResource, group_version=GV):\n    spec: ThingSpec\n    status: ThingStatus | None = None\n{more}"
        return words.HEADER.replace("{version}", version) + "".join(self.classes) + spec + status + kind

    def webhooks(self) -> str:
        """A file with markers of webhooks."""
        r = self.rng
        by_name = {d.name: d for d in self.registry}
        lines = []
        for index in range(r.choice([1, 1, 2])):
            said = {
                "path": "/mutate-a", "mutating": "true", "failurePolicy": "fail", "sideEffects": "None", "groups": "hostile.example.com",
                "resources": "things", "verbs": "create;update", "versions": "v1", "name": f"mthing{index}-v1.kb.io", "admissionReviewVersions": "v1",
            }  # fmt: skip
            if r.random() < 0.4:
                said |= {"mutating": "false", "path": "/validate-a"}
            for name in r.sample(sorted(words.WEBHOOK_WORDS), r.choice([0, 1, 1, 2])):
                said[name] = r.choice(words.WEBHOOK_WORDS[name])
            if r.random() < 0.2:
                said.pop("path", None)
                said["url"] = self.argument(
                    by_name["kubebuilder:webhook"], Argument("url", ValueType(ValueKind.STRING))
                )
            for name, choices in (
                ("matchPolicy", ["Exact", "equivalent"]),
                ("reinvocationPolicy", ["Never", "ifNeeded"]),
            ):
                if r.random() < 0.1:
                    said[name] = r.choice(choices)
            lines.append("# +kubebuilder:webhook:" + ",".join(f"{k}={v}" for k, v in said.items()))
        if r.random() < 0.3:
            name = r.choice(["hooks", "Hooks", "a_b", "a b", "", "a.b", "x" * 254, "-a", "1", "a..b", "é"])
            lines.append(
                f"# +kubebuilder:webhookconfiguration:mutating={r.choice(['true', 'false'])},name={quoted(name)}"
            )
        return "\n".join(lines) + "\n"


def quoted(value: str | bool) -> str:
    """A value in the grammar of markers."""
    if isinstance(value, bool):
        return str(value).lower()
    if "`" not in value and ("\\" in value or '"' in value):
        return f"`{value}`"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def make_project(seed: int) -> dict[str, str]:
    """The files of a project, by their paths."""
    maker = Maker(Random(seed), odd=0.25)
    several = maker.rng.random() < 0.15
    versions = ["v1", "v1beta1"] if several else ["v1"]
    files = {f"shop/api/{v}/things_types.py": maker.module(v, several=several) for v in versions}
    if maker.rng.random() < 0.25:
        files["shop/webhooks.py"] = maker.webhooks()
    for path in list(files):
        parts = path.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            files.setdefault("/".join([*parts[:end], "__init__.py"]), "")
    return files


def tamed(files: dict[str, str], places: list[tuple[str, int]]) -> dict[str, str]:
    """The files without what was found wrong at some places: markers, fields with theirs, what stands above a class."""
    found = dict(files)
    for path in {path for path, _ in places}:
        lines = files[path].split("\n")
        gone: set[int] = set()
        for at in sorted({line - 1 for where, line in places if where == path}):
            first = at
            if lines[at].startswith("class ") or not lines[at].lstrip().startswith("#"):
                while lines[first - 1].lstrip().startswith(("#", "@")):
                    first -= 1
            last = at if not lines[at].startswith("class ") else at - 1
            gone.update(range(first, last + 1))
        text = "\n".join(line for number, line in enumerate(lines) if number not in gone)
        found[path] = re.sub(r"^(class \w+\(.*\):\n)(?!    \w)", r"\1    pass\n", text, flags=re.MULTILINE)
    return found
