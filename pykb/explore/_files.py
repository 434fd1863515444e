"""A report as files: a page for people, which needs no network, and JUnit's XML for CI."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from pykb._regular_file import read_text
from pykb.diagnostics import Diagnostic, Span
from pykb.explore._drawing import STYLE, drawing, element
from pykb.explore._outcome import Outcome
from pykb.explore._plans import CODES
from pykb.explore._report import SEARCH, Finding, Report
from pykb.explore._state import Difference

MADE_BY = "<!-- made by `pykb explore` -->"
"""A line of each file, by which a later run knows that it may replace it."""

_LINES_AROUND = 4
_LONGEST_LINE = 200
_MOST_DIFFERENCES = 40

_STYLE = """
:root{color-scheme:light dark;--line:#d1d9e0;--soft:#59636e;--bad:#cf222e;--good:#1a7f37}
body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:0 auto;padding:1rem;color:#1f2328;background:#fff}
pre,code,td.value{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875rem}
pre{overflow-x:auto;padding:.75rem;border:1px solid var(--line);border-radius:.4rem}
table{border-collapse:collapse;margin:1rem 0}th,td{text-align:left;padding:.25rem .75rem;border:1px solid var(--line)}
td.value{white-space:pre-wrap;overflow-wrap:anywhere}
td.number{text-align:right}.bad{color:var(--bad)}.good{color:var(--good)}.soft{color:var(--soft)}
section{border-top:1px solid var(--line);margin-top:2rem}figure{margin:1rem 0;overflow-x:auto}
mark{background:none;color:var(--bad);font-weight:bold}h2,h3{line-height:1.25}h2,li,p{overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){
:root{--line:#3d444d;--soft:#9198a1;--bad:#f85149;--good:#3fb950}body{color:#e6edf3;background:#0d1117}}
"""


def page(report: Report, outcomes: Sequence[Outcome], replays: Sequence[str], root: Path) -> bytes:
    """The page about an exploration, as HTML.

    Args:
        report: What was found.
        outcomes: A run of the history of each finding, in their order.
        replays: The command that runs each history again.
        root: The folder that places are relative to.
    """
    style = _STYLE + STYLE
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    title = _title(report)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element(
            "meta", http_equiv="Content-Security-Policy", content=f"default-src 'none'; style-src 'sha256-{digest}'"
        ),
        element("title", f"pykb explore: {title}"),
        element("style", style),
    )
    found = zip(report.findings, outcomes, replays, strict=True)
    sections = [_section(number, *each, root) for number, each in enumerate(found, start=1)]
    problems = [element("ul", *map(_problem, report.problems))] if report.problems else []
    heading = element("h1", title[:1].upper() + title[1:])
    body = element("body", element("main", heading, *_contents(report), *problems, *_tried(report), *sections))
    html = tostring(element("html", head, body, lang="en"), encoding="unicode", method="html")
    return f"<!doctype html>\n{MADE_BY}\n{html}\n".encode()


def _title(report: Report) -> str:
    count = len(report.findings)
    if count:
        return f"{count} finding{'s' * (count != 1)}"
    is_whole = not (report.unfinished or report.problems)
    return "no findings" if is_whole else "no findings in what was tried"


def _contents(report: Report) -> Iterator[Element]:
    if len(report.findings) > 1:
        links = [
            element("li", element("a", f"{finding.code.slug}: {finding.message}", href=f"#finding-{number}"))
            for number, finding in enumerate(report.findings, start=1)
        ]
        yield element("ol", *links)


def _problem(diagnostic: Diagnostic) -> Element:
    place = f"{_place(diagnostic.span)}: " if diagnostic.span is not None else ""
    return element("li", element("mark", f"{place}{diagnostic.message}"), *(f"; {text}" for text in diagnostic.help))


def _tried(report: Report) -> Iterator[Element]:
    """What was tried, and what was not."""
    total = report.histories.total()
    runs = f"{total} histories in {report.runs} runs."
    yield element("p", runs)
    findings = [finding.code.slug for each in report.findings for finding in (each, *each.others)]
    names = ("code", "histories", "findings", "")
    rows = [element("tr", *(element("th", name, scope="col") for name in names))]
    for slug in (*CODES, SEARCH):
        number, count = report.histories[slug], findings.count(slug)
        state = report.left_of(slug)
        if number or count or state:
            cells = [
                element("td", element("code", slug)),
                *(element("td", str(n), class_="number") for n in (number, count)),
            ]
            rows.append(element("tr", *cells, element("td", state, class_="bad" if state else "soft")))
    yield element("table", *rows)
    if report.left_out:
        yield element("p", f"{report.left_out} other specs of the samples were not tried.")
    if report.refused:
        acts = [element("li", f"{act} ({slug}): {why}") for (slug, act), why in report.refused.items()]
        summary = element("summary", f"Refused by the API server, so not tried: {len(acts)}")
        yield element("details", summary, element("ul", *acts))
    if notes := report.notes():
        texts = [element("li", element("pre", "\n".join([note.message, *note.notes, *note.help]))) for note in notes]
        yield element("details", element("summary", "Notes"), element("ul", *texts))


def _section(number: int, finding: Finding, outcome: Outcome, replay: str, root: Path) -> Element:
    told = finding.to_diagnostic()
    parts = [
        element("h2", f"{number}. ", element("code", finding.code.slug), f" {finding.message}"),
        element("ol", *(element("li", step) for step in finding.steps)),
        element("figure", drawing(outcome, f"History of finding {number}: {'; '.join(finding.steps)}"), tabindex=0),
        *_differences(finding),
        *_code(finding.span, root),
        *(element("p", text) for text in told.help),
        *_others(finding),
        element("p", "Run it again: ", element("code", replay)),
    ]
    return element("section", *parts, id=f"finding-{number}")


def _differences(finding: Finding) -> Iterator[Element]:
    rows = [element("tr", *(element("th", name, scope="col") for name in ("field", "expected", "found")))]
    for each in finding.differences[:_MOST_DIFFERENCES]:
        values = [_value(each, value) for value in (each.expected, each.found)]
        name = f"{each.identity} {each.path}".rstrip()
        cells = [
            element("td", value, class_=f"value {colour}")
            for value, colour in zip(values, ("good", "bad"), strict=True)
        ]
        rows.append(element("tr", element("td", name), *cells))
    if finding.differences:
        yield element("h3", "What differs in the end")
        yield element("table", *rows)
    if (more := len(finding.differences) - _MOST_DIFFERENCES) > 0:
        yield element("p", f"And {more} more.")


def _value(difference: Difference, value: object) -> str:
    if value is None:
        return "(nothing)"
    return difference.shown(value) if difference.path else "(there)"


def _others(finding: Finding) -> Iterator[Element]:
    if finding.others:
        also = [element("li", element("code", other.code.slug), f" {other.message}") for other in finding.others]
        yield element("details", element("summary", f"{len(also)} more with the same cause"), element("ul", *also))


def _place(span: Span) -> str:
    return f"{span.path}:{span.line}"


def _code(span: Span | None, root: Path) -> Iterator[Element]:
    """The line of the user's code, with those around it."""
    if span is None:
        return
    try:
        lines = read_text(root / span.path).split("\n")
    except (OSError, UnicodeDecodeError):
        lines = []
    first = max(span.line - _LINES_AROUND, 1)
    shown = [
        element("mark" if at == span.line else "span", f"{at:>5}  {line[:_LONGEST_LINE]}\n")
        for at, line in enumerate(lines[first - 1 : span.line + _LINES_AROUND - 1], start=first)
    ]
    yield element("h3", element("code", _place(span)))
    if shown:
        yield element("pre", *shown, tabindex=0)


def junit(report: Report) -> bytes:
    """The report as JUnit's XML: a test case for each code, and one for each finding."""
    cases = []
    for slug in (*CODES, SEARCH):
        findings = [finding for finding in report.findings if finding.code.slug == slug]
        number = report.histories[slug]
        if findings:
            cases += [_case(slug, finding.message, _failure(finding.to_diagnostic())) for finding in findings]
        elif left := report.left_of(slug):
            cases.append(_case(slug, f"{number} histories", element("skipped", message=left)))
        elif number:
            cases.append(_case(slug, f"{number} histories"))
    cases += [_case(problem.code.slug, problem.message, _failure(problem)) for problem in report.problems]
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    counts = {"tests": len(cases), "failures": failures, "skipped": skipped, "errors": 0}
    suite = element("testsuite", *cases, name="pykb explore", **counts)
    xml = tostring(element("testsuites", suite), encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{MADE_BY}\n{xml}\n'.encode()


def _case(slug: str, name: str, *parts: Element) -> Element:
    return element("testcase", *parts, classname=slug, name=name)


def _failure(diagnostic: Diagnostic) -> Element:
    where = f"{_place(diagnostic.span)}\n" if diagnostic.span is not None else ""
    return element("failure", where + "\n".join([*diagnostic.notes, *diagnostic.help]), message=diagnostic.message)
