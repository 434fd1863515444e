// Package fields has a field of every shape that both languages know.
// +groupName=fields.example.com
// +versionName=v1
package fields

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Mode says how it runs.
// A second line of the text.
// +kubebuilder:validation:Enum=Fast;Slow
type Mode string

// PortNumber is a port.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=65535
type PortNumber int32

// Names is a list with rules of its own.
// +kubebuilder:validation:MaxItems=8
type Names []string

// Inner is a nested struct.
type Inner struct {
	// Name of the inner thing.
	Name string `json:"name"`

	Count int32 `json:"count,omitempty"`
}

// Common is embedded into others.
type Common struct {
	// Owner comes from the embedded struct.
	Owner string `json:"owner"`
	// Notes too.
	Notes string `json:"notes,omitempty"`
}

// WidgetSpec has one field of each shape.
type WidgetSpec struct {
	Common `json:",inline"`

	// Text is a string.
	Text string `json:"text"`
	// OptionalText is one that may be missing.
	OptionalText *string `json:"optionalText,omitempty"`
	Flag bool `json:"flag,omitempty"`
	Whole int `json:"whole"`
	Small int32 `json:"small,omitempty"`
	Large *int64 `json:"large,omitempty"`
	Data []byte `json:"data,omitempty"`
	List []string `json:"texts,omitempty"`
	Matrix [][]int32 `json:"matrix,omitempty"`
	Map map[string]string `json:"map,omitempty"`
	MapOfLists map[string][]string `json:"mapOfLists,omitempty"`
	MapOfStructs map[string]Inner `json:"mapOfStructs,omitempty"`
	// Struct is nested.
	Struct Inner `json:"struct"`
	OptionalStruct *Inner `json:"optionalStruct,omitempty"`
	Structs []Inner `json:"structs,omitempty"`
	Mode Mode `json:"mode,omitempty"`
	// Described is a mode with a text of its own.
	Described Mode `json:"described,omitempty"`
	Modes []Mode `json:"modes,omitempty"`
	Port PortNumber `json:"port,omitempty"`
	Ports []PortNumber `json:"ports,omitempty"`
	Names Names `json:"names,omitempty"`
	Time metav1.Time `json:"time,omitempty"`
	MicroTime *metav1.MicroTime `json:"microTime,omitempty"`
	Duration *metav1.Duration `json:"duration,omitempty"`
	Memory resource.Quantity `json:"memory,omitempty"`
	// Limits by name.
	Limits map[string]resource.Quantity `json:"limits,omitempty"`
	Either intstr.IntOrString `json:"either,omitempty"`
	Anything *apiextensionsv1.JSON `json:"anything,omitempty"`
	Raw *runtime.RawExtension `json:"raw,omitempty"`
	HostIP string `json:"hostIP,omitempty"`
	PodIPs []string `json:"podIPs,omitempty"`
	Template *Template `json:"template,omitempty"`
}

// Template has metadata of its own.
type Template struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec of what is made.
	Spec Inner `json:"spec"`
}

// WidgetStatus is observed.
type WidgetStatus struct {
	// Phase in a word.
	Phase string `json:"phase,omitempty"`
	Ready int32 `json:"ready,omitempty"`
}

// Widget is the schema for the widgets API.
//
// It has a second paragraph,
//   - with an indented line.
//
// TODO: this line is dropped.
// Text with 'quotes': and "colons", long enough to be folded by the writer of YAML at eighty columns.
// ---
// Nothing below the dashes is kept.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec,omitempty"`
	Status WidgetStatus `json:"status,omitempty"`
}
