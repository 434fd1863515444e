"""What an earlier version of the operator left: the objects with which a history of today's one begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pykb.client.codec import gvk_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore._history import History, Identity, Manifest, Takeover
from pykb.explore._outcome import Change, Moment
from pykb.explore._state import read
from pykb.fake import FakeApiServer
from pykb.meta.gvk import GroupVersion

_DEFINITION = "CustomResourceDefinition"
"""Those of today are installed before today's operator starts."""


@dataclass(frozen=True, slots=True)
class Record:
    """One run of the earlier operator.

    Attributes:
        moments: When it can be stopped. The last one is at rest.
        changes: What happened, to find out where values of chance come from.
    """

    moments: tuple[Moment, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Life:
    """What the earlier operator made of a sample.

    Attributes:
        sample: The sample of then.
        records: The same run, with several choices of random values.
    """

    sample: Manifest
    records: tuple[Record, ...]


Play = Callable[[Sequence[Manifest]], Sequence[Life | None]]
"""Runs the earlier operator for other samples; ``None`` for one that it refuses."""


def name_of(identity: Identity) -> str:
    """Names the sample of a life."""
    return f"{identity.api_version}/{identity.kind}/{identity.namespace}/{identity.name}"


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier version of the operator.

    Attributes:
        name: Its revision.
        lives: What it made of each sample, by its identity as a text: a sample can have several versions.
        crds: Its CustomResourceDefinitions.
        is_recorded: Whether a cluster has recorded the objects, in which other controllers and people acted, too.
        play: Runs it for smaller samples. Without it, there are none.
        smaller: What it made of those.
    """

    name: str
    lives: Mapping[str, Life]
    crds: Sequence[Manifest] = ()
    is_recorded: bool = False
    play: Play | None = None
    smaller: dict[str, Life | None] = field(default_factory=dict)

    @property
    def before(self) -> str:
        """What happened before today's operator took over, for people."""
        return f"taking over the objects of {self.name}" if self.is_recorded else f"the upgrade from {self.name}"

    def life_of(self, sample: Manifest) -> Life | None:
        """What it made of a sample, or of one in another version.

        Returns:
            ``None`` if it did not know the kind, or refused the sample.
        """
        identity = Identity.of(sample)
        alike = (life for life in self.lives.values() if Identity.of(life.sample).key == identity.key)
        return self.lives.get(name_of(identity)) or next(alike, None)

    def life_before(self, start: Takeover) -> Life:
        """What it made of the sample with which a history begins.

        Raises:
            EnvironmentProblem: It is not known.
        """
        life = self.life_at(start)
        if life is None:
            raise lacks_beginning(start)
        return life

    def life_at(self, start: Takeover) -> Life | None:
        """What it made of the sample with which a history begins, if that is known and was not refused."""
        return self.lives.get(start.sample) if start.smaller is None else self.smaller.get(_text_of(start.smaller))

    def beginning(self, start: Takeover, chance: int) -> tuple[Moment, Sequence[Change]]:
        """The beginning of a history, and the changes before it.

        Raises:
            EnvironmentProblem: There was no such moment.
        """
        life = self.life_before(start)
        record = life.records[chance % len(life.records)]
        for moment in record.moments:
            if moment.write == start.write:
                return moment, record.changes[: moment.changes]
        raise lacks_beginning(start)

    def learn(self, histories: Iterable[History]) -> None:
        """Run it for the smaller samples with which histories begin, unless it has run for them.

        Raises:
            EnvironmentProblem: It cannot be run.
        """
        wanted = [each.after.smaller for each in histories if each.after is not None and each.after.smaller is not None]
        new = {text: sample for sample in wanted if (text := _text_of(sample)) not in self.smaller}
        if new and self.play is not None:
            self.smaller.update(zip(new, self.play(list(new.values())), strict=True))

    def hear(self, life: Life) -> None:
        """Learn what another process knows of a smaller sample."""
        self.smaller[_text_of(life.sample)] = life


def _text_of(sample: Manifest) -> str:
    return json.dumps(sample, sort_keys=True)


def lacks_beginning(start: Takeover) -> EnvironmentProblem:
    """The error for a history that begins with what is not known."""
    if start.is_recorded:
        message = f"this history begins with the objects of {start.name}"
        return NOT_EXPLORED.problem(message, "explore with the options of then: `--from-cluster` or `--from-objects`")
    helps = (f"explore with `--from {start.name}`, and with the samples of then",)
    return NOT_EXPLORED.problem(f"this history begins with what {start.name} made", *helps)


async def begin_with(server: FakeApiServer, moment: Moment, crds: Sequence[Manifest]) -> None:
    """Put the objects of a moment into a server that has today's definitions.

    Args:
        server: The server.
        moment: The moment.
        crds: The definitions of then. A kind that is no longer defined keeps its definition, as in a cluster.
    """
    for crd in crds:
        version = GroupVersion(crd["spec"]["group"], crd["spec"]["versions"][0]["name"])
        if not server.resources.plural_of(version.with_kind(crd["spec"]["names"]["kind"])):
            server.resources.add_definition(crd)
    for content in moment.objects:
        obj = read(content)
        gvk = gvk_of(obj)
        key = (gvk.group, server.resources.plural_of(gvk))
        if obj["kind"] != _DEFINITION:
            await server.storage.put(key, obj)
