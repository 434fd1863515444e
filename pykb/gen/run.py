"""Runs the generators: options in, artifacts and diagnostics out. Does not write or print anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pykb.diagnostics import Diagnostic, Diagnostics, Severity
from pykb.diagnostics.codes.generate import HEADER_FILE, NOTHING_FOUND
from pykb.gen.ir import Crd
from pykb.gen.options import GenerateOptions
from pykb.gen.output import Artifact
from pykb.gen.sources import read_sources
from pykb.markers.registry import MarkerRegistry, builtin_registry


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
        from pykb.gen._crd import generate_crds

        header = _header(options, "crd", diagnostics)
        artifacts["crd"], crds = generate_crds(sources, options, header, diagnostics)
    if "rbac" in options.generators:
        from pykb.gen.rbac import generate_rbac

        found = generate_rbac(
            sources.files,
            role_name=options.role_name,
            file_name=options.rbac_file_name,
            header=_header(options, "rbac", diagnostics),
            diagnostics=diagnostics,
        )
        artifacts["rbac"] = tuple(found)
    if "webhook" in options.generators:
        from pykb.gen.webhook import generate_webhook

        found = generate_webhook(
            sources.files, header=_header(options, "webhook", diagnostics), diagnostics=diagnostics
        )
        artifacts["webhook"] = tuple(found)
    # Other findings explain more than "nothing was generated".
    if not any(artifacts.values()) and all(found.severity is Severity.NOTE for found in diagnostics):
        diagnostics.add(_nothing(options))
    return GenerateResult(artifacts, diagnostics, frozenset(crd.group for crd in crds), crds)


def _header(options: GenerateOptions, generator: str, diagnostics: Diagnostics) -> str:
    name, year = options.headers.get(generator, (options.header_file, options.year))
    if not name:
        return ""
    path = Path(options.root, name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not encoded in UTF-8"
        diagnostics.add(
            HEADER_FILE.at(None, f"the header file `{name}` cannot be read: {reason}", help=("--header-file FILE",)),
        )
        return ""
    return text.replace(" YEAR", f" {year}")


def _nothing(options: GenerateOptions) -> Diagnostic:
    where = ", ".join(f"`{path}`" for path in options.paths) if options.paths else "this project"
    return NOTHING_FOUND.at(
        None,
        f"no kinds and no markers were found in {where}",
        notes=("pykb looks for kinds in `api` packages, and for RBAC and webhook markers in all files",),
        help=("pykb create api --group GROUP --version v1 --kind KIND", "or name the files: `--paths DIR`"),
    )
