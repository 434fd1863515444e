"""Runs the generators: options in, artifacts and diagnostics out. Does not write or print anything.

Reads the sources, finds the kinds in them, and makes one file per kind.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from pykb._regular_file import read_text
from pykb.diagnostics import Diagnostics, Severity, Span
from pykb.diagnostics.codes.crd import CRD_TOO_LARGE
from pykb.diagnostics.codes.generate import HEADER_FILE, NOTHING_FOUND
from pykb.diagnostics.codes.markers import SOURCE_UNREADABLE
from pykb.diagnostics.codes.project import PROJECT_SYNTAX
from pykb.gen._load import find_files, is_api_file
from pykb.gen.declare import Declarations
from pykb.gen.ir import Crd
from pykb.gen.options import GenerateOptions, is_whole
from pykb.gen.output import Artifact
from pykb.markers.model import SourceFile
from pykb.markers.registry import MarkerRegistry, builtin_registry
from pykb.meta.gvk import GroupKind
from pykb.project import content
from pykb.project.settings import config_path

IMPORTED = "# Made by `pykb import crd`; "
"""The first text of a module that ``pykb import`` made."""


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The result of a run.

    Attributes:
        artifacts: The files of each generator. A generator that found nothing has none.
        diagnostics: All findings. If one is an error, the artifacts must not be written.
        groups: The API groups of the kinds found. Files of other groups are not touched.
        crds: The CRDs, with their places in the source.
    """

    artifacts: dict[str, tuple[Artifact, ...]]
    diagnostics: Diagnostics
    groups: frozenset[str] = frozenset()
    crds: tuple[Crd, ...] = ()


def generate(options: GenerateOptions, *, registry: MarkerRegistry | None = None) -> GenerateResult:
    """Generate manifests from a project.

    Args:
        options: What to read and to generate.
        registry: The known markers. Defaults to the built-in ones.
    """
    diagnostics = Diagnostics()
    sources = read_sources(options, registry or builtin_registry(), diagnostics)
    artifacts: dict[str, tuple[Artifact, ...]] = {}
    crds: tuple[Crd, ...] = ()
    if "crd" in options.generators:
        header = _header(options, "crd", diagnostics)
        artifacts["crd"], crds = _generate_crds(sources, options, header, diagnostics)
        if crds and options.is_whole and not diagnostics.has_errors():
            from pykb.gen._rbac import check_resources

            check_resources(options.root, sources.files, crds, diagnostics)
    if "rbac" in options.generators:
        from pykb.gen._rbac import generate_rbac

        header = _header(options, "rbac", diagnostics)
        roles = generate_rbac(
            sources.files,
            role_name=options.role_name,
            file_name=options.rbac_file_name,
            header=header,
            diagnostics=diagnostics,
        )
        artifacts["rbac"] = tuple(roles)
    if "webhook" in options.generators:
        from pykb.gen._webhook import generate_webhook

        header = _header(options, "webhook", diagnostics)
        webhooks = generate_webhook(sources.files, header=header, oldest=options.oldest, diagnostics=diagnostics)
        artifacts["webhook"] = tuple(webhooks)
    # Other findings explain more than "nothing was generated".
    is_silent = all(each.severity is Severity.NOTE for each in diagnostics)
    if options.generators and not any(artifacts.values()) and is_silent:
        where = ", ".join(f"`{path}`" for path in options.paths) if options.paths else "this project"
        diagnostics.report(
            NOTHING_FOUND,
            None,
            f"no kinds and no markers were found in {where}",
            "pykb create api --group GROUP --version v1 --kind KIND",
            "or name the files: `--paths DIR`",
            notes="pykb looks for kinds in `api` packages, and for RBAC and webhook markers in all files",
            severity=Severity.NOTE if options.is_whole and _is_new(options.root) else None,
        )
    if "webhook" in options.generators and options.is_whole and options.oldest is not None:
        from pykb.gen._since import check_policies

        diagnostics.extend(check_policies(options.root, options.oldest))
    return GenerateResult(artifacts, diagnostics, frozenset(crd.group for crd in crds), crds)


def _header(options: GenerateOptions, generator: str, diagnostics: Diagnostics) -> str:
    name, year = options.headers.get(generator, (options.header_file, options.year))
    if not name:
        return ""
    path = Path(options.root, name)
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not encoded in UTF-8"
        diagnostics.report(
            HEADER_FILE, None, f"the header file `{name}` cannot be read: {reason}", "--header-file FILE"
        )
        return ""
    return text.replace(" YEAR", f" {year}")


def _is_new(root: Path) -> bool:
    """Whether nothing was created in this project yet."""
    from pykb.project.file import read

    return bool(content(root)) and not read(root)[0].resources


@dataclass(frozen=True, slots=True)
class Sources:
    """The input of the generators.

    Attributes:
        files: The source files that have markers or declare kinds.
        modules: The files to import for kinds.
        declarations: Finds the source of types.
    """

    files: tuple[SourceFile, ...]
    modules: tuple[Path, ...]
    declarations: Declarations


