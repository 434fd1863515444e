"""Draws a history as a sequence diagram, from what was noted in its run: who did what, in order, and what went wrong.

Elements are made by :func:`element` only, which quotes what is foreign in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from xml.etree.ElementTree import Element

from pykb.diagnostics.render import visible
from pykb.explore._history import FaultKind, Step
from pykb.explore._outcome import Change, Outcome
from pykb.explore._report import act, done, told

SOMEBODY, SERVER, CONTROLLERS = "somebody", "API server", "controllers"

_MOST_ROWS = 60
"""Rows of a drawing. Of a longer history, those in the middle are left out."""

_LONGEST_LABEL = 64
"""Characters that fit between the lanes of a process and of the API server."""

_ROW, _TOP, _SOMEBODY_AT, _PROCESS_AT, _NEXT_PROCESS, _SERVER_AFTER, _CONTROLLERS_AFTER = 34, 56, 90, 200, 90, 490, 160
_MARGIN = 70

STYLE = """
.drawing{color:#1f2328;background:#fff;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.drawing text{fill:currentColor}.drawing line,.drawing path{stroke:currentColor;stroke-width:1.3;fill:none}
.drawing .life{color:#9198a1;stroke-dasharray:3 4}.drawing .lost{stroke-dasharray:5 4}
.drawing .time,.drawing .read{color:#59636e}.drawing .act{color:#0969da}.drawing .others{color:#6639ba}
.drawing .wrong{color:#cf222e}
@media (prefers-color-scheme:dark){
.drawing{color:#e6edf3;background:#0d1117}.drawing .time,.drawing .read{color:#9198a1}
.drawing .act{color:#4493f8}.drawing .others{color:#ab7df8}.drawing .wrong{color:#f85149}}
"""
"""How a drawing looks. Its page may have it, or the drawing itself."""


def element(tag: str, *content: Element | str, **attributes: object) -> Element:
    """An element of a page or a drawing. Texts may be foreign. An underscore in a name of an attribute is a hyphen.

    >>> from xml.etree.ElementTree import tostring
    >>> tostring(element("p", "<script>", element("b", "x"), class_="a"))
    b'<p class="a">&lt;script&gt;<b>x</b></p>'
    """
    made = Element(tag, {name.rstrip("_").replace("_", "-"): _plain(value) for name, value in attributes.items()})
    last: Element | None = None
    for part in content:
        if isinstance(part, Element):
            made.append(part)
            last = part
        elif last is None:
            made.text = (made.text or "") + _plain(part)
        else:
            last.tail = (last.tail or "") + _plain(part)
    return made


def _plain(value: object) -> str:
    """A text without what controls a terminal, changes the direction of text, or is half of a character."""
    return visible(str(value)).encode(errors="backslashreplace").decode()


class Mark(StrEnum):
    """What a row is."""

    ACT = "act"
    READ = "read"
    WRITE = "write"
    OTHERS = "others"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened.

    Attributes:
        at: When, in virtual seconds since the history began.
        lane: Who did it: ``SOMEBODY``, ``CONTROLLERS``, or the number of the operator's process, from 1.
        text: What.
        mark: What kind of thing it is.
        reaches: Whether the API server got it. ``None``: it concerns the process only.
        is_last: Whether the process ends here.
    """

    at: float
    lane: str | int
    text: str
    mark: Mark
    reaches: bool | None = True
    is_last: bool = False


def rows_of(outcome: Outcome) -> list[Row]:
    """What happened in a run, in order. Successive reads of a process are one row."""
    start = min(outcome.began, default=0.0)
    every = [*_acts(outcome), *_requests(outcome), *_others(outcome), *_errors(outcome)]
    every.sort(key=lambda row: row.at)
    joined: list[Row] = []
    for (_, is_read), group in groupby(every, key=lambda row: (row.lane, row.mark is Mark.READ)):
        some = list(group)
        joined += [replace(some[0], text=_together(some))] if is_read else some
    return list(_folded([replace(row, at=max(0.0, row.at - start)) for row in joined]))


def _folded(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield what comes again and again once, as a reconcile that fails and is tried again."""
    seen = [(row.lane, row.text, row.mark) for row in rows]
    at = 0
    while at < len(rows):
        length, times = max(((length, _times(seen, at, length)) for length in _CYCLES), key=lambda found: found[1])
        yield from rows[at : at + length]
        at += length * times
        if times > 1:
            until, what = rows[at - 1], "this" if length == 1 else f"these {length}"
            text = f"{what} again: {times - 1} more time{'s' * (times > 2)}"
            yield Row(until.at, until.lane, text, Mark.READ, reaches=None)


_CYCLES = (1, 2, 3, 4)
"""How many rows may come again together."""


def _times(seen: Sequence[object], at: int, length: int) -> int:
    """How often the next rows come in a row."""
    cycle = seen[at : at + length]
    times = 1
    while len(cycle) == length and seen[at + times * length : at + (times + 1) * length] == cycle:
        times += 1
    return times


def _together(reads: Sequence[Row]) -> str:
    texts = list(dict.fromkeys(row.text for row in reads))
    return texts[0] if len(texts) == 1 else f"{texts[0]}, and {len(texts) - 1} more"


def _acts(outcome: Outcome) -> Iterator[Row]:
    """What somebody did."""
    history = outcome.history
    steps: tuple[Step, ...] = history.steps if history is not None else ()
    refused = [step for step, _ in outcome.refused]
    times = iter(outcome.began)
    for step in steps:
        after = next((sent.at for sent in outcome.sent if sent.write and sent.write == step.after_write), None)
        at = next(times, None) if step.after_write is None else after
        if at is not None:
            text = told(step, outcome).removeprefix("Somebody ").partition(", right after")[0]
            is_refused = step in refused
            text = f"{text}: refused" if is_refused else text
            yield Row(at, SOMEBODY, text, Mark.WRONG if is_refused else Mark.ACT)


def _requests(outcome: Outcome) -> Iterator[Row]:
    """What the processes of the operator sent, and what went wrong with it."""
    faults = {id(sent): fault for fault, sent in outcome.struck.items()}
    for sent in outcome.sent:
        fault = faults.get(id(sent))
        if not sent.number or (sent.is_note and fault is None):
            continue
        text = act(sent)
        match fault.kind if fault is not None else None:
            case FaultKind.CRASH_BEFORE:
                yield Row(sent.at, sent.process, f"dies just before it {text}", Mark.WRONG, reaches=False, is_last=True)
            case FaultKind.CRASH_AFTER:
                yield Row(sent.at, sent.process, text, Mark.WRITE)
                yield Row(sent.at, sent.process, "dies right after it", Mark.WRONG, reaches=None, is_last=True)
            case FaultKind.OVERTAKEN:
                late = f"arrives {fault.seconds:g} s late, while another one leads" if fault is not None else ""
                yield Row(sent.at, sent.process, f"{text}: {late}", Mark.WRONG, reaches=False, is_last=True)
            case FaultKind.JOIN:
                yield Row(sent.at, sent.process, f"{text}: another replica comes before the answer", Mark.WRONG)
            case FaultKind.LEAVE:
                yield Row(sent.at, sent.process, f"{text}: is stopped before the answer", Mark.WRONG, is_last=True)
            case FaultKind.LOSE_ANSWER:
                yield Row(sent.at, sent.process, f"{text}: the answer is lost", Mark.WRONG)
            case FaultKind.REFUSE:
                answer = fault.status if fault is not None and fault.status else "a broken connection"
                yield Row(sent.at, sent.process, f"{text}: {answer}", Mark.WRONG, reaches=False)
            case _:
                mark = Mark.WRONG if sent.status >= 400 and sent.write else Mark.WRITE if sent.write else Mark.READ
                yield Row(sent.at, sent.process, f"{text}: {sent.status}" if mark is Mark.WRONG else text, mark)


def _others(outcome: Outcome) -> Iterator[Row]:
    """What Kubernetes' own controllers and those of the user changed."""
    began = {round(at, 6) for at in outcome.began}
    before: Change | None = None
    for change in outcome.changes:
        is_again = before is not None and (before.identity, before.at) == (change.identity, change.at)
        if change.by is None and round(change.at, 6) not in began and not change.identity.is_record and not is_again:
            yield Row(change.at, CONTROLLERS, f"{change.identity} {done(change)}", Mark.OTHERS)
        before = change


def _errors(outcome: Outcome) -> Iterator[Row]:
    """Reconciles and handlers that failed."""
    for failure in outcome.failures:
        processes = [sent.process for sent in outcome.sent if sent.at <= failure.at]
        text = f"{failure.kind}: {failure.message}"
        yield Row(failure.at, max(processes, default=1), text, Mark.WRONG, reaches=None)


def drawing(outcome: Outcome, title: str) -> Element:
    """The sequence diagram of a run, as SVG.

    Args:
        outcome: What was noted in it.
        title: What the history is about, for those who do not see it.
    """
    rows = rows_of(outcome)
    left_out = len(rows) - _MOST_ROWS
    if left_out > 0:
        middle = Row(rows[_MOST_ROWS // 2].at, "", f"{left_out} more", Mark.READ, reaches=None)
        rows = [*rows[: _MOST_ROWS // 2], middle, *rows[-(_MOST_ROWS // 2) :]]
    processes = sorted({row.lane for row in rows if isinstance(row.lane, int)}) or [1]
    lanes: dict[str | int, int] = {SOMEBODY: _SOMEBODY_AT + _MARGIN}
    lanes |= {number: _PROCESS_AT + _MARGIN + at * _NEXT_PROCESS for at, number in enumerate(processes)}
    lanes[SERVER] = lanes[processes[-1]] + _SERVER_AFTER
    lanes[CONTROLLERS] = lanes[SERVER] + _CONTROLLERS_AFTER
    height = _TOP + _ROW * (len(rows) + 1)
    parts = [element("title", title), *_heads(lanes, height)]
    for number, row in enumerate(rows, start=1):
        parts += _drawn(row, lanes, _TOP + _ROW * number)
    width = lanes[CONTROLLERS] + _MARGIN
    svg = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    return element("svg", *parts, xmlns="http://www.w3.org/2000/svg", role="img", class_="drawing", **svg)


def _heads(lanes: dict[str | int, int], height: int) -> Iterator[Element]:
    for lane, x in lanes.items():
        name = f"process {lane}" if isinstance(lane, int) else lane
        yield element("text", name, x=x, y=24, text_anchor="middle", font_weight="bold")
        yield element("line", x1=x, y1=34, x2=x, y2=height - 8, class_="life")


def _drawn(row: Row, lanes: dict[str | int, int], y: int) -> Iterable[Element]:
    time = element("text", f"{row.at:.1f} s" if row.at < 100 else f"{row.at:.0f} s", x=8, y=y, class_="time")
    x = lanes.get(row.lane, lanes[SOMEBODY])
    short = row.text if len(row.text) <= _LONGEST_LABEL else f"{row.text[: _LONGEST_LABEL - 1]}…"
    of_others = row.lane == CONTROLLERS
    label = element(
        "text",
        element("title", row.text),
        short,
        x=x - 8 if of_others else x + 8,
        y=y - 5,
        text_anchor="end" if of_others else "start",
        class_=row.mark.value,
    )
    parts = [time, label]
    if row.reaches is not None:
        end = lanes[SERVER] if row.reaches else (x + lanes[SERVER]) // 2
        tip = -6 if end > x else 6
        parts.append(element("line", x1=x, y1=y, x2=end, y2=y, class_=f"{row.mark} {'' if row.reaches else 'lost'}"))
        head = f"M{end + tip},{y - 4}L{end},{y}L{end + tip},{y + 4}" if row.reaches else _cross(end, y)
        parts.append(element("path", d=head, class_=row.mark.value))
    if row.is_last:
        parts.append(element("path", d=_cross(x, y + 4), class_="wrong"))
    elif row.reaches is None and row.lane in lanes:
        parts.append(element("path", d=f"M{x - 4},{y - 8}h8v8h-8z", class_=row.mark.value))
    return parts


def _cross(x: int, y: int) -> str:
    return f"M{x - 5},{y - 5}l10,10m-10,0l10,-10"
