"""The report as files: each finding is a picture of what was noted in its run, and nothing foreign gets out of quotes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

from pykb.diagnostics.codes import explore as codes
from pykb.explore import Explorer, Report, junit
from pykb.explore._drawing import CONTROLLERS, SOMEBODY, Mark, Row, drawing, rows_of
from pykb.explore._runner import Runner
from pykb.runtime import Manager, Reconciler
from tests.explorer.zoo.crashes import StatusBeforeChild
from tests.explorer.zoo.kinds import subject_of
from tests.explorer.zoo.passwords import KeepsSecret

HOSTILE = "<script>alert(1)</script>\x1b\u202e"


def explorer_of(operator: type[Reconciler], only: str) -> Explorer:
    """The explorer of an operator of the zoo."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(subject_of(register), only=[only])


def page_of(explorer: Explorer) -> tuple[Report, str]:
    """What is found, and the page about it."""
    report = explorer.run()
    replays = [f"pykb explore --replay {number}" for number in range(len(report.findings))]
    return report, explorer.page(report, replays).decode()


@pytest.fixture(scope="module")
def crashed() -> tuple[Report, str]:
    """An operator that writes its status before the child."""
    return page_of(explorer_of(StatusBeforeChild, "explore-crash"))


def test_the_page_tells_the_finding(crashed):
    """The story, what differs, the line of the code, the remedy, and how to run it again."""
    report, page = crashed
    [finding] = report.findings
    assert "<h1>1 finding</h1>" in page
    for step in finding.story:
        assert f"<li>{step}</li>" in page
    line = Path(__file__).with_name("zoo").joinpath(finding.span.path).read_text().splitlines()[finding.span.line - 1]
    assert f"<mark>{finding.span.line:>5}  {line}\n</mark>" in page
    assert codes.ADVICE["explore-crash"] in page
    assert "pykb explore --replay 0" in page
    assert 'explore-crash</code></td><td class="number">' in page


def test_the_picture_has_a_lane_for_each_process(crashed):
    """The first one dies at the marked request, and the next one goes on from what is there."""
    _, page = crashed
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert re.findall(r">(somebody|process \d|API server|controllers)<", svg) == [
        "somebody",
        "process 1",
        "process 2",
        "API server",
        "controllers",
    ]
    assert re.search(r'class="wrong"><title>dies right after it</title>', svg)


def test_nothing_foreign_gets_out_of_its_quotes(crashed):
    """Markup is text wherever it comes from, and the page runs nothing and asks nobody even if it were not."""
    report, _ = crashed
    [finding] = report.findings
    differs = replace(finding.differences[0], path=f"data.{HOSTILE}", expected=HOSTILE, found=HOSTILE)
    hostile = replace(finding, message=HOSTILE, story=(HOSTILE, HOSTILE), differences=(differs,), others=(finding,))
    refused = {("explore-drift", HOSTILE): HOSTILE}
    explorer = explorer_of(StatusBeforeChild, "explore-crash")
    page = explorer.page(replace(report, findings=[hostile], refused=refused), [HOSTILE]).decode()
    assert page.count("alert(1)") > 8
    assert "<script" not in page
    assert not set("\x1b\u202e") & set(page)
    assert "default-src 'none'; style-src 'sha256-" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "alert(1)" in suite_of(replace(report, findings=[hostile])).find("testcase/failure").attrib["message"]


def test_contents_of_secrets_are_not_in_the_page():
    """They are hidden in the differences, as in messages."""
    report, page = page_of(explorer_of(KeepsSecret, KeepsSecret.fault))
    secret = [each for finding in report.findings for each in finding.differences if each.identity.is_secret]
    contents = {str(value) for each in secret for value in (each.expected, each.found) if each.path.startswith("data")}
    assert contents
    assert not [text for text in contents if text in page]


def outcome_of(explorer: Explorer, report: Report):
    """The run of the first finding's history."""
    history = report.findings[0].history
    with Runner(explorer._subject, 0, [history]) as runner:
        outcome = runner.run(history)
    outcome.history = history
    return outcome


def test_rows_are_in_order_and_name_who_did_it():
    """Somebody, the process that dies, the one after it, and the controllers."""
    explorer = explorer_of(StatusBeforeChild, "explore-crash")
    rows = rows_of(outcome_of(explorer, explorer.run()))
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert rows[0] == Row(0.0, SOMEBODY, "creates Animal kiki", Mark.ACT)
    [death] = [row for row in rows if row.is_last]
    assert (death.lane, death.text, death.mark) == (1, "dies right after it", Mark.WRONG)
    assert {row.lane for row in rows if row.at > death.at} <= {2, SOMEBODY, CONTROLLERS}


def test_what_comes_again_and_again_is_drawn_once():
    """A reconcile that fails for hours is a few rows, and a drawing has a bound."""
    from pykb.explore._outcome import Failure, Outcome

    failures = [Failure("KeyError", "'x'", None, float(at), is_bug=True) for at in range(500)]
    rows = rows_of(Outcome(failures=failures))
    assert [row.text for row in rows] == ["KeyError: 'x'", "this again: 499 more times"]
    others = [replace(failure, message=str(number)) for number, failure in enumerate(failures)]
    svg = drawing(Outcome(failures=others), "t")
    assert "440 more" in "".join(svg.itertext())
    assert len(svg.findall("text")) < 150


def suite_of(report: Report) -> Element:
    """The test suite in the XML."""
    suite = fromstring(junit(report)).find("testsuite")
    assert suite is not None
    return suite


def test_junit_has_a_case_for_each_code_and_finding(crashed):
    """CI shows the finding as a failure with its story, and what was not finished as skipped."""
    report, _ = crashed
    suite = suite_of(report)
    assert suite.attrib["failures"] == "1"
    failure = suite.find("testcase[@classname='explore-crash']/failure")
    assert failure is not None
    assert failure.attrib["message"] == report.findings[0].message
    assert "Everything comes to rest" in (failure.text or "")
    started = replace(report, findings=[], unfinished=["explore-crash", "explore-leak", "search"])
    cases = suite_of(started).findall("testcase")
    assert [case.find("skipped") is not None for case in cases] == [True, True, True]
    assert suite_of(Report()).attrib["tests"] == "0"
