"""The synthetic kinds in Go: one package per group, one file per kind, as in kubebuilder's layout."""

from __future__ import annotations

from pathlib import Path

from benchmarks.synthetic.fields import KINDS_PER_GROUP, ON_KIND, Field, fields_of

_FILE = """\
package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A network and an address in it.
type {kind}Network struct {{
	// Network by its name.
	// +kubebuilder:validation:MinLength=1
	Network string `json:"network"`
	// Address in it.
	// +optional
	// +kubebuilder:validation:Format=ipv4
	Address string `json:"address,omitempty"`
	// Weight among others.
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}}

// A port with a name.
type {kind}Port struct {{
	// Name of it.
	Name string `json:"name"`
	// Number of it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}}

// Desired state of {kind}.
type {kind}Spec struct {{
{fields}
}}

// Observed state of {kind}.
type {kind}Status struct {{
	// Conditions of it, one of a type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Number of those that are ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
}}

{markers}

// {kind} is made up.
type {kind} struct {{
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec {kind}Spec `json:"spec"`
	// +optional
	Status {kind}Status `json:"status,omitempty"`
}}

// +kubebuilder:object:root=true

// {kind}List has several of them.
type {kind}List struct {{
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items []{kind} `json:"items"`
}}

// Go wants imports to be used.
var _ = []any{{corev1.Pod{{}}, resource.Quantity{{}}, intstr.IntOrString{{}}}}
"""

_GROUP = """\
// +kubebuilder:object:generate=true
// +groupName={group}.example.com
package v1
"""


def write_go(folder: Path, kinds: int) -> None:
    """Write the kinds below the folder of a Go module."""
    for number in range(kinds):
        group, kind = f"g{number // KINDS_PER_GROUP}", f"Kind{number}"
        package = folder / "api" / group / "v1"
        if not package.exists():
            package.mkdir(parents=True)
            (package / "groupversion_info.go").write_text(_GROUP.format(group=group), encoding="utf-8")
        text = _FILE.format(
            kind=kind,
            fields="\n".join(_field(field, kind) for field in fields_of(number)),
            markers="\n".join(f"// +{marker}" for marker in ("kubebuilder:object:root=true", *ON_KIND)),
        )
        (package / f"kind{number}_types.go").write_text(text, encoding="utf-8")


def _field(field: Field, kind: str) -> str:
    comments = [*field.text.splitlines(), *(f"+{marker}" for marker in field.markers)]
    return "\n".join([*(f"\t// {line}" for line in comments), f"\t{field.go.replace('{kind}', kind)}"])
