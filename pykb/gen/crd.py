"""The CRD generator: API modules in, one file a kind out."""

from __future__ import annotations

from pykb.diagnostics import Diagnostics
from pykb.gen.artifact import Artifact
from pykb.gen.options import GenerateOptions
from pykb.gen.sources import Sources


def generate_crds(
    sources: Sources, options: GenerateOptions, header: str, diagnostics: Diagnostics
) -> tuple[tuple[Artifact, ...], frozenset[str]]:
    """The CRD files of all kinds, and their groups."""
    if not sources.modules:
        return (), frozenset()
    from pykb.gen.assemble import assemble
    from pykb.gen.checks import check
    from pykb.gen.defaults import converted_kinds
    from pykb.gen.emit.crd import crd_object
    from pykb.gen.kinds import find_kinds
    from pykb.gen.load import importing, load
    from pykb.gen.passes.resolve import Options, Resolver

    root = options.root.resolve()
    with importing(root):
        loaded = [load(path, root, diagnostics) for path in sources.modules]
        modules = [module for module in loaded if module is not None]
        kinds = find_kinds(modules, sources.package_markers, sources.declarations, diagnostics)
        resolver = Resolver(
            sources.declarations,
            diagnostics,
            Options(options.allow_dangerous_types, options.embedded_metadata),
        )
        crds = assemble(kinds, resolver, diagnostics, converted=converted_kinds(root))
        check(crds, diagnostics)
    if diagnostics.has_errors:
        return (), frozenset(crd.group for crd in crds)
    return (
        tuple(
            Artifact(
                crd.file_name,
                (
                    crd_object(
                        crd,
                        compatible_with=options.compatible_with,
                        max_description=options.max_description,
                        preserve_unknown_fields=options.preserve_unknown_fields,
                    ),
                ),
                header,
            )
            for crd in crds
        ),
        frozenset(crd.group for crd in crds),
    )
