"""The CRD generator. Reads API modules and makes one file per kind."""

from __future__ import annotations

import json
from pathlib import Path

from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.codes.crd import CRD_TOO_LARGE
from pykb.diagnostics.codes.project import PROJECT_SYNTAX
from pykb.gen.ir import Crd
from pykb.gen.options import GenerateOptions
from pykb.gen.output import Artifact
from pykb.gen.sources import Sources
from pykb.meta.gvk import GroupKind
from pykb.project import content


def generate_crds(
    sources: Sources, options: GenerateOptions, header: str, diagnostics: Diagnostics
) -> tuple[tuple[Artifact, ...], tuple[Crd, ...]]:
    """Generate the CRD files of all kinds. Returns the files and the CRDs in them."""
    if not sources.modules:
        return (), ()
    from pykb.gen.emit.crd import crd_object

    crds = find_crds(sources, options, diagnostics)
    if diagnostics.has_errors():
        return (), tuple(crds)
    if (options.root / "config" / "samples").is_dir():
        from pykb.gen._samples import check_samples

        check_samples(options.root, crds, diagnostics)
    found: list[Artifact] = []
    for crd in crds:
        document = crd_object(
            crd,
            compatible_with=options.compatible_with,
            max_description=options.max_description,
            preserve_unknown_fields=options.preserve_unknown_fields,
        )
        _check_size(document, crd, diagnostics)
        found.append(Artifact(crd.file_name, (document,), header))
    return tuple(found), tuple(crds)


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
    diagnostics.add(
        CRD_TOO_LARGE.at(
            crd.span,
            f"the CRD of `{crd.names.kind}` has {size} bytes of JSON, more than "
            f"{_ETCD_LIMIT if too_large else _ANNOTATION_LIMIT}",
            notes=(consequence,),
            help=("--max-desc-len 0", "or keep embedded types open: `PreserveUnknown()`"),
            severity=Severity.ERROR if too_large else None,
        ),
    )


def find_crds(sources: Sources, options: GenerateOptions, diagnostics: Diagnostics) -> list[Crd]:
    """Find and check the CRDs of all kinds.

    With an error among the findings, the CRDs may be incomplete.
    """
    from pykb.gen._assemble import assemble
    from pykb.gen._kinds import check_placement, find_kinds
    from pykb.gen._load import importing, load
    from pykb.gen.checks import check
    from pykb.gen.passes.resolve import Options, Resolver

    root = options.root.resolve()
    with importing(root):
        loaded = [load(path, root, diagnostics) for path in sources.modules]
        modules = [module for module in loaded if module is not None]
        kinds = find_kinds(modules, sources.declarations, diagnostics)
        texts = None
        if options.builtin_descriptions is not None:
            from pykb.gen._builtin_texts import read_builtin_texts

            texts = read_builtin_texts(root, options.builtin_descriptions, diagnostics)
        resolver = Resolver(
            sources.declarations,
            diagnostics,
            Options(options.allow_dangerous_types, options.embedded_metadata, options.says_bare_metadata, texts),
        )
        crds = assemble(kinds, resolver, diagnostics, converted=_converted_kinds(root, diagnostics))
        check(crds, diagnostics)
        if len(modules) == len(loaded):
            check_placement(sources.files, sources.declarations, kinds, diagnostics)
    return crds


def _converted_kinds(root: Path, diagnostics: Diagnostics) -> frozenset[GroupKind]:
    """The kinds that have a conversion webhook.

    Reports a PROJECT file that cannot be read, since CRDs depend on it.
    """
    if b"conversion" not in content(root):  # saves loading the YAML parser in most projects
        return frozenset()
    from pykb.project.file import read

    project, found = read(root)
    diagnostics.extend(finding for finding in found if finding.code is PROJECT_SYNTAX)
    return project.converted_kinds
