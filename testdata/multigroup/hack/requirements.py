"""Print the requirements that pyproject.toml declares, one per line. pip, uv and the Dockerfile use them.

Usage: python hack/requirements.py [GROUP]...
The dependencies of the project come first, then those of each named dependency group (PEP 735).
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def group(groups: dict[str, list[Any]], name: str) -> Iterator[str]:
    """Yield the requirements of a dependency group and of the groups it includes."""
    for entry in groups[name]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from group(groups, entry["include-group"])


def main() -> None:
    """Read pyproject.toml of the working directory."""
    pyproject = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    for requirement in pyproject["project"]["dependencies"]:
        print(requirement)
    for name in sys.argv[1:]:
        for requirement in group(pyproject["dependency-groups"], name):
            print(requirement)


if __name__ == "__main__":
    main()
