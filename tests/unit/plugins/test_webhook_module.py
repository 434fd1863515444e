"""A webhook joins the module of others: the user's code stays as it is, or nothing is changed."""

from __future__ import annotations

import ast

import pytest

from pykb.plugins.python_v1.webhook import Addition, extend
from pykb.python_source.layout import Import
from pykb.python_source.source import CodeStyle

STYLE = CodeStyle("fleet")
VALIDATOR = Addition(
    name="ShipValidator",
    method="with_validator",
    call="with_validator(ShipValidator())",
    imports=(Import("pykb.runtime", ("Validator", "Warnings")),),
    code="# +marker\nclass ShipValidator(Validator[Ship]):\n    pass\n",
)
CONVERTER = Addition(
    name="ShipConverter",
    method="with_converter",
    call="with_converter(ShipConverter())",
    imports=(Import("fleet.api.v1.ship_conversion", ("ShipConverter",)),),
)
MODULE = '''\
"""Mine."""

from pykb.runtime import Defaulter, Manager, WebhookBuilder

from fleet.api.v2 import Ship


class ShipDefaulter(Defaulter[Ship]):
    def default(self, obj: Ship) -> None:
        obj.spec.name = "x"  # mine


# Called by the manager.
def setup_ship_webhook(manager: Manager) -> None:
    builder = WebhookBuilder(manager).for_(Ship)
    builder.with_defaulter(ShipDefaulter())
    builder.complete()
'''
CHAIN = "    WebhookBuilder(manager).for_(Ship).with_defaulter(ShipDefaulter()).complete()\n"
LONG_CHAIN = """\
    (
        WebhookBuilder(manager)
        .for_(Ship)  # the hub
        .complete()
    )
"""
BODY = MODULE[MODULE.index("    builder = ") :]


def run(text: str, *additions: Addition) -> str:
    """The module with the additions; it parses, and another run changes nothing."""
    result, problem = extend(text, additions, path="m.py", function="setup_ship_webhook", style=STYLE)
    assert problem is None
    ast.parse(result)
    assert extend(result, additions, path="m.py", function="setup_ship_webhook", style=STYLE) == (result, None)
    return result


def test_class_call_and_import_go_where_they_belong() -> None:
    """Above the function and its comment, before complete(), into the import that is there."""
    result = run(MODULE, VALIDATOR)
    assert "from pykb.runtime import Defaulter, Manager, Validator, Warnings, WebhookBuilder\n" in result
    assert "\n\n\n# +marker\nclass ShipValidator(Validator[Ship]):\n    pass\n\n\n# Called by the manager.\n" in result
    assert "(ShipDefaulter())\n    builder.with_validator(ShipValidator())\n    builder.complete()\n" in result
    mine = {line for line in MODULE.splitlines() if not line.startswith("from pykb")}
    assert mine <= set(result.splitlines())


def test_a_converter_is_imported_in_order() -> None:
    """Before the modules that come later in the alphabet."""
    result = run(MODULE, CONVERTER)
    assert "ship_conversion import ShipConverter\nfrom fleet.api.v2 import Ship\n" in result
    assert "    builder.with_converter(ShipConverter())\n    builder.complete()\n" in result


def test_a_second_converter_is_no_repetition_of_the_first() -> None:
    """Converters are told apart by their modules."""
    other = Addition(
        name="V3ShipConverter",
        method="with_converter",
        call="with_converter(V3ShipConverter())",
        imports=(Import("fleet.api.v3.ship_conversion", ("ShipConverter as V3ShipConverter",)),),
    )
    result = run(run(MODULE, CONVERTER), other)
    assert result.count("with_converter(") == 2