def read_sources(options: GenerateOptions, registry: MarkerRegistry, diagnostics: Diagnostics) -> Sources:
    """Read all files below the paths.

    Files without a comment that looks like a marker and without a kind are skipped quickly.
    """
    root = options.root.resolve()
    declarations = Declarations(root, registry, diagnostics, options.unsaved)
    paths = options.paths or (".",)
    whole = find_files(root, [path for path in paths if is_whole(root, path)], diagnostics)
    named = find_files(root, [path for path in paths if not is_whole(root, path)], diagnostics)
    files: list[SourceFile] = []
    modules: list[Path] = []
    for path in sorted({*whole, *named}):
        try:
            text = declarations.text_of(path)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not encoded in UTF-8"
            diagnostics.report(
                SOURCE_UNREADABLE,
                Span(path.relative_to(root).as_posix(), 1, 1),
                f"expected Python source, but the file cannot be read: {reason}",
                "save it as UTF-8" if isinstance(error, UnicodeDecodeError) else "",
            )
            continue
        is_api = is_api_file(path, root, text, named=path in set(named))
        if not is_api and text.startswith(IMPORTED):  # its markers belong to another operator's CRDs
            continue
        source = declarations.read(path, text, always=is_api)
        if source is None:
            continue
        files.append(source)
        if is_api:
            modules.append(path)
    return Sources(tuple(files), tuple(modules), declarations)


def _generate_crds(
    sources: Sources, options: GenerateOptions, header: str, diagnostics: Diagnostics
) -> tuple[tuple[Artifact, ...], tuple[Crd, ...]]:
    """Generate the CRD files of all kinds. Returns the files and the CRDs in them."""
    if not sources.modules:
        return (), ()
    from pykb.gen.emit.crd import crd_object

    crds = find_crds(sources, options, diagnostics)
    if diagnostics.has_errors():
        return (), tuple(crds)
    if config_path(options.root, "samples").is_dir():
        from pykb.gen._samples import check_samples

        check_samples(options.root, crds, diagnostics, is_whole=options.is_whole)
    artifacts: list[Artifact] = []
    for crd in crds:
        document = crd_object(
            crd,
            compatible_with=options.compatible_with,
            max_description=options.max_description,
            preserve_unknown_fields=options.preserve_unknown_fields,
        )
        _check_size(document, crd, diagnostics)
        artifacts.append(Artifact(crd.file_name, (document,), header))
    return tuple(artifacts), tuple(crds)


_ANNOTATION_LIMIT = 262_144
_ETCD_LIMIT = 1_572_864


def _check_size(document: dict[str, object], crd: Crd, diagnostics: Diagnostics) -> None:
    """Report a CRD that is too large.

    Client-side apply keeps a copy of the object in an annotation. etcd limits a request to 1.5 MiB.
    """
    import orjson

    try:
        size = len(orjson.dumps(document))
    except TypeError:  # a bound that does not fit in 64 bits
        size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
    if size <= _ANNOTATION_LIMIT:
        return
    too_large = size > _ETCD_LIMIT
    consequence = (
        f"etcd stores at most {_ETCD_LIMIT}" if too_large else "client-side `kubectl apply` fails: use `--server-side`"
    )
    diagnostics.report(
        CRD_TOO_LARGE,
        crd.span,
        f"the CRD of `{crd.names.kind}` has {size} bytes of JSON, more than "
        f"{_ETCD_LIMIT if too_large else _ANNOTATION_LIMIT}",
        "--max-desc-len 0",
        "or keep embedded types open: `PreserveUnknown()`",
        notes=consequence,
        severity=Severity.ERROR if too_large else None,
    )


def find_crds(sources: Sources, options: GenerateOptions, diagnostics: Diagnostics) -> list[Crd]:
    """Find and check the CRDs of all kinds.

    With an error among the findings, the CRDs may be incomplete.
    """
    from pykb.gen._assemble import assemble
    from pykb.gen._kinds import check_placement, find_kinds
    from pykb.gen._load import importing, load
    from pykb.gen.checks import check
    from pykb.gen.passes.resolve import Resolver

    root = options.root.resolve()
    converted = _converted_kinds(root, diagnostics)  # before the project's `yaml.py` could stand for the parser
    with importing(root, options.unsaved):
        loaded = [load(path, root, diagnostics) for path in sources.modules]
        modules = [module for module in loaded if module is not None]
        kinds = find_kinds(modules, sources.declarations, diagnostics)
        schemas = options.schemas
        if options.builtin_descriptions is not None:
            from pykb.gen._builtin_texts import read_builtin_texts

            texts = read_builtin_texts(root, options.builtin_descriptions, diagnostics)
            schemas = replace(schemas, builtin_texts=texts)
        resolver = Resolver(sources.declarations, diagnostics, schemas)
        crds = assemble(kinds, resolver, diagnostics, converted=converted)
        check(crds, options.oldest, diagnostics)
        if len(modules) == len(loaded):
            diagnostics.extend(check_placement(sources.files, sources.declarations, kinds))
    return crds


def _converted_kinds(root: Path, diagnostics: Diagnostics) -> frozenset[GroupKind]:
    """The kinds that have a conversion webhook.

    Reports a PROJECT file that cannot be read, since CRDs depend on it, and keys that have no effect.
    """
    if not content(root):
        return frozenset()
    from pykb.project.file import read

    project, found = read(root)
    diagnostics.extend(each for each in found if each.code is PROJECT_SYNTAX or each.severity is Severity.WARNING)
    return project.converted_kinds
