"""The names in a chart: what depends on the release and its namespace."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pykb.deployment.manifests import Object
from pykb.plugins.helm_v1._template import Template

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
