"""Markers of Go code generators: accepted with a note, so that ported files stay valid."""

from __future__ import annotations

from pykb.markers.definition import BOOLEAN, RAW, STRING, ArgumentDefinition, MarkerDefinition, MarkerTarget, ValueType

_ALL = frozenset(MarkerTarget)
_TYPE = frozenset({MarkerTarget.TYPE})
_PACKAGE = frozenset({MarkerTarget.PACKAGE})


def _go(
    name: str, summary: str, kind: ValueType | None = RAW, *, targets: frozenset[MarkerTarget] = _ALL
) -> MarkerDefinition:
    # Those that controller-gen registers have their places and need their value, as there.
    arguments = (ArgumentDefinition("", kind, optional=targets is _ALL),) if kind else ()
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


_CLIENT = "Steers client-gen."
DEFINITIONS = (
    _go("kubebuilder:object:root", "Steers deepcopy generation of a kind.", BOOLEAN, targets=_TYPE),
    _go("kubebuilder:object:generate", "Steers deepcopy generation.", BOOLEAN, targets=_PACKAGE | _TYPE),
    _go("k8s:deepcopy-gen", "Steers deepcopy-gen.", targets=_PACKAGE | _TYPE),
    _go("k8s:deepcopy-gen:interfaces", "Steers deepcopy-gen.", STRING, targets=_TYPE),
    _go("k8s:deepcopy-gen:nonpointer-interfaces", "Steers deepcopy-gen."),
    _go("kubebuilder:ac:generate", "Steers apply configurations.", BOOLEAN, targets=_PACKAGE | _TYPE),
    _go("kubebuilder:ac:output:package", "Steers apply configurations.", STRING, targets=_PACKAGE),
    _go("kubebuilder:conversion:hub", "Marks the hub of a conversion.", None),
    _go("genclient", _CLIENT),
    _go("genclient:nonNamespaced", _CLIENT),
    _go("genclient:noVerbs", _CLIENT),
    _go("genclient:onlyVerbs", _CLIENT),
    _go("genclient:skipVerbs", _CLIENT),
    _go("genclient:noStatus", _CLIENT),
    _go("genclient:readonly", _CLIENT),
    _go("genclient:method", _CLIENT),
    _go("groupGoName", "The Go name of the group, for client-gen."),
    _go("k8s:openapi-gen", "Steers openapi-gen."),
    _go("k8s:openapi-model-package", "Steers openapi-gen."),
    _go("k8s:defaulter-gen", "Steers defaulter-gen."),
    _go("k8s:defaulter-gen-input", "Steers defaulter-gen."),
    _go("k8s:conversion-gen", "Steers conversion-gen."),
    _go("k8s:conversion-gen:explicit-from", "Steers conversion-gen."),
    _go("k8s:conversion-gen-external-types", "Steers conversion-gen."),
    _go("k8s:conversion-fn", "Steers conversion-gen."),
    _go("k8s:register-gen", "Steers register-gen."),
    _go("k8s:prerelease-lifecycle-gen", "Steers prerelease-lifecycle-gen."),
    _go("k8s:prerelease-lifecycle-gen:introduced", "Steers prerelease-lifecycle-gen."),
    _go("k8s:prerelease-lifecycle-gen:deprecated", "Steers prerelease-lifecycle-gen."),
    _go("k8s:prerelease-lifecycle-gen:removed", "Steers prerelease-lifecycle-gen."),
    _go("k8s:prerelease-lifecycle-gen:replacement", "Steers prerelease-lifecycle-gen."),
    _go("k8s:supportsSubresource", "Steers validation-gen."),
    _go("k8s:isSubresource", "Steers validation-gen."),
    _go("k8s:validation-gen", "Steers validation-gen."),
    _go("k8s:validation-gen-input", "Steers validation-gen."),
    _go("k8s:validation-gen-scheme-registry", "Steers validation-gen."),
    _go("k8s:validation-gen-test-fixture", "Steers validation-gen."),
    _go("k8s:protobuf-gen", "Steers go-to-protobuf."),
    _go("protobuf", "Steers go-to-protobuf."),
    _go("protobuf.nullable", "Steers go-to-protobuf."),
    _go("protobuf.options.marshal", "Steers go-to-protobuf."),
    _go("protobuf.options.(gogoproto.goproto_stringer)", "Steers go-to-protobuf."),
    _go("protobuf.as", "Steers go-to-protobuf."),
    _go("protobuf.embed", "Steers go-to-protobuf."),
    _go("protobuf.castrepeated", "Steers go-to-protobuf."),
    _go("patchStrategy", "Strategic merge patch of built-in types; a custom resource uses `+listType`."),
    _go("patchMergeKey", "Strategic merge patch of built-in types; a custom resource uses `+listMapKey`."),
    _go("union", "Marks a union for documentation."),
    _go("unionDiscriminator", "Marks a union for documentation."),
    _go("unionDeprecated", "Marks a union for documentation."),
    _go("featureGate", "Names a feature gate for documentation."),
    _go("enum", "Marks an enumeration for openapi-gen; `+k8s:enum` is the one that has an effect."),
)
