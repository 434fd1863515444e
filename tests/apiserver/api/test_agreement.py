"""What the Pydantic model accepts, the generated schema accepts on a real API server, and the other way."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.render import Format, render
from pykb.gen.request import Given, make_request
from pykb.gen.run import generate

pytestmark = pytest.mark.apiserver

TESTDATA = Path(__file__).parents[3] / "testdata"
OBJECTS = "/apis/agreement.example.com/v1/namespaces/default/judges"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CASES = max(100, int(os.environ.get("PYKB_FUZZ_CASES", "0")) // 100)
FIELD = re.compile(r"\bspec\.(\w+)")

TEXTS = [
    "a",
    "b",
    "5",
    "1",
    "true",
    "ab",
    "xay",
    "A",
    "k",
    "K",
    "1.2.3.4",
    "01.2.3.4",
    "1.2.3",
    "::1",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "1.2.3.0/24",
    "1.2.3.4/24",
    "1.2.3.4/33",
    "::/0",
    "2026-01-31T12:00:00Z",
    "2026-01-31t12:00:00z",
    "2026-01-31T12:00:00.123456789Z",
    "2026-01-31T12:00:00+02:00",
    "2026-01-31T12:00:00",
    "2026-02-30T12:00:00Z",
    "2026-01-31T12:00:60Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:00Z",
    "2026-01-31",
    "2026-02-30",
    "12:00:00",
    "2026-01-31T12:00:00+0200",
    "2026-01-31T12:00:00,5Z",
    "YQ==",
    "YQ",
    "YQ=",
    "_-8=",
    "+/8=",
    "YWJj",
    "YR==",
    "123e4567-e89b-12d3-a456-426614174000",
    "123E4567E89B12D3A456426614174000",
    "{123e4567-e89b-12d3-a456-426614174000}",
    "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
    "9f3b4c2a-1d2e-4f5a-8b6c-7d8e9f0a1b2c",
    "a@b.c",
    "a@b",
    "A",
    "<a@b.c>",
    "http://x.y/z",
    "x.y",
    "/path",
    "ftp:x",
    "http://",
    "http://[::1]:80/",
    "http://a%zz",
    "/%41",
    "example.com",
    "Example.com",
    "a_b",
    "-a",
    "a.b-",
    "00:00:5e:00:53:01",
    "00-00-5e-00-53-01",
    "0000.5e00.5301",
    "02:00:5e:10:00:00:00:01",
    "00:00:5e",
    "#fff",
    "#ffff",
    "fff",
    "rgb(1,2,3)",
    "rgb(256,0,0)",
    "4111111111111111",
    "4111111111111112",
    "123-45-6789",
    "123456789",
    "0-306-40615-2",
    "9780306406157",
    "507f1f77bcf86cd799439011",
    "1h",
    "1h30m",
    "1d",
    "1.5s",
    "P1D",
    "-1s",
    "0",
    "1ns",
    "2Gi",
    "1e3",
    "1Ki",
    "x.y.z",
    "0x1F",
]
VALUES: list[Any] = [
    *TEXTS,
    *[
        "",
        "a b",
        "1 day",
        "a b@c.d",
        "A <a@b.c>",
        '"a b"@c.d',
        "a\n",
        "\n",
        " ",
        "\u00a0",
        "\u0663",
        "\u212a",
        "e\u0301",
    ],
    *["\U0001f600" * 2, "\U0001f600" * 3, "a" * 64, "a" * 63 + ".b", "2026-01-31 12:00:00Z"],
    *[True, False, 0, 1, -1, 2, 5, 5.0, 5.5, 1e3, 0.1, 1e-7, 1e19, 1e300],
    *[2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1],
    *[[], [1], ["a"], ["a", "a"], [1, 2], [1, "a"], [1.0], [True]],
    *[{}, {"a": "b"}, {"a": 1}, {"a": "b", "c": "d"}, {"x": {"y": [None]}}, {"1": 1}],
    [{"name": "a"}],
    [{"name": "a"}, {"name": "a", "protocol": "TCP"}],
    [{"name": "a"}, {"name": "a", "protocol": "UDP"}],
    [{"protocol": "TCP"}],
    *[{"name": "a"}, {"name": 1}, {"x": {"name": "a"}}, [[1]], [[1, 2]], "50%", "5"],
    *[{"kind": kind, field: "a"} for kind in ("inline", "named", "none") for field in ("text", "name", "other")],
]
# What the two judge differently, and why it stays so.
TEXT_FIELDS_WITH_FORMATS = ("f_", "time", "octets", "day", "uuid", "ipv4", "ipv6")


def is_allowed(field: str, value: Any, *, in_python: bool, minor: int) -> bool:
    """Whether a difference of the two judgements is known. The server has this minor version."""
    if not in_python and minor < {"f_short_name": 35, "f_long_name": 35, "int32": 36}.get(field, 0):
        return True  # older servers do not know these formats, and do not check the range of int32
    if not in_python and isinstance(value, list) and field.startswith(TEXT_FIELDS_WITH_FORMATS):
        return True  # the server checks the type of a value with a format too leniently: lists pass as strings
    if not in_python and field == "ipv4" and value in ("01.2.3.4", "::ffff:1.2.3.4"):
        return True  # Python's IPv4Address cannot hold it
    if not in_python and field == "even" and isinstance(value, float):
        return True  # the server divides floats with a tolerance: 500000001.0 is a multiple of 2
    if not in_python and field == "quantity" and isinstance(value, str):
        return True  # the customary pattern lets fractions of an exponent pass (1e1.5), which are no quantities
    if in_python and field in ("above", "below", "third") and isinstance(value, int):
        return True  # the server takes a whole number for an integer, and cuts the fraction off the limit
    # A number that the schema of a quantity does not take goes out as a text.
    return in_python and field == "quantity" and isinstance(value, int | float)


@pytest.fixture(scope="module")
def judge(control_plane: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The CRD generated from testdata/agreement, installed, and the model: a function that asks both."""
    found = Diagnostics()
    request = make_request(TESTDATA, Given(("crd",), {"paths": ["agreement"], "allow-dangerous-types": True}), found)
    result = generate(request.options)
    found.extend(result.diagnostics)
    assert not found.has_errors(), render(found, style=Format.CONCISE)
    rest = control_plane.rest()
    (artifact,) = result.artifacts["crd"]
    (crd,) = artifact.documents
    file = tmp_path_factory.mktemp("crds") / "judges.yaml"
    file.write_text(artifact.render(), encoding="utf-8")
    control_plane.install_crds(file)
    model = load_model()

    def refused_by_server(spec: dict[str, Any]) -> tuple[set[str], str]:
        body = {"apiVersion": "agreement.example.com/v1", "kind": "Judge", "metadata": {"name": "x"}, "spec": spec}
        answer = rest.call("POST", OBJECTS + "?dryRun=All&fieldValidation=Ignore", body)
        if answer.ok:
            return set(), ""
        causes = answer.body.get("details", {}).get("causes", ())
        # Numbers out of range come without a field, which then stands in the message.
        refused = {name for cause in causes for name in FIELD.findall(f"{cause['field']} {cause['message']}")}
        assert refused, answer.message
        return refused, answer.message

    def ask(spec: dict[str, Any]) -> tuple[set[str], set[str], str]:
        refused, message = refused_by_server(spec)
        # Rules are looked at only once all types are right.
        later, words = refused_by_server({name: value for name, value in spec.items() if name not in refused})
        refused, message = refused | later, message + words
        ours: set[str] = set()
        try:
            model.from_wire(spec)
        except ValidationError as error:
            ours = {str(item["loc"][0]) for item in error.errors()}
        return ours, refused, message

    yield ask
    rest.call("DELETE", f"{CRDS}/{crd['metadata']['name']}")


