// +groupName=embedding.example.com
// +versionName=v1
package embedding

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// First is embedded.
// +kubebuilder:validation:XValidation:rule="has(self.a)",message="first"
// +structType=atomic
type First struct {
	// A of the first.
	A string `json:"a,omitempty"`
}

// Second is embedded too.
// +kubebuilder:validation:XValidation:rule="has(self.b)",message="second"
// +kubebuilder:validation:MinProperties=1
type Second struct {
	// +kubebuilder:validation:MinLength=1
	B string `json:"b,omitempty"`
	// +k8s:immutable
	Fixed string `json:"fixed,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.c)",message="own"
type Both struct {
	First `json:",inline"`
	Second `json:",inline"`

	C string `json:"c,omitempty"`
}

// Wrapped has no text of its own at its use.
type Wrapped struct {
	Both Both `json:"both"`
	// List of both.
	// +kubebuilder:validation:XValidation:rule="self.size() > 0"
	Lots []First `json:"lots,omitempty"`
	// +kubebuilder:validation:XValidation:rule="has(self.a)",message="at the field"
	Other Both `json:"other,omitempty"`
}

// +kubebuilder:object:root=true
type Outer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Wrapped `json:"spec"`
}
