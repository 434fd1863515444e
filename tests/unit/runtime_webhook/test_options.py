"""How webhooks are configured from outside."""

import pytest

from pykb.runtime import ManagerOptions


@pytest.mark.parametrize(
    ("environ", "served"),
    [
        ({}, True),
        ({"ENABLE_WEBHOOKS": "true"}, True),
        ({"ENABLE_WEBHOOKS": ""}, True),
        ({"ENABLE_WEBHOOKS": "false"}, False),
    ],
)
def test_the_environment_switches_webhooks_off(environ, served):
    """Kubebuilder's variable; a manager on a developer's machine has no certificate that the cluster trusts."""
    assert ManagerOptions.from_args([], environ=environ).webhooks is served


def test_where_webhooks_are_served_is_said_by_flags():
    """The host too: tests and a developer's machine serve on loopback."""
    options = ManagerOptions.from_args(["--webhook-port", "9000", "--webhook-bind-host", "127.0.0.1"], environ={})
    assert (options.webhook_port, options.webhook_bind_host) == (9000, "127.0.0.1")
    default = ManagerOptions.from_args([], environ={})
    assert (default.webhook_port, default.webhook_bind_host) == (9443, "")


def test_the_help_names_the_variable(capsys):
    """Where the port is explained."""
    with pytest.raises(SystemExit):
        ManagerOptions.from_args(["--help"], environ={})
    assert "$ENABLE_WEBHOOKS" in capsys.readouterr().out
