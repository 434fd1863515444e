{% if cookiecutter.boilerplate %}
{{ cookiecutter.boilerplate | trim }}

{% endif %}
"""The manager: one process that runs every controller of {{ cookiecutter.project_name }}."""

from pykb.runtime import Manager, ManagerOptions

# +pykb:scaffold:imports

LEADER_ELECTION_ID = "{{ cookiecutter.project_name }}.{{ cookiecutter.domain }}"


def register(manager: Manager) -> None:
    """Register every controller with the manager."""
    # +pykb:scaffold:builder


def main() -> None:
    """Run the manager until a signal stops it. `--help` lists the flags."""
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))
    register(manager)
    manager.run()


if __name__ == "__main__":
    main()
