"""Label selectors."""

import pytest

from pykb.client.selectors import LabelSelector

LABELS = {"app": "web", "tier": "front", "example.com/team": "a"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("app in (web,db)", True),
        ("app in (db)", False),
        ("app notin (db, cache)", True),
        ("missing notin (db)", True),
        ("missing in (db)", False),
        ("app", True),
        ("!app", False),
        ("!missing", True),
        ("example.com/team=a,tier in (front,back),!legacy", True),
        ("example.com/team=a,tier in (back)", False),
        ("app=", False),
    ],
)
def test_the_text_form_means_what_the_api_server_means(text, matches):
    """All requirements of a selector must be met; an absent label meets inequality."""
    assert LabelSelector.parse(text).matches(LABELS) is matches


@pytest.mark.parametrize("text", ["app in web", "=x", "a=b=c", "a b", "a in (x", "a,,b"])
def test_a_text_that_is_no_selector_is_refused(text):
    """A broken selector must not select everything or nothing."""
    with pytest.raises(ValueError, match="is not a valid requirement"):
        LabelSelector.parse(text)


def test_the_structured_form_means_the_same():
    """``matchLabels`` and ``matchExpressions`` are joined by and."""
    selector = LabelSelector.from_wire(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front"]},
                {"key": "legacy", "operator": "DoesNotExist"},
            ],
        }
    )
    assert selector.matches(LABELS)
    assert not selector.matches({"app": "web"})
    assert str(selector) == "app=web,tier=front,!legacy"
    assert LabelSelector.parse(str(selector)) == selector
