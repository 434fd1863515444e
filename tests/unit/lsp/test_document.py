"""What the language server says of a text: completion at each place, help, and nothing that is not asked for."""

from __future__ import annotations

import pytest

from pykb.lsp._document import Offer, findings, help_at, is_declared, offers

TEXT = '''from pykb.api import CustomResource

# +kubebuilder:object:generate=true


# {of_type}
class Box(CustomResource):
    """A box."""

    # {of_field}
    size: int = 3

    # {of_method}
    def open(self) -> None:
        """Open it."""
'''


def offered(where: str, marker: str) -> list[Offer]:
    """What is offered at the end of a marker in one of the places."""
    text = TEXT.replace(f"{{{where}}}", marker)
    line = next(number for number, each in enumerate(text.split("\n")) if each.endswith(f"# {marker}"))
    return offers(text, line, len(text.split("\n")[line]))


def texts(where: str, marker: str) -> list[str]:
    """Their texts."""
    return [offer.text for offer in offered(where, marker)]


def test_names_are_those_that_may_describe_what_follows():
    """Of a field, a type, or anything."""
    of_field, of_type, of_method = (set(texts(where, "+kube")) for where in ("of_field", "of_type", "of_method"))
    assert {"+kubebuilder:validation:Minimum=", "+optional", "+kubebuilder:default="} <= of_field
    assert "+kubebuilder:resource:" not in of_field
    assert {"+kubebuilder:resource:", "+kubebuilder:subresource:status"} <= of_type
    assert "+kubebuilder:subresource:status" not in of_method
    assert all("+kubebuilder:rbac:" in each for each in (of_field, of_type, of_method))


def test_a_name_replaces_what_is_typed_of_it():
    """From the plus sign to the cursor, with its text for people."""
    offer = next(each for each in offered("of_field", "+kubebuilder:validation:Min") if "MinLength" in each.text)
    assert offer.start == len("    # ")
    assert offer.summary
    assert "On types and fields" in offer.details


@pytest.mark.parametrize(
    ("where", "marker", "expected"),
    [
        ("of_field", "+kubebuilder:validation:XPreserveUnknownFields=", []),
        ("of_type", "+kubebuilder:resource:scope=", ["Cluster", "Namespaced"]),
        ("of_type", "+kubebuilder:storageversion", None),
        ("of_field", "+listType=", ["atomic", "map", "set"]),
        ("of_method", "+kubebuilder:rbac:groups=apps,verbs=get;li", ["list"]),
        ("of_method", "+kubebuilder:webhook:mutating=", ["true", "false"]),
    ],
)
def test_values_are_those_that_the_api_allows(where, marker, expected):
    """Choices, truth values, and the verbs of access control, also of the last item of a list."""
    found = texts(where, marker)
    if expected is None:
        assert marker in found
    else:
        assert set(expected) <= set(found)
        assert expected or not found


def test_arguments_are_those_that_are_not_there_yet():
    """After the name, and after each comma."""
    assert "groups=" in texts("of_method", "+kubebuilder:rbac:")
    after = offered("of_method", "+kubebuilder:rbac:groups=apps,re")
    assert "resources=" in [each.text for each in after]
    assert "groups=" not in [each.text for each in after]
    assert {each.start for each in after} == {len("    # +kubebuilder:rbac:groups=apps,")}


@pytest.mark.parametrize("marker", ["a comment", "no + marker", "+nothing:of:this="])
def test_nothing_is_offered_for_other_comments(marker):
    """Only a plus sign after the comment sign begins a marker."""
    assert texts("of_field", marker) == [] or marker.startswith("+")
    assert offers("x = '# +'", 0, 8) == []


def test_help_is_that_of_the_marker_under_the_cursor():
    """With the columns of its name."""
    text = TEXT.replace("{of_field}", "+kubebuilder:validation:Minimum=3")
    found = help_at(text, 9, 10)
    assert found is not None
    explained, start, end = found
    assert explained.startswith("+kubebuilder:validation:Minimum\n")
    assert text.split("\n")[9][start:end] == "+kubebuilder:validation:Minimum"
    assert help_at(text, 9, 2) is None
    assert help_at(text, 10, 6) is None
    assert help_at(text, 99, 0) is None


def test_a_file_that_is_being_typed_has_no_findings():
    """The language server for Python tells of its syntax."""
    assert findings("class Box(\n# +kubebuilder:validation:Minimun=3\n", "a.py") == []
    [finding] = findings("# +kubebuilder:validation:Minimun=3\nBox = int\n", "a.py")
    assert finding.code.slug == "marker-unknown"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    size: int = 3", "size"),
        ("class Box(CustomResource):", "Box"),
        ("Size = NewType('Size', int)", "Size"),
        ("Size: TypeAlias = int", "Size"),
        ("type Size[T] = list[T]", "Size"),
        ("    size = 3", ""),
        ("    else:", ""),
        ("    show(size)", ""),
        ("size == 3", ""),
        ("    def open(self, size: int) -> None:", ""),
    ],
)
def test_a_name_is_asked_about_where_a_line_declares_it(line: str, name: str):
    """All other places cost no process."""
    found = [column for column in range(len(line) + 1) if is_declared(line, 0, column)]
    assert found == list(range(line.index(name), line.index(name) + len(name) + 1)) if name else found == []
