{% if cookiecutter.boilerplate %}
{{ cookiecutter.boilerplate | trim }}

{% endif %}
"""The manager."""

from pykb.runtime import Manager

from {{ cookiecutter.package }}.__main__ import register


def test_every_controller_registers() -> None:
    """Every controller registers with the manager. Their names are unique."""
    register(Manager())
