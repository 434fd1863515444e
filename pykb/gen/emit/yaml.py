"""Objects as YAML text, byte for byte as controller-gen writes them (go-yaml v2 through sigs.k8s.io/yaml).

The usual document is written by ``block.py``; the rest comes from libyaml, through a dumper that takes its decisions
about quoting from Go's resolver, not PyYAML's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pykb.gen.emit.block import Unusual, write_block
from pykb.gen.emit.go_scalars import float_text, reads_as_string
from pykb.gen.emit.natural_order import sorted_keys

if TYPE_CHECKING:
    from yaml import CSafeDumper

_STRING = "tag:yaml.org,2002:str"
_FLOAT = "tag:yaml.org,2002:float"


def dump_document(obj: Mapping[str, object]) -> str:
    """One document as YAML, without a leading ``---``, ending with a line break.

    Args:
        obj: Plain data: mappings with string keys, lists, strings, booleans, integers, floats, ``None``.

    Raises:
        EnvironmentProblem: PyYAML was built without libyaml, whose folding the bytes depend on.
    """
    try:
        return write_block(obj)
    except Unusual:
        return dump_with_libyaml(obj)


def dump_with_libyaml(obj: Mapping[str, object]) -> str:
    """Any document as YAML: the measure of the faster writer, and its help with what is unusual.

    Raises:
        EnvironmentProblem: PyYAML was built without libyaml, whose folding the bytes depend on.
    """
    import yaml

    text: str = yaml.dump(
        obj,
        Dumper=_dumper(),
        width=80,
        default_flow_style=False,
        allow_unicode=True,
    )
    return text


@cache
def _dumper() -> type[CSafeDumper]:  # noqa: C901 - one class, made when PyYAML is needed
    import yaml

    if not yaml.__with_libyaml__:
        from pykb.diagnostics import EnvironmentProblem
        from pykb.diagnostics.codes.generate import LIBYAML_MISSING

        raise EnvironmentProblem(
            LIBYAML_MISSING.at(
                None,
                "PyYAML is installed without libyaml, which decides how long lines of a manifest are folded",
                help=("install a PyYAML wheel: `python -m pip install --force-reinstall pyyaml`",),
            ),
        )

    class GoYamlDumper(yaml.CSafeDumper):
        """libyaml's emitter with go-yaml v2's choices."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
            return True

        def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
            """The tag that plain text would get; equal to the node's own tag means: no tag, no quotes needed."""
            if kind is not yaml.ScalarNode or implicit == (False, True):
                return super().resolve(kind, value, implicit)  # type: ignore[no-any-return, no-untyped-call]
            if reads_as_string(value):
                return _STRING
            found: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
            # What Go reads as a number and PyYAML as text (1e3) can only come from our own float representer.
            return _FLOAT if found == _STRING else found

        def represent_text(self, text: str) -> yaml.Node:
            style = None
            if "\n" in text:
                style = "|"
            elif not reads_as_string(text) or (not text.isascii() and max(text) > "\uffff"):
                style = '"'
            return yaml.ScalarNode(_STRING, text, style=style)

        def represent_object(self, data: Mapping[str, object]) -> yaml.Node:
            pairs = [(self.represent_text(key), self.represent_data(data[key])) for key in sorted_keys(data)]
            return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=not pairs)

        def represent_array(self, data: Sequence[Any]) -> yaml.Node:
            nodes = [self.represent_data(item) for item in data]
            return yaml.SequenceNode("tag:yaml.org,2002:seq", nodes, flow_style=not nodes)

        def represent_integer(self, data: int) -> yaml.Node:
            # Go reads JSON numbers beyond 64 bits as floats.
            return self.represent_number(data if -(2**63) <= data < 2**64 else float(data))

        def represent_number(self, data: float) -> yaml.Node:
            text = str(data) if type(data) is int else float_text(data)
            tag = "tag:yaml.org,2002:int" if text.lstrip("-").isdecimal() else _FLOAT
            return yaml.ScalarNode(tag, text)

    GoYamlDumper.add_representer(str, GoYamlDumper.represent_text)
    GoYamlDumper.add_representer(int, GoYamlDumper.represent_integer)
    GoYamlDumper.add_representer(float, GoYamlDumper.represent_number)
    GoYamlDumper.add_representer(dict, GoYamlDumper.represent_object)
    for sequence in (list, tuple):
        GoYamlDumper.add_representer(sequence, GoYamlDumper.represent_array)
    return GoYamlDumper
