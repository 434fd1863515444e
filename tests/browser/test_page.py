"""What somebody sees on the page of `pykb dev`, and does with it."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, basket, call, cause, ended, opened, started

HOSTILE = "<script>document.title='taken'</script>"
VIEWS = ("objects", "timeline", "health", "try")
PLACE = {"path": "/home/me/shop/basket controller.py", "line": 31}


FIG = {"kind": "Basket", "metadata": {"name": "fig"}, "spec": {"size": 0, "fruits": ["fig"]}}
DEFAULTED = {
    "before": {"kind": "Basket", "spec": {"size": 1}},
    "after": {"kind": "Basket", "spec": {"size": 1, "color": "red"}},
    "changes": [{"path": "spec.color", "before": None, "after": "red"}],
}
DENIED = {
    "operation": "CREATE",
    "message": "a basket has room",
    "fields": [{"field": "spec.size", "message": "must be positive"}],
    "warnings": ["figs are old"],
    "after": FIG,
}


def writer(identity: str, name: str) -> dict[str, str]:
    """The reconcile that wrote an object."""
    return {"controller": "basket", "request": f"default/{name}", "id": identity}


def show(page: Page, view: str) -> None:
    """Go to a view."""
    page.evaluate("hash => { location.hash = hash }", view)


def fill(site: Site) -> None:
    """Tell the page something of everything."""
    site.tell(
        site.history.add,
        "manager",
        {"at": time.time() - 5, "state": "started", "reason": "", "files": ["a.py"], "crds": [], "took": 0, "log": []},
    )
    bad = [{"type": "Ready", "status": "False", "reason": "NoFruit", "message": "there is no fruit", "since": None}]
    site.tell(site.history.add, "object", basket("apple", ready=True))
    site.tell(
        site.history.add,
        "object",
        basket("apple", kind="ConfigMap", owners=("Basket-apple",)),
    )
    site.tell(site.history.add, "object", basket("pear", ready=False, conditions=bad))
    gone = {"deletingSince": "2026-01-02T03:04:06Z", "finalizers": ["example.com/tree", "foregroundDeletion"]}
    site.tell(site.history.add, "object", basket("plum", **gone))
    change = {"path": "spec.size", "before": 1, "after": 2}
    sent = {
        "method": "PATCH",
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "apple"},
        "subresource": "",
        "changes": [change],
        "dryRun": False,
        "error": "",
        "seconds": 0.004,
        "place": PLACE,
    }
    error = {
        "type": "ValueError",
        "message": "ValueError: there is no fruit",
        "place": PLACE,
        "traceback": "Traceback\n  line",
    }
    log = {"at": time.time(), "level": "warning", "message": "the basket is old"}
    site.send(
        ended("1", "apple", sent=[sent], logs=[log], requeueAfter=3600.0),
        ended(
            "2",
            "pear",
            causes=[cause("pear", writtenBy=writer("1", "apple"), changes=[change])],
            outcome="error",
            error=error,
            failures=3,
            nextTry=900.0,
        ),
        started("3", "plum"),
        call("w1", "apple", type="mutating", path="/mutate-basket", sentBy=writer("1", "apple"), **DEFAULTED),
        call("w4", "kiwi", path="/bug", allowed=False, message="internal error", error=error),
        call("w2", "fig", allowed=False, seconds=2.5, error=error, **DENIED),
    )


def test_a_reconcile_is_seen_and_opened_with_the_keyboard(site: Site, page: Page):
    """From the timeline to the request, its change and the line of code, and on to what woke it, without a mouse."""
    fill(site)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("basket default/pear: ✗ ValueError after 10 ms")).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == "#reconcile/2":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="basket default/pear")).to_be_visible()
    expect(page.get_by_text("ValueError: there is no fruit")).to_be_visible()
    expect(page.get_by_text("failure 3, next try after 15 min")).to_be_visible()
    expect(page.locator("del")).to_have_text("1")
    expect(page.locator("ins")).to_have_text("2")
    link = page.get_by_role("link", name="basket controller.py:31")
    expect(link).to_have_attribute("href", "idea://open?file=/home/me/shop/basket%20controller.py&line=31")
    page.get_by_role("link", name="basket default/apple").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("PATCH ConfigMap default/apple, 4 ms")).to_be_visible()
    expect(page.get_by_text("warning the basket is old")).to_be_visible()


def test_a_call_is_seen_and_opened_with_the_keyboard(site: Site, page: Page):
    """From the timeline to the object before and after, and from a denial to the line of code."""
    fill(site)
    show(page, "timeline")
    link = page.get_by_role("list", name="Last webhook calls").get_by_role("link").first
    link.focus()
    expect(page.locator(".said")).to_have_text(
        "validating webhook, Basket default/fig, CREATE by jane: ✗ denied after 2.5 s: a basket has room"
    )
    page.keyboard.press("Enter")
    expect(page.get_by_text("✗ denied")).to_be_visible()
    expect(page.get_by_text("spec.size: must be positive")).to_be_visible()
    expect(page.get_by_text("figs are old")).to_be_visible()
    expect(page.get_by_role("link", name="basket controller.py:31")).to_be_visible()
    expect(page.get_by_label("Traceback")).to_be_hidden()
    page.get_by_text("Traceback of the denial").click()
    expect(page.get_by_label("Traceback")).to_be_visible()
    assert page.locator("pre.diff").inner_text().split("\n")[:3] == ["kind: Basket", "metadata:", "  name: fig"]
    show(page, "call/w1")
    expect(page.get_by_text("✓ allowed")).to_be_visible()
    expect(page.locator("pre.diff ins")).to_have_text("  color: red")
    page.get_by_role("link", name="basket default/apple", exact=True).click()
    expect(page.get_by_role("heading", name="Webhook calls for its writes")).to_be_visible()
    show(page, "call/w4")
    expect(page.get_by_text("ValueError: there is no fruit")).to_be_visible()
    expect(page.get_by_label("Traceback")).to_be_visible()
    show(page, "object/store.example.com%2Fv1,Basket,default,fig")
    expect(page.get_by_text("✗ denied after 2.5 s")).to_be_visible()


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": 1}, {"a": 1}, [["", "a: 1"]]),
        ({"a": 1, "b": {"c": "x"}}, {"b": {"c": "y"}}, [["-", "a: 1"], ["", "b:"], ["-", "  c: x"], ["+", "  c: y"]]),
        ({"a": [1, {"b": []}]}, {"a": [1]}, [["", "a:"], ["", "  - 1"], ["-", "  -"], ["-", "    b: []"]]),
        ({"a": {"b": 1}}, {"a": None}, [["-", "a:"], ["-", "  b: 1"], ["+", "a: null"]]),
        (None, {"a": {"b": [True]}}, [["", "a:"], ["", "  b:"], ["", "    - true"]]),
    ],
)
def test_objects_are_compared_line_by_line(page: Page, before: Any, after: Any, lines: list[list[str]]):
    """By name and by place in a list."""
    found = page.evaluate(
        "async ([before, after]) => (await import('/static/call.js')).objectLines(before, after)", [before, after]
    )
    assert found == lines


def test_arrows_show_only_what_is_known_to_belong_together(site: Site, page: Page):
    """The drawing reads them from what a test reads here."""
    fill(site)
    show(page, "timeline")
    expect(page.get_by_role("list", name="Last webhook calls").get_by_role("link")).to_have_count(3)
    ask = "async (id) => (await import('/static/timeline.js')).arrowsOf(id).map((pair) => pair.map((each) => each.id))"
    assert page.evaluate(ask, "1") == [["1", "2"], ["1", "w1"]]
    assert page.evaluate(ask, "2") == [["1", "2"]]
    assert page.evaluate(ask, "w1") == [["1", "w1"]]
    assert page.evaluate(ask, "w2") == []
    assert page.evaluate(ask, "nothing") == []


def test_many_conversions_push_out_no_other_calls(site: Site, page: Page):
    """As many of each webhook are kept for an object."""
    site.send(call("w0", "fig", allowed=False))
    site.send(*(call(f"c{number}", "fig", type="conversion", path="/convert") for number in range(250)))
    show(page, "health")
    expect(page.get_by_role("row", name="/convert").get_by_role("cell").first).to_have_text("200")
    expect(page.get_by_role("row", name="/validate-basket").get_by_role("cell").first).to_have_text("1")


def test_what_waits_for_a_worker_is_counted(site: Site, page: Page):
    """By controller, until the manager ends."""
    site.send(ended("1", "apple", queued=8), started("2", "pear", queued=7))
    show(page, "health")
    cells = page.get_by_role("row", name="basket").get_by_role("cell")
    expect(cells).to_have_text(["7", "1", "0", "0", "10 ms", "10 ms"])
    told = {"at": time.time(), "took": 0, "state": "ended", "reason": "", "files": [], "crds": [], "log": []}
    site.tell(site.history.add, "manager", told)
    expect(cells.first).to_have_text("0")


def test_denied_and_slow_calls_are_counted(site: Site, page: Page):
    """By webhook."""
    fill(site)
    site.send(call("w3", "fig", allowed=None, message="not answered in time", seconds=10))
    show(page, "health")
    row = page.get_by_role("row", name="/validate-basket")
    expect(row.get_by_role("cell")).to_have_text(["2", "1", "1", "2", "6.3 s", "10 s"])


def test_objects_are_trees_that_say_what_they_wait_for(site: Site, page: Page):
    """Owners come before what they own, and each says why it is not ready and when it is looked at again."""
    fill(site)
    rows = page.get_by_role("listitem")
    expect(rows).to_have_count(4)
    expect(rows.nth(0)).to_contain_text("Basket default/apple")
    expect(rows.nth(0)).to_contain_text("looked at again in 60 min")
    expect(rows.nth(1)).to_contain_text("ConfigMap default/apple")
    expect(rows.nth(2)).to_contain_text("✗ not ready: NoFruit there is no fruit")
    expect(rows.nth(2)).to_contain_text("failure 3, tried again in")
    expect(rows.nth(3)).to_contain_text(
        re.compile(r"being deleted for \d+ \w+, waits for example.com/tree, the deletion of what it owns")
    )
    expect(rows.nth(3)).to_contain_text("reconciles now")
    site.tell(site.history.add, "gone", {"uid": "Basket-plum"})
    expect(rows).to_have_count(3)
    site.tell(site.history.add, "object", basket("kube-root-ca.crt", kind="ConfigMap", uid="ConfigMap-root"))
    page.get_by_label("Also show objects that the operator has not touched (1)").check()
    expect(rows).to_have_count(4)


def test_a_hot_loop_is_named(site: Site, page: Page):
    """An object whose own write wakes its reconciler is named with the field, one that others change is not."""
    change = {"path": "metadata.annotations.n", "before": "1", "after": "2"}
    own = [cause("apple", writtenBy=writer("0", "apple"), changes=[change])]
    for number in range(30):
        site.send(ended(f"a{number}", "apple", causes=own), ended(f"b{number}", "pear"))
    expect(page.get_by_text("Hot loop: basket default/apple")).to_contain_text(
        "Its own write of metadata.annotations.n"
    )
    expect(page.get_by_text("Hot loop")).to_have_count(1)


DRAWN = """<!doctype html><title>drawn</title><style>p { color: rgb(0, 128, 0) }</style>
<section id="finding-1"><p>process 1 dies</p></section><script>document.title = "script"</script>"""


def test_findings_of_the_explorer_are_named(site: Site, page: Page):
    """A line on top leads to them, each with its command and its picture. The next run replaces them."""
    told = {"at": time.time(), "state": "running", "findings": [], "histories": 0, "unfinished": [], "message": ""}
    told["html"] = ""
    site.tell(site.history.add, "findings", told)
    show(page, "health")
    expect(page.get_by_text("It looks for faults since")).to_be_visible()
    finding = {"code": "explore-crash", "message": HOSTILE, "replay": "crash:apple:2"}
    site.tell(
        site.history.add,
        "findings",
        {
            **told,
            "state": "done",
            "findings": [finding],
            "histories": 12,
            "unfinished": ["explore-crash"],
            "html": DRAWN,
        },
    )
    expect(page.get_by_text("1 finding in 12 histories, and 1 of its codes are not finished")).to_be_visible()
    expect(page.get_by_text(f"explore-crash: {HOSTILE}")).to_be_visible()
    expect(page.get_by_text("pykb explore --replay crash:apple:2")).to_be_visible()
    with page.expect_popup() as opened_page:
        page.get_by_role("link", name="As a picture").click()
    expect(opened_page.value.get_by_text("process 1 dies")).to_have_css("color", "rgb(0, 128, 0)")
    assert opened_page.value.url.endswith("/findings#finding-1")
    assert opened_page.value.title() == "drawn"
    opened_page.value.close()
    show(page, "objects")
    page.set_viewport_size({"width": 1200, "height": 300})
    link = page.get_by_role("status").get_by_role("link", name="Health")
    link.click()
    expect(page.get_by_role("heading", name="The explorer")).to_be_visible()
    link.click()
    assert page.evaluate("scrollY") == 0  # the line on top stays to be seen
    site.tell(site.history.add, "findings", {**told, "state": "failed", "message": "no kinds"})
    expect(page.get_by_text("It could not run: no kinds")).to_be_visible()
    expect(page.get_by_text("The explorer has")).to_have_count(0)


@pytest.mark.parametrize("view", [*VIEWS, "reconcile/1", "call/2", "object/v1,Basket,,x"])
def test_text_of_others_stays_text(site: Site, page: Page, view: str):
    """Names, messages and changes may look like HTML."""
    change = {"path": HOSTILE, "before": HOSTILE, "after": HOSTILE}
    error = {"type": HOSTILE, "message": HOSTILE, "place": {"path": HOSTILE, "line": 1}, "traceback": HOSTILE}
    conditions = [{"type": "Ready", "status": HOSTILE, "reason": HOSTILE, "message": HOSTILE, "since": None}]
    site.tell(site.history.add, "object", basket(HOSTILE, ready=False, conditions=conditions, uid="Basket-x"))
    site.tell(
        site.history.add,
        "manager",
        {
            "at": time.time(),
            "state": "ended",
            "reason": HOSTILE,
            "files": [HOSTILE],
            "crds": [],
            "took": 0,
            "log": [HOSTILE],
        },
    )
    logs = [{"at": 1, "level": HOSTILE, "message": HOSTILE}]
    site.send(
        ended(
            "1",
            HOSTILE,
            controller=HOSTILE,
            causes=[cause(HOSTILE, changes=[change])],
            outcome="error",
            error=error,
            logs=logs,
        ),
        call(
            "2",
            HOSTILE,
            type=HOSTILE,
            path=HOSTILE,
            operation=HOSTILE,
            user=HOSTILE,
            before={HOSTILE: HOSTILE},
            after={HOSTILE: [HOSTILE]},
            changes=[change],
            message=HOSTILE,
            fields=[{"field": HOSTILE, "message": HOSTILE}],
            warnings=[HOSTILE],
            error=error,
            logs=logs,
            sentBy={"id": HOSTILE, "controller": HOSTILE, "request": HOSTILE},
        ),
    )
    (site.samples / "a.yaml").write_text(f'kind: Basket\nmetadata: {{name: "{HOSTILE}"}}\n', encoding="utf-8")
    show(page, view)
    expect(page.locator("body")).to_contain_text(HOSTILE)
    assert page.locator("script").count() == 1
    assert page.title() == "pykb dev"


def test_a_lost_connection_is_shown_and_comes_back(site: Site, page: Page):
    """What happens meanwhile is shown afterwards, once. What another server has not kept goes."""
    site.send(ended("1", "apple"))
    show(page, "timeline")
    entries = page.get_by_role("list", name="Last reconciles").get_by_role("link")
    expect(entries).to_have_count(1)
    site.stop()
    expect(page.get_by_text("The connection to pykb is lost")).to_be_visible()
    site.restart()
    site.send(ended("2", "pear"))
    expect(page.get_by_text("The connection to pykb is lost")).to_be_hidden()
    expect(entries).to_have_count(2)
    site.stop()
    site.restart(anew=True)
    expect(entries).to_have_text(["Apply a sample"])


def test_a_manager_elsewhere_is_named_and_a_lost_one_is_an_alarm(site: Site, page: Page):
    """Until it is connected again. Nothing can be changed."""
    told = {"at": time.time(), "files": [], "crds": [], "took": 0, "log": []}
    about = {"project": "shop", "cluster": "https://example.com", "source": "pod shop-system/a, the leader"}
    site.tell(site.history.add, "about", about)
    expect(page.get_by_text("pod shop-system/a, the leader")).to_be_visible()
    expect(page.get_by_role("link", name="Try it")).to_be_hidden()
    site.tell(site.history.add, "manager", {**told, "state": "lost", "reason": "the connection has ended"})
    expect(page.get_by_label("Problems")).to_have_text("the connection has ended")
    expect(page.get_by_text("connection lost")).to_be_visible()
    site.tell(site.history.add, "manager", {**told, "state": "connected", "reason": "pod shop-system/b"})
    expect(page.get_by_label("Problems")).to_be_empty()


def test_a_reconcile_is_followed_until_it_ends_and_to_the_next(site: Site, page: Page):
    """What is there stays there, so the keyboard keeps its place. An address that was typed wrongly does no harm."""
    show(page, "reconcile/%")
    expect(page.get_by_text("This reconcile is no longer kept.")).to_be_visible()
    site.send(started("1", "apple"))
    show(page, "reconcile/1")
    expect(page.get_by_text("… runs")).to_be_visible()
    back = page.get_by_role("link", name="← Timeline")
    back.focus()
    site.send(ended("1", "apple"))
    expect(page.get_by_text("✓ done")).to_be_visible()
    site.send(ended("2", "apple"))
    expect(page.get_by_role("link", name="Next")).to_be_visible()
    expect(back).to_be_focused()


def test_a_link_that_is_pressed_while_the_list_changes_is_followed(site: Site, page: Page):
    """A list that is made anew between pressing and letting go would lose the click."""
    site.tell(site.history.add, "object", basket("apple"))
    link = page.get_by_role("link", name="Basket default/apple")
    link.hover()
    page.mouse.down()
    site.tell(site.history.add, "object", basket("apple", ready=True, resourceVersion="2"))
    site.tell(site.history.add, "object", basket("zebra", uid="Basket-a"))
    expect(page.get_by_text("✓ ready")).to_be_visible()
    page.mouse.up()
    expect(page.get_by_role("heading", name="Basket default/apple")).to_be_visible()


def test_yaml_is_completed_with_the_keyboard(page: Page):
    """Names and values that fit, required ones first, from an empty text to an object."""
    show(page, "try")
    yaml, options = page.get_by_label("YAML"), page.get_by_role("option")
    yaml.focus()
    keys = page.keyboard
    keys.press("Control+ ")
    expect(options).to_have_count(3)
    keys.press("Enter")
    expect(options).to_contain_text(["store.example.com/v1"])
    keys.press("Enter")
    expect(options).to_have_count(0)
    keys.type("\nki")
    expect(options).to_contain_text(["kind"])
    expect(options.first).to_have_attribute("aria-selected", "true")
    keys.press("Enter")
    expect(options).to_contain_text(["Basket"])
    keys.press("Enter")
    expect(options).to_have_count(0)
    keys.press("Enter")
    keys.press("Control+ ")
    expect(options).to_contain_text(["metadata", "spec"])
    keys.press("ArrowUp")
    expect(yaml).to_have_attribute("aria-activedescendant", "fit1")
    keys.press("Enter")
    expect(options).to_contain_text(["size integer, required", "color", "fruits"])
    expect(page.get_by_text("How much fits into it.")).to_be_visible()
    expect(page.get_by_text("How it looks.")).to_be_hidden()
    keys.press("Escape")
    expect(options).to_have_count(0)
    keys.type("size: 1\nc")
    expect(options).to_have_count(1)
    keys.press("Enter")
    expect(options).to_contain_text(["red", "green"])
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(yaml).to_have_value("apiVersion: store.example.com/v1\nkind: Basket\nspec:\n  size: 1\n  color: green")
    keys.press("Control+z")
    expect(yaml).to_have_value("apiVersion: store.example.com/v1\nkind: Basket\nspec:\n  size: 1\n  color: ")
    keys.press("Control+ ")
    expect(options).to_have_count(2)
    keys.press("ArrowLeft")
    expect(options).to_have_count(0)
    keys.press("Tab")
    expect(yaml).not_to_be_focused()


def test_yaml_is_completed_with_the_mouse(page: Page):
    """The list is at the cursor, and goes when the field is left."""
    show(page, "try")
    yaml, options = page.get_by_label("YAML"), page.get_by_role("option")
    yaml.fill("apiVersion: store.example.com/v1\nkind: Basket\nspec:\n  ")
    page.keyboard.press("Control+ ")
    options.filter(has_text="fruits").click()
    expect(options).to_have_text(["name string"])
    expect(yaml).to_be_focused()
    expect(yaml).to_have_value("apiVersion: store.example.com/v1\nkind: Basket\nspec:\n  fruits:\n    - ")
    page.get_by_role("button", name="Dry run").focus()
    expect(options).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_people_from_using_the_page(site: Site, browser: Browser, axe: str, scheme: Any):
    """The checker axe finds nothing serious in any view, full or empty."""
    with opened(browser, site.url, color_scheme=scheme) as page:
        found: list[tuple[str, str, str]] = []

        def look(view: str) -> None:
            show(page, view)
            page.get_by_role("heading").last.wait_for()
            check(view)

        def check(view: str) -> None:
            result = page.evaluate(f"{axe}; axe.run()")
            found.extend(
                (view, each["id"], each["nodes"][0]["html"])
                for each in result["violations"]
                if each["impact"] in ("serious", "critical")
            )

        for view in VIEWS:
            look(view)
        page.get_by_label("YAML").press("Control+ ")
        page.get_by_role("option").last.wait_for()
        check("completions")
        fill(site)
        for view in (*VIEWS, "reconcile/2", "call/w2", "object/store.example.com%2Fv1,Basket,default,pear"):
            look(view)
        assert found == []


def test_a_phone_needs_no_scrolling_to_the_side(site: Site, browser: Browser):
    """All views fit into 360 pixels."""
    fill(site)
    with opened(browser, site.url, viewport={"width": 360, "height": 700}) as page:
        for view in (*VIEWS, "reconcile/2", "call/w2", "object/store.example.com%2Fv1,Basket,default,pear"):
            show(page, view)
            page.get_by_role("heading").last.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") == 360, view


def test_many_objects_and_records_leave_the_page_answering(site: Site, browser: Browser):
    """With 5000 objects and some hundred records a second, frames are drawn, and only the rows that are seen."""
    for number in range(5000):
        site.tell(site.history.add, "object", basket(f"basket-{number:04}", uid=f"Basket-{number}"))
    with opened(browser, site.url) as page:
        expect(page.get_by_role("listitem").first).to_contain_text("basket-0000")
        assert page.get_by_role("listitem").count() < 60
        count = "() => { window.frames_ = 0; const next = () => { window.frames_ += 1; requestAnimationFrame(next); }; next(); }"
        page.evaluate(count)
        for view in ("objects", "timeline"):
            show(page, view)
            before = page.evaluate("window.frames_")
            for tick in range(50):
                names = [f"basket-{(tick * 20 + number) % 500:04}" for number in range(20)]
                site.send(*(ended(f"{view}-{tick}-{number}", name) for number, name in enumerate(names)))
                page.wait_for_timeout(50)
            frames = page.evaluate("window.frames_") - before
            assert frames > 10
        show(page, "reconcile/timeline-49-19")
        expect(page.get_by_role("heading", name="basket default/basket-0499")).to_be_visible()
        show(page, "objects")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.get_by_role("listitem").last).to_contain_text("basket-4999")
