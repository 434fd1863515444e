"""The options of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GENERATORS = ("crd", "rbac", "webhook")

DEFAULT_FOLDERS: Mapping[str, str] = {"crd": "config/crd/bases", "rbac": "config/rbac", "webhook": "config/webhook"}


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """The options of ``pykb generate``, from the command line and the settings.

    Attributes:
        root: The project's directory; paths are relative to it.
        generators: Which of ``crd``, ``rbac``, ``webhook`` to run.
        paths: The paths to read. Empty means the whole project.
        role_name: The name of the generated role, unless a marker names another.
        rbac_file_name: The file for roles.
        header_file: The file with the text before the first document of each file, relative to the project.
        year: The year that replaces ``YEAR`` in it.
        headers: Header file and year of single generators. They override the two above.
        max_description: The maximum length of a description in bytes. ``None`` means no limit, 0 no descriptions.
        allow_dangerous_types: Whether floats are allowed.
        embedded_metadata: Whether an embedded ObjectMeta has its known fields.
        says_bare_metadata: Whether to report one without them.
        compatible_with: The controller-gen version to write into CRDs, such as ``v0.23.0``; none by default.
        preserve_unknown_fields: The deprecated ``spec.preserveUnknownFields`` of CRDs, if it must be written.
        builtin_descriptions: A file with a cluster's OpenAPI document, relative to the project. It has the
            descriptions of built-in types, which are left out without it.
    """

    root: Path
    generators: tuple[str, ...] = GENERATORS
    paths: tuple[str, ...] = ()
    role_name: str = "manager-role"
    rbac_file_name: str = "role.yaml"
    header_file: str | None = None
    year: str = ""
    headers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    max_description: int | None = None
    allow_dangerous_types: bool = False
    embedded_metadata: bool = True
    says_bare_metadata: bool = False
    compatible_with: str | None = None
    preserve_unknown_fields: bool | None = None
    builtin_descriptions: str | None = None
