"""Renders the markers as a page of the reference."""

from __future__ import annotations

from pykb.markers.definition import Argument, MarkerDefinition, ValueKind
from pykb.markers.registry import MarkerRegistry, meaning_of, remarks_of, targets_of

_INTRODUCTION = """\
# Markers

A marker is a comment line that starts with a plus sign. It describes the class, the alias or the annotated attribute
below it, or the whole package:

```python
# +groupName=infra.example.com


class MachineSpec(Struct):
    # +kubebuilder:validation:MaxLength=63
    host: str


# +kubebuilder:resource:shortName=vm
class Machine(CustomResource, group_version=GROUP_VERSION):
    spec: MachineSpec
```

## Where a marker counts

- Directly above a class, an alias (`NewType`, `Annotated`, `type X = ...`) or an annotated attribute, also above or
  between decorators, and in the next comment block above if only blank lines separate the two.
- A block at module level that describes no type belongs to the package. It holds for all modules of the folder, as in
  Go. Its usual places are `__init__.py` and `groupversion.py`.
- `rbac`, `webhook` and `webhookconfiguration` count wherever they stand on a line of their own.
- Anywhere else (at the end of a line of code, inside a function, in a docstring, above a method) a marker is an error.

## How a marker is written

One line, `+name`, `+name=value` or `+name:argument=value,argument=value`. Names and arguments are case-sensitive, and
there are no blanks around the first `=`.

| type | written |
|---|---|
| string | bare (ends at `,` `;` `}`), `"double-quoted"` with escapes, or in back-ticks, where nothing is escaped |
| integer, number | `3`, `-1`, `2.5` |
| boolean | `true`, `false` |
| list | `a;b;c` or `{a, b, c}` |
| map | `{key: value, "other key": 1}` |
| any | one of the above, guessed from its looks: `100Mi` and `2024-01-15` are strings, `3` is an integer |
| JSON | strict JSON up to the end of the line |

Single quotes do not quote. Tags that start with `+k8s:` have a grammar of their own,
`+k8s:name(argument)=value  # comment`; their values may be tags (`+k8s:eachVal=+k8s:maxLength=63`).

Schema markers `+kubebuilder:validation:X` also exist as `+kubebuilder:validation:items:X`, for the elements of a list;
`items:` can be repeated for lists of lists.

`pykb explain +<marker>` shows one of them; `pykb explain markers` lists all.
[A table made by a test](marker-coverage.md) shows the effect of each marker on the manifests, and
the message when it is wrong.
"""


def render(registry: MarkerRegistry) -> str:
    """``docs/reference/markers.md``: every marker by category, with its arguments and an example."""
    out = [_INTRODUCTION.rstrip()]
    categories: dict[str, list[MarkerDefinition]] = {}
    of_elements = {d.base_name: d for d in registry if d.items_depth}
    for definition in registry:
        if not definition.items_depth:
            categories.setdefault(definition.category, []).append(definition)
    for category in sorted(categories, key=lambda c: (c == "Go only", c)):
        out.append(f"\n## {category}\n")
        if category == "Go only":
            out.append("Accepted with a note, so that ported files stay valid. They have no effect.\n")
            out += [f"- `+{d.name}`: {d.summary}" for d in categories[category]]
            out.append("")
            continue
        out += [_section(d, of_elements.get(d.name)) for d in categories[category]]
    return "\n".join(out).rstrip("\n") + "\n"


def _section(definition: MarkerDefinition, of_elements: MarkerDefinition | None) -> str:
    elements = f" For the elements of a list: `+{of_elements.name}`." if of_elements else ""
    lines = [
        f"### `+{definition.name}`\n",
        definition.summary,
        "",
        f"On {targets_of(definition)}{remarks_of(definition)}.{elements}",
    ]
    lines += ["", "```", f"# {definition.example}", "```"]
    if definition.arguments:
        lines += ["", "| argument | type | | |", "|---|---|---|---|"]
        lines += [
            f"| {_argument_name(a)} | {a.type} | {'optional' if a.optional else 'required'} | {meaning_of(a)} |"
            for a in definition.arguments
        ]
    return "\n".join([*lines, ""])


def _argument_name(argument: Argument) -> str:
    if argument.name:
        return f"`{argument.name}`" + (" (in the parentheses)" if argument.positional else "")
    return "a tag after `=`" if argument.type.kind is ValueKind.MARKER else "the value after `=`"
