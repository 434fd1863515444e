"""Objects as Helm templates: YAML with expressions of Go's templates in it, and names that depend on the release.

An expression is not YAML. So objects hold a plain word in its place, and the word is replaced in the written text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykb.deployment.manifests import Object
from pykb.gen.emit.yaml import dump_document

_INDENT = re.compile(r"<indent\+(\d)>")

_WORD = re.compile(r"helm-expression-\d+-")
_LINE = re.compile(r"(?P<blanks> *)(?P<dash>- )?(?P<key>[^ ]+: )?(?P<word>helm-expression-\d+-)")


class Template:
    """Makes one file of a chart."""

    def __init__(self) -> None:
        self._inline: dict[str, str] = {}
        self._blocks: dict[str, tuple[str, ...]] = {}

    def inline(self, expression: str) -> str:
        """A word that becomes an expression, alone or inside of a text."""
        word = self._word()
        self._inline[word] = expression
        return word

    def block(self, *lines: str) -> str:
        """A word that becomes several lines. It stands alone for a value, whose key it replaces, or for an item.

        In a line, ``<indent+2>`` is the number of columns to the left of the block, and two more.
        """
        word = self._word()
        self._blocks[word] = lines
        return word

    def text(self, obj: Mapping[str, object]) -> str:
        """The template of an object. What looks like an expression in the object stays text."""
        lines = (written for line in _literal(obj) for written in self._written(line))
        return "".join(f"{line}\n" for line in lines)

    @staticmethod
    def nested(key: str, value: object) -> list[str]:
        """The lines of a key and its value, for a block."""
        return _literal({key: value})

    def _word(self) -> str:
        return f"helm-expression-{len(self._inline) + len(self._blocks)}-"

    def _written(self, line: str) -> Sequence[str]:
        match = _LINE.fullmatch(line)
        if match is None or match["word"] not in self._blocks:
            return [_WORD.sub(lambda word: self._inline[word[0]], line)]
        dash = (match["dash"] or "") if match["key"] else ""  # an item that is a block has its own dashes
        column = len(match["blanks"]) + len(dash)
        lines = [each for block in self._blocks[match["word"]] for each in self._written(block)]
        first, *rest = (_INDENT.sub(lambda match: str(column + int(match[1])), each) for each in lines)
        return [f"{match['blanks']}{dash}{first}", *(f"{' ' * column}{each}" for each in rest)]


def _literal(obj: Mapping[str, object]) -> list[str]:
    return dump_document(obj).replace("{{", "{{ `{{` }}").splitlines()


LONGEST = 63


@dataclass(frozen=True, slots=True)
class Names:
    """Replaces the names of a project's objects, and their namespace, in every text of an object.

    Attributes:
        chart: The name of the chart.
        namespace: The namespace of config/default.
        prefix: The prefix of the names.
        own: The names of the objects, and of the Secrets that their certificates are kept in.
    """

    chart: str
    namespace: str
    prefix: str
    own: frozenset[str]

    @classmethod
    def of(cls, chart: str, namespace: str, prefix: str, objects: Iterable[Object]) -> Names:
        """The names of these objects."""
        named = [each for each in objects if each["kind"] not in {"CustomResourceDefinition", "Namespace"}]
        secrets = [each["spec"]["secretName"] for each in named if each["kind"] == "Certificate"]
        return cls(chart, namespace, prefix, frozenset({*(each["metadata"]["name"] for each in named), *secrets}))

    @property
    def room(self) -> int:
        """How long the prefix of a release may be, so that every name is a DNS label."""
        return LONGEST - max((len(self.rest(name)) + 1 for name in self.own), default=0)

    def rest(self, name: str) -> str:
        """A name without the prefix of the project."""
        return name.removeprefix(self.prefix)

    def helper(self, name: str) -> str:
        """The expression of a helper of the chart."""
        return f'{{{{ include "{self.chart}.{name}" $ }}}}'

    def replaced(self, value: Any, template: Template) -> Any:
        """A value whose texts have expressions for names and namespace."""
        if isinstance(value, dict):
            return {key: self.replaced(each, template) for key, each in value.items()}
        if isinstance(value, list):
            return [self.replaced(each, template) for each in value]
        if not isinstance(value, str):
            return value
        known = sorted({*self.own, self.namespace} - {""}, key=len, reverse=True)
        whole = rf"(?<![A-Za-z0-9-])(?:{'|'.join(map(re.escape, known))})(?![A-Za-z0-9-])"
        return re.sub(whole, lambda found: self._written(found[0], template), value) if known else value

    def _written(self, name: str, template: Template) -> str:
        """A name with an expression. What follows the prefix stays text, which tells what the object is for."""
        if name not in self.own:
            return template.inline("{{ $.Release.Namespace }}")
        return f"{template.inline(self.helper('fullname'))}-{self.rest(name)}"
