"""Field errors read as the API server's own."""

import pytest

from pykb.api import Quantity
from pykb.runtime import FieldError, FieldErrorType, Invalid

from .conftest import Machine, wire  # noqa: TID252 - shared by this folder only

TEXTS = {
    "spec.cpu: Invalid value: 3: must be even": FieldError("spec.cpu", "must be even", value=3),
    "spec.cpu: Invalid value: must be even": FieldError("spec.cpu", "must be even"),
    'spec.name: Invalid value: "a\\"b": no': FieldError("spec.name", "no", value='a"b'),
    "spec.name: Invalid value: null: no": FieldError("spec.name", "no", value=None),
    'spec.memory: Invalid value: "1Gi": no': FieldError("spec.memory", "no", value=Quantity("1Gi")),
    'spec.set: Invalid value: {"a": [true]}: no': FieldError("spec.set", "no", value={"a": [True]}),
    "spec.image: Required value": FieldError.required("spec.image"),
    "spec.image: Required value: with a disk": FieldError.required("spec.image", "with a disk"),
    "spec.image: Forbidden: cannot be changed": FieldError.forbidden("spec.image", "cannot be changed"),
    'spec.disks[1].name: Duplicate value: "a"': FieldError.duplicate("spec.disks[1].name", "a"),
    'spec.zone: Unsupported value: "x": supported values: "a", "b"': FieldError.not_supported(
        "spec.zone", "x", ["a", "b"]
    ),
    "spec.disks: Too many: 9: must have at most 8 items": FieldError(
        "spec.disks", "must have at most 8 items", 9, FieldErrorType.TOO_MANY
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_each_kind_has_its_words(text):
    """As `kubectl` shows them."""
    assert str(TEXTS[text]) == text


def test_an_invalid_object_names_all_of_them():
    """One by itself, several in brackets; each is a cause."""
    machine = Machine.from_wire(wire())
    one = Invalid.of(machine, [FieldError("spec.cpu", "must be even", value=3)])
    assert one.message == 'Machine.infra.example.com "m" is invalid: spec.cpu: Invalid value: 3: must be even'
    assert (one.status, one.reason) == (422, "Invalid")
    assert (one.details.name, one.details.group, one.details.kind) == ("m", "infra.example.com", "Machine")
    two = Invalid.of(machine, [FieldError.required("spec.a"), FieldError.required("spec.b")])
    assert two.message.endswith("is invalid: [spec.a: Required value, spec.b: Required value]")
    assert [cause.field for cause in two.causes] == ["spec.a", "spec.b"]
    assert [cause.reason for cause in two.causes] == ["FieldValueRequired"] * 2
    with pytest.raises(ValueError, match="is not invalid"):
        Invalid.of(machine, [])
