"""The fixes of findings about markers: only where one text is possible, and then the text that was meant."""

from __future__ import annotations

import random

import pytest

from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.markers._reader import MarkerReader
from pykb.markers.collect import collect
from pykb.markers.definition import MarkerTarget
from pykb.markers.model import MarkerComment, Place
from pykb.markers.registry import builtin_registry

REGISTRY = builtin_registry()
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def read(text: str, *targets: MarkerTarget) -> list[Diagnostic]:
    """The findings about a marker on a declaration."""
    found = Diagnostics()
    MarkerReader(REGISTRY, found).read(MarkerComment(text, "x.py", 1, 3), Place(targets or tuple(MarkerTarget)))
    return list(found)


def fixed(text: str) -> str:
    """A marker after all its fixes, applied as often as there are some."""
    comment = MarkerComment(text, "x.py", 1, 3)
    while fix := next((each.fix for each in read(comment.text) if each.fix), ()):
        comment = comment.edited(fix)
    return comment.text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("+kubebuilder:validation:MinLenght=3", "+kubebuilder:validation:MinLength=3"),
        ("+kubebuilder:validation:minlength=3", "+kubebuilder:validation:MinLength=3"),
        ("+kubebulder:validation:MinLength=3", "+kubebuilder:validation:MinLength=3"),
        ("+kubebuilder:validation:items:Patern=a", "+kubebuilder:validation:items:Pattern=a"),
        ("+kubebuilder:rbca:groups=apps,resources=a,verbs=get", "+kubebuilder:rbac:groups=apps,resources=a,verbs=get"),
        ("+kubebuilder:resource:scop=cluster,shortname=x", "+kubebuilder:resource:scope=Cluster,shortName=x"),
        ("+kubebuilder:validation:MinLength = 3", "+kubebuilder:validation:MinLength=3"),
        ("+kubebuilder:validation:minLength 3", "+kubebuilder:validation:MinLength=3"),
        ("+optional:", "+optional"),
        ("+kubebuilder:printcolumn:name='A',type=intger,JSONPath=`.b`", None),
        ("+optional=true", "+optional"),
        ("+listtype=Map", "+listType=map"),
        ("+k8s:eachVal=+k8s:minLenght=1", "+k8s:eachVal=+k8s:minLength=1"),
    ],
)
def test_what_can_have_only_one_meaning_is_fixed(text: str, wanted: str | None) -> None:
    """Also several slips in one marker, of which one hides the other."""
    if wanted is None:
        wanted = text.replace("'A'", '"A"').replace("intger", "integer")
    assert fixed(text) == wanted
    assert read(wanted) == []


@pytest.mark.parametrize(
    "text",
    [
        "+kubebuilder:validation:MixLength=3",  # Min or Max
        "+kubebuilder:validation:Max=3",  # Maximum, MaxLength, MaxItems
        "+kubebuilder:validation:Length=3",
        "+kubebuilder:default this is prose",
        "+optional=false",  # required, or the marker by mistake
        "+kubebuilder:validation:Pattern a b",
        "+my-tool:option=1",
        "+kubebuilder:validation:MinLength=three",
    ],
)
def test_what_can_have_two_meanings_is_left_to_the_author(text: str) -> None:
    """There is a finding, perhaps with a suggestion, and no edit."""
    found = read(text)
    assert found
    assert not any(each.fix for each in found)


def test_a_fix_that_only_brings_another_mistake_is_not_offered() -> None:
    """The right name would be refused there: on a field, a marker of types has no effect."""
    (found,) = read("+kubebuilder:storageversoin", MarkerTarget.FIELD)
    assert "`+kubebuilder:storageversion`" in found.help[0]
    assert found.fix == ()


def slip(text: str, chance: random.Random) -> str:
    """A text with one letter added, lost, replaced, swapped with the next one, or in the other case."""
    at = chance.choice([i for i, letter in enumerate(text[:-1]) if letter.isalpha()])
    match chance.randrange(5):
        case 0:
            return text[:at] + chance.choice(LETTERS) + text[at:]
        case 1:
            return text[:at] + text[at + 1 :]
        case 2:
            return text[:at] + chance.choice(LETTERS) + text[at + 1 :]
        case 3 if text[at + 1].isalpha():
            return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        case _:
            return text[:at] + text[at].swapcase() + text[at + 1 :]


def test_a_fix_restores_what_a_slip_of_the_pen_changed() -> None:
    """Each marker of the reference with a wrong letter: the fix is the text before, or there is none."""
    chance = random.Random(4)
    examples = [definition.example for definition in REGISTRY if definition.example and not read(definition.example)]
    offered = 0
    for text in (text for text in examples for _ in range(2)):
        spoilt = slip(text, chance)
        found = read(spoilt)
        if not any(each.fix for each in found):
            continue
        offered += 1
        assert (spoilt, fixed(spoilt)) == (spoilt, text)
    assert offered > len(examples) / 2


def test_a_place_is_that_of_the_slip_in_the_file() -> None:
    """Line and column of the file, with the characters that were there."""
    source = "class Größe:\n    # +kubebuilder:validation:MinLenght=3\n    name: str\n"
    found = Diagnostics()
    collect(source, "x.py", registry=REGISTRY, diagnostics=found)
    ((edit,),) = (each.fix for each in found)
    line = source.splitlines()[edit.span.line - 1]
    assert line[edit.span.column - 1 : edit.span.end_column - 1] == edit.old == "kubebuilder:validation:MinLenght"
