"""Chooses further histories by what earlier ones have reached.

The plans try each field of a sample alone, with the values that its schema suggests. Code often waits for others: for a
number above a constant, for two fields together. So specs near the constants of the code are tried too, and annotations
that the code looks up. A spec that reaches new lines is changed further, and is explored as the sample is. A fault or a
failing child that reaches new lines is tried with such specs, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice

import orjson

from pykb.diagnostics.codes import explore as codes
from pykb.explore._actors import NO_SUCH
from pykb.explore._constants import Mark, constants_of, marks_of
from pykb.explore._context import Context
from pykb.explore._history import History, Identity, Manifest, Verb
from pykb.explore._lines import Coverage
from pykb.explore._outcome import unfitness
from pykb.explore._plans import PLANS
from pykb.explore._plans.changes import to_and_back, without_way_back
from pykb.explore._plans.pauses import paused
from pykb.explore._variants import AND, leaves, near, schema_of, spread, variants
from pykb.explore._verdicts import Case, Verdict, about

_MOST_NAMED = 96
_MOST_NEAR = 48
"""Specs near constants of the code, each of which differs from the sample in one field: those in a field of the name
that the code compares, and others."""

_MOST_FURTHER = 16
"""Specs that differ from one that reached new lines in another field."""

_MOST_LEARNED = 16
"""Specs that reached new lines and are changed further."""

_MOST_EXPLORED = 4
"""Specs that reached new lines and are explored as samples are."""

_MOST_AROUND = 40
"""Cases of each of these."""

_MOST_MARKS = 4
"""Annotations and labels that the object has for a time."""

_MOST_PAIRED = 4
"""Histories with a fault, or in which children fail, that reached new lines and are tried with other specs."""

_MOST_PAIRS = 6
"""Specs for each of them."""

_BATCH = 8
_MOST_IDLE = 32
"""Specs in a row without a new line, after which no further ones are tried."""

_AROUND = (codes.CRASH, codes.ERROR, codes.HISTORY, codes.LEAK, codes.DRIFT, codes.STALE, codes.LOOP, codes.UNSEEN)
"""What is tried with a spec that reached new lines, the most telling first."""

Spec = tuple[str, Manifest]
"""A manifest, and what is special about it."""


class Search:
    """Chooses cases in batches. What a batch has reached decides on the next one.

    Args:
        context: The sample.
        coverage: What was reached.
        wanted: The codes to look for.
    """

    def __init__(self, context: Context, coverage: Coverage, wanted: Collection[str]) -> None:
        self._context = context
        self._coverage = coverage
        self._wanted = wanted
        self._seen = {_key(context.sample)}
        self._named: deque[Spec] = deque()
        self._specs: deque[Spec] | None = None
        self._learned: dict[bytes, Spec] = {}
        self._followed = 0
        self._around: deque[Iterator[Case]] = deque()
        self._paused: Iterator[Case] = iter(())
        self._named_first: list[Spec] = []
        self._paired = 0
        self._pairs: deque[Iterator[Case]] = deque()
        self._inner: dict[bytes, Context] = {}
        self._trying: list[Case] = []
        self._idle = 0

    def learn(self, history: History, case: Case | None, new: int) -> None:
        """Note how many lines a history was the first one to run."""
        if any(each is case for each in self._trying):
            self._trying = [each for each in self._trying if each is not case]
            self._idle = 0 if new else self._idle + 1
        is_struck = history.fault is not None and self._paired < _MOST_PAIRED
        if new and is_struck and case is not None and case.about is None:
            self._paired += 1
            self._pairs.append(self._with_other_specs(case))
        if new and history.fault is None and len(self._learned) < _MOST_LEARNED:
            for step in reversed(history.steps):
                if step.verb in (Verb.CREATE, Verb.REPLACE) and self._is_other(step.manifest):
                    self._learned.setdefault(_key(step.manifest), (step.note, step.manifest))
                    return

    def batch(self) -> list[Case]:
        """The next cases. None if nothing promises to reach more."""
        if self._specs is None:
            named, others = self._near(self._context.sample)
            self._named_first = named[:_MOST_PAIRS]
            self._named.extend(self._new(spread(named, _MOST_NAMED)))
            self._specs = deque(self._new(spread(others, _MOST_NEAR)))
            self._paused = self._cases_of_marks()
        for spec in list(self._learned.values())[self._followed :]:
            self._follow(spec, self._specs)
        cases = list(islice(self._paused, _BATCH))
        sources = deque([self._next_spec, self._next_around, self._next_pair])
        while len(cases) < _BATCH:
            case = next(filter(None, (source() for source in sources)), None)
            sources.rotate(-1)
            if case is None:
                break
            cases.append(case)
        return cases

    def _is_other(self, manifest: Manifest) -> bool:
        sample = self._context.sample
        return Identity.of(manifest) == Identity.of(sample) and _key(manifest) != _key(sample)

    def _near(self, manifest: Manifest) -> tuple[list[Spec], list[Spec]]:
        """Specs near the constants of the code: those in a field of the name that the code compares, and others."""
        sources = map(self._coverage.source_of, self._coverage.files_run)
        return near(schema_of(self._context.subject.crds, manifest), manifest, constants_of(sources))

    def _cases_of_marks(self) -> Iterator[Case]:
        """The object has an annotation or a label for a time that the code looks up, and does not write itself."""
        files = (self._coverage.files_run, self._coverage.files)  # the others have names for constants
        every = marks_of(*([*map(self._coverage.source_of, each)] for each in files))
        for mark in [mark for mark in every if not self._is_there(mark)][:_MOST_MARKS]:
            yield from (case for case in paused(self._context, mark) if case.code.slug in self._wanted)

    def _is_there(self, mark: Mark) -> bool:
        """Whether the object has it in any case, or as its finalizer."""
        metadata = self._context.base.states[0].get(self._context.own, {}).get("metadata", {})
        return mark.key in {*(metadata.get("finalizers") or ()), *(metadata.get(mark.field) or {})}

    def _new(self, specs: Sequence[Spec]) -> Iterator[Spec]:
        """Those that were not yielded before."""
        for note, manifest in specs:
            if _key(manifest) not in self._seen:
                self._seen.add(_key(manifest))
                yield note, manifest

    def _follow(self, spec: Spec, specs: deque[Spec]) -> None:
        """Change a spec further, and explore it as a sample is, if an operator can come to rest with it."""
        self._followed += 1
        note, manifest = spec
        schema = schema_of(self._context.subject.crds, manifest)
        named, others = self._near(manifest)
        further = spread([*named, *others, *variants(schema, manifest, edges=False)], _MOST_FURTHER)
        specs.extendleft((f"{note}{AND}{more}", other) for more, other in reversed(list(self._new(further))))
        if self._followed <= _MOST_EXPLORED and not _leads_nowhere(manifest):
            context = self._context.with_sample(manifest, note)
            if not unfitness(context.base):
                self._around.append(islice(self._cases(spec, context), _MOST_AROUND))

    def _cases(self, spec: Spec, context: Context) -> Iterator[Case]:
        """Cases of all codes with a spec, one of each after the other."""
        plans = [PLANS[code.slug](context) for code in _AROUND if code.slug in self._wanted]
        if codes.HISTORY.slug in self._wanted:
            yield from to_and_back(self._context, *spec)
        while plans:
            for plan in list(plans):
                case = next(plan, None)
                if case is None:
                    plans.remove(plan)
                else:
                    yield about(case, context)

    def _next_spec(self) -> Case | None:
        if codes.BUG.slug not in self._wanted:
            return None
        if self._named:
            return without_way_back(self._context, *self._named.popleft())
        if not self._specs or self._idle > _MOST_IDLE:
            return None
        case = without_way_back(self._context, *self._specs.popleft())
        self._trying.append(case)
        return case

    def _with_other_specs(self, struck: Case) -> Iterator[Case]:
        """A fault that reached new lines, with specs near the constants of the code, and those that reached others."""
        history, judge = struck.history, struck.judge
        faults = [fault for fault in history.faults if fault.step <= 1]
        if not faults or not isinstance(judge, Verdict) or history.after is not None or history.shards:
            return
        learned = (spec for spec in [*self._learned.values()] if not _leads_nowhere(spec[1]))
        for note, manifest in islice(chain(self._named_first, learned), _MOST_PAIRS):
            key = _key(manifest)
            if key not in self._inner:
                self._inner[key] = self._context.with_sample(manifest, note)
            context = self._inner[key]
            if not unfitness(context.base):
                steps = (context.create,)
                paired = History(steps, faults[0], history.idle, further=tuple(faults[1:]))
                yield Case(struck.code, paired, judge.again(context, steps), hinders=struck.hinders, about=context)

    def _next_around(self) -> Case | None:
        return _next_of(self._around)

    def _next_pair(self) -> Case | None:
        return _next_of(self._pairs)


def _next_of(sources: deque[Iterator[Case]]) -> Case | None:
    """The next case of one source after the other."""
    while sources:
        case = next(sources[0], None)
        if case is not None:
            sources.rotate(-1)
            return case
        sources.popleft()
    return None


def _leads_nowhere(manifest: Manifest) -> bool:
    """Whether no pod becomes ready with a spec. An operator may wait then until somebody puts it right."""
    return any(isinstance(value, str) and value.endswith(NO_SUCH) for _, value in leaves(manifest.get("spec")))


def _key(manifest: Manifest) -> bytes:
    return orjson.dumps(manifest.get("spec"), option=orjson.OPT_SORT_KEYS)
