"""The options of ``pykb generate``: for the command line, the settings and controller-gen's words.

To add one: a line in :data:`OPTIONS`, the attribute that it sets, and a line in docs/reference/generate.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pykb._regular_file import real_path
from pykb.project.settings import Minor

if TYPE_CHECKING:
    from pykb.gen._builtin_texts import BuiltinTexts

GENERATORS = ("crd", "rbac", "webhook")
ROLE, ROLE_FILE = "manager-role", "role.yaml"
"""The names of the role and of its file, as in kubebuilder."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option that has the same name on the command line (``--role-name``) and in ``[tool.pykb.generate]``.

    Attributes:
        name: The name.
        kind: The type of its value. ``list`` is a list of strings.
        help: What ``--help`` says.
        metavar: How ``--help`` calls the value.
        word: The generator and the argument that say it in controller-gen's words, if any.
        minimum: The smallest number.
        choices: The values that controller-gen's argument takes. Empty for all.
        is_path: Whether it names a file or a folder.
        may_be_number: Whether the settings also take a number where it is a string.
    """

    name: str
    kind: type[bool | int | str | list[str]]
    help: str
    metavar: str | None = None
    word: tuple[str, str] | None = None
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    is_path: bool = False
    may_be_number: bool = False

    @property
    def variable(self) -> str:
        """The name as a name of Python.

        >>> Option("role-name", str, "").variable
        'role_name'
        """
        return self.name.replace("-", "_")


OPTIONS = (
    Option("paths", list, "Files or folders to read.  [default: the whole project]", "PATH"),
    Option(
        "output-dir",
        str,
        "One folder for all files.  [default: config/crd/bases, config/rbac, config/webhook]",
        "DIR",
        is_path=True,
    ),
    Option("allow-breaking", bool, "Do not warn about changes that break stored objects or clients."),
    Option("role-name", str, f"Name of the role.  [default: {ROLE}]", "NAME", ("rbac", "roleName")),
    Option("header-file", str, "File with text for the top of each generated file.", "FILE", is_path=True),
    Option("year", str, "Replaces ` YEAR` in the header.", "YEAR", may_be_number=True),
    Option("max-desc-len", int, "Shorten descriptions. 0 removes them.", "BYTES", ("crd", "maxDescLen"), minimum=0),
    Option("allow-dangerous-types", bool, "Allow floats in API types.", word=("crd", "allowDangerousTypes")),
    Option(
        "generate-embedded-object-meta",
        bool,
        "Write the known fields of an embedded ObjectMeta.  [default: yes]",
        word=("crd", "generateEmbeddedObjectMeta"),
    ),
    Option(
        "ignore-unexported-fields",
        bool,
        "Accepted for controller-gen. No effect: Python has no unexported fields.",
        word=("crd", "ignoreUnexportedFields"),
    ),
    Option(
        "crd-versions",
        list,
        "Accepted for controller-gen. `v1` is the only version.",
        "v1",
        ("crd", "crdVersions"),
        choices=("v1",),
    ),
    Option(
        "preserve-unknown-fields",
        bool,
        "Write the deprecated `preserveUnknownFields: false`, for CRDs that once had `true`.",
        word=("crd", "deprecatedV1beta1CompatibilityPreserveUnknownFields"),
    ),
    Option("rbac-file-name", str, f"File of roles.  [default: {ROLE_FILE}]", "NAME", ("rbac", "fileName")),
    Option(
        "builtin-descriptions",
        str,
        "Take descriptions of built-in types from the OpenAPI of a cluster or a file.",
        "FILE|cluster",
        is_path=True,
    ),
    Option("compat", str, "Write this version into the annotation of CRDs.", "controller-gen=VERSION"),
)
"""In the order of ``--help``."""


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """The options that change schemas.

    Attributes:
        allow_dangerous_types: Whether floats are allowed.
        embedded_metadata: Whether an embedded ObjectMeta has its known fields.
        reports_bare_metadata: Whether to report the first one without them.
        builtin_texts: The descriptions of built-in types; they have none without it.
    """

    allow_dangerous_types: bool = False
    embedded_metadata: bool = True
    reports_bare_metadata: bool = False
    builtin_texts: BuiltinTexts | None = None


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """The options of a run, from the command line and the settings.

    Attributes:
        root: The project's directory; paths are relative to it.
        generators: Which of ``crd``, ``rbac``, ``webhook`` to run.
        paths: The paths to read. Empty means the whole project.
        schemas: What changes schemas.
        role_name: The name of the generated role, unless a marker names another.
        rbac_file_name: The file for roles.
        header_file: The file with the text before the first document of each file, relative to the project.
        year: The year that replaces ``YEAR`` in it.
        headers: Header file and year of single generators. They override the two above.
        max_description: The maximum length of a description in bytes. ``None`` means no limit, 0 no descriptions.
        compatible_with: The controller-gen version to write into CRDs, such as ``v0.23.0``; none by default.
        preserve_unknown_fields: The deprecated ``spec.preserveUnknownFields`` of CRDs, if it must be written.
        builtin_descriptions: A file with a cluster's OpenAPI document, relative to the project. It has the
            descriptions of built-in types, which are left out without it.
        oldest: The oldest Kubernetes that the project supports, if it names one.
        unsaved: Texts that replace those of files, by resolved path: an editor has not saved them.
    """

    root: Path
    generators: tuple[str, ...] = GENERATORS
    paths: tuple[str, ...] = ()
    schemas: SchemaOptions = SchemaOptions()
    role_name: str = ROLE
    rbac_file_name: str = ROLE_FILE
    header_file: str | None = None
    year: str = ""
    headers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    max_description: int | None = None
    compatible_with: str | None = None
    preserve_unknown_fields: bool | None = None
    builtin_descriptions: str | None = None
    oldest: Minor | None = None
    unsaved: Mapping[Path, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether the paths cover the whole project."""
        return not self.paths or any(is_whole(self.root, path) for path in self.paths)


def is_whole(root: Path, path: str) -> bool:
    """Whether a path is the project's directory."""
    return real_path(root / path.removesuffix("...")) == root.resolve()