def load_model() -> Any:
    """JudgeSpec, imported from its file."""
    path = TESTDATA / "agreement" / "types.py"
    spec = importlib.util.spec_from_file_location("agreement_types", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.JudgeSpec


def compare(judge: Any, value: Any, minor: int) -> None:
    """Give one value to every field, and compare who refuses it where."""
    from pykb.api.wire import wire_name

    model = sys.modules["agreement_types"].JudgeSpec
    names = {wire_name(name, field): name for name, field in model.model_fields.items()}
    ours, theirs, message = judge(dict.fromkeys(names, value))
    for wire, field in names.items():
        if (wire in ours) != (wire in theirs) and not is_allowed(field, value, in_python=wire not in ours, minor=minor):
            who = "only Python accepts" if wire in theirs else "only the server accepts"
            pytest.fail(f"{who} {value!r} for `{field}`\n{message[:2000]}")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_python_and_the_server_agree_on_chosen_values(judge: Any, server_minor: int, value: Any) -> None:
    """Every field refuses or accepts a value on both sides alike; exceptions have their reason in `is_allowed`."""
    compare(judge, value, server_minor)


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.integers(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from([value for value in VALUES if isinstance(value, str)]),
)


@given(st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=3)))
@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
def test_python_and_the_server_agree_on_any_value(judge: Any, server_minor: int, value: Any) -> None:
    """The same for values that nobody chose."""
    compare(judge, value, server_minor)
