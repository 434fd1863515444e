"""Markers of Go code generators: accepted with a note, so that ported files stay valid."""

from __future__ import annotations

from pykb.markers.definition import BOOLEAN, RAW, STRING, Argument, MarkerDefinition, MarkerTarget, ValueType

_ALL = frozenset(MarkerTarget)
_TYPE = frozenset({MarkerTarget.TYPE})
_PACKAGE = frozenset({MarkerTarget.PACKAGE})


def _go(
    name: str, summary: str, kind: ValueType | None = RAW, *, targets: frozenset[MarkerTarget] = _ALL
) -> MarkerDefinition:
    # Markers that controller-gen registers have the same targets and required values as there.
    arguments = (Argument("", kind, optional=targets is _ALL),) if kind else ()
    return MarkerDefinition(
        name,
        targets,
        arguments,
        summary=summary,
        example=f"+{name}" + ("=true" if kind in {BOOLEAN, RAW} else "=value" if kind else ""),
        category="Go only",
        generators=frozenset(),
        go_only=True,
        repeatable=True,
    )


_STEERED = {
    "Steers client-gen.": (
        "genclient genclient:nonNamespaced genclient:noVerbs genclient:onlyVerbs genclient:skipVerbs "
        "genclient:noStatus genclient:readonly genclient:method"
    ),
    "Steers openapi-gen.": "k8s:openapi-gen k8s:openapi-model-package",
    "Steers defaulter-gen.": "k8s:defaulter-gen k8s:defaulter-gen-input",
    "Steers conversion-gen.": (
        "k8s:conversion-gen k8s:conversion-gen:explicit-from k8s:conversion-gen-external-types k8s:conversion-fn"
    ),
    "Steers prerelease-lifecycle-gen.": (
        "k8s:prerelease-lifecycle-gen k8s:prerelease-lifecycle-gen:introduced "
        "k8s:prerelease-lifecycle-gen:deprecated k8s:prerelease-lifecycle-gen:removed "
        "k8s:prerelease-lifecycle-gen:replacement"
    ),
    "Steers validation-gen.": (
        "k8s:supportsSubresource k8s:isSubresource k8s:validation-gen k8s:validation-gen-input "
        "k8s:validation-gen-scheme-registry k8s:validation-gen-test-fixture"
    ),
    "Steers go-to-protobuf.": (
        "k8s:protobuf-gen protobuf protobuf.nullable protobuf.options.marshal "
        "protobuf.options.(gogoproto.goproto_stringer) protobuf.as protobuf.embed protobuf.castrepeated"
    ),
    "Marks a union for documentation.": "union unionDiscriminator unionDeprecated",
}
DEFINITIONS = (
    _go("kubebuilder:object:root", "Steers deepcopy generation of a kind.", BOOLEAN, targets=_TYPE),
    _go("kubebuilder:object:generate", "Steers deepcopy generation.", BOOLEAN, targets=_PACKAGE | _TYPE),
    _go("k8s:deepcopy-gen", "Steers deepcopy-gen.", targets=_PACKAGE | _TYPE),
    _go("k8s:deepcopy-gen:interfaces", "Steers deepcopy-gen.", STRING, targets=_TYPE),
    _go("kubebuilder:ac:generate", "Steers apply configurations.", BOOLEAN, targets=_PACKAGE | _TYPE),
    _go("kubebuilder:ac:output:package", "Steers apply configurations.", STRING, targets=_PACKAGE),
    _go("kubebuilder:conversion:hub", "Marks the hub of a conversion.", None),
    _go("k8s:deepcopy-gen:nonpointer-interfaces", "Steers deepcopy-gen."),
    _go("groupGoName", "The Go name of the group, for client-gen."),
    _go("k8s:register-gen", "Steers register-gen."),
    _go("patchStrategy", "Strategic merge patch of built-in types; a custom resource uses `+listType`."),
    _go("patchMergeKey", "Strategic merge patch of built-in types; a custom resource uses `+listMapKey`."),
    _go("featureGate", "Names a feature gate for documentation."),
    _go("enum", "Marks an enumeration for openapi-gen; `+k8s:enum` is the one that has an effect."),
    *(_go(name, summary) for summary, names in _STEERED.items() for name in names.split()),
)