@pytest.mark.parametrize("body", [CHAIN, LONG_CHAIN], ids=["one line", "several"])
def test_a_chain_gets_a_link_before_its_last(body: str) -> None:
    """The user may have written the builder in one expression."""
    result = run(MODULE.replace(BODY, body), VALIDATOR, CONVERTER)
    calls = [n.func.attr for n in ast.walk(ast.parse(result)) if isinstance(n, ast.Call) and hasattr(n.func, "attr")]
    assert calls[:3] == ["complete", "with_converter", "with_validator"]
    assert "# the hub" in result or body is CHAIN


@pytest.mark.parametrize(
    "line",
    [
        "from pykb.runtime import (\n    Defaulter,\n    Manager,  # mine\n    WebhookBuilder,\n)\n",
        "from pykb.runtime import Defaulter as D, Manager, WebhookBuilder\n",
    ],
    ids=["comment", "alias"],
)
def test_an_import_with_something_of_its_own_is_not_rewritten(line: str) -> None:
    """Another one is put below it."""
    text = MODULE.replace("from pykb.runtime import Defaulter, Manager, WebhookBuilder\n", line)
    result = run(text, VALIDATOR)
    assert line in result
    assert "from pykb.runtime import Validator, Warnings\n" in result


def test_what_is_there_already_is_left_alone() -> None:
    """The user's own class of the name, and a call in another form."""
    text = MODULE.replace("# Called by", "class ShipValidator:\n    pass\n\n\n# Called by").replace(
        "    builder.complete()", "    checks = ShipValidator()\n    builder.with_validator(checks).complete()"
    )
    assert run(text, VALIDATOR) == text


def test_a_controllers_builder_is_not_taken_for_the_webhooks() -> None:
    """A user may register both in one function."""
    controller = "    ControllerBuilder(manager).for_(Ship).complete(ShipReconciler(manager.client))\n"
    text = MODULE.replace("    builder = ", f"{controller}    builder = ")
    result = run(text, VALIDATOR)
    assert controller in result
    assert "    builder.with_validator(ShipValidator())\n    builder.complete()\n" in result


def test_windows_line_ends_stay() -> None:
    """Every line has the end that the file has."""
    result = run(MODULE.replace("\n", "\r\n"), VALIDATOR, CONVERTER)
    assert result.count("\n") == result.count("\r\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (MODULE.replace("def setup_ship_webhook", "def setup"), "webhook-module"),
        (MODULE.replace("    builder.complete()\n", ""), "webhook-module"),
        ("def (:\n", "file-broken"),
    ],
)
def test_a_module_of_another_form_is_left_alone(text: str, code: str) -> None:
    """The finding has the lines to paste; pasted, the command goes on."""
    result, problem = extend(text, [VALIDATOR], path="m.py", function="setup_ship_webhook", style=STYLE)
    assert result == text
    assert problem is not None
    assert problem.code.slug == code
    if code == "webhook-module":
        assert "class ShipValidator(Validator[Ship]):" in problem.help[0]
        pasted = text + VALIDATOR.code + "builder.with_validator(ShipValidator())\n"
        assert extend(pasted, [VALIDATOR], path="m.py", function="setup_ship_webhook", style=STYLE) == (pasted, None)


def test_a_module_that_builds_no_webhooks_needs_the_function_only() -> None:
    """The lines to paste are that function; once they are there, the command puts the webhook into it."""
    setup = (
        "from pykb.runtime import Manager, WebhookBuilder\n\n\ndef setup_ship_webhook(manager: Manager) -> None:\n"
        "    builder = WebhookBuilder(manager).for_(Ship)\n    builder.complete()"
    )
    text, problem = extend("x = 1\n", [VALIDATOR], path="m.py", function="setup_ship_webhook", style=STYLE, setup=setup)
    assert problem is not None
    _, _, pasted = problem.help[0].partition("\n")
    result, problem = extend(
        f"{text}{pasted}\n", [VALIDATOR], path="m.py", function="setup_ship_webhook", style=STYLE, setup=setup
    )
    assert problem is None
    assert "builder.with_validator(ShipValidator())\n    builder.complete()" in result
