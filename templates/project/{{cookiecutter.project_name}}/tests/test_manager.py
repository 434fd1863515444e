{% if cookiecutter.boilerplate %}
{{ cookiecutter.boilerplate | trim }}

{% endif %}
"""The manager."""

from pykb.runtime import Manager, ManagerOptions

from {{ cookiecutter.package }}.__main__ import register


def test_every_controller_registers() -> None:
    """The manager takes every controller: no two with one name, no kind that is not known."""
    register(Manager(ManagerOptions()))
