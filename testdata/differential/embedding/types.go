// +groupName=embedding.example.com
// +versionName=v1
package embedding

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// First is embedded.
// +kubebuilder:validation:XValidation:rule="has(self.a)",message="first"
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

// Grand is embedded twice removed.
// +kubebuilder:validation:XValidation:rule="has(self.g)",message="grandparent"
// +structType=atomic
type Grand struct {
	G string `json:"g,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.p)",message="parent"
// +kubebuilder:validation:XValidation:rule="self.p != 'x'",message="parent again"
type Parent struct {
	Grand `json:",inline"`

	P string `json:"p,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.o)",message="other parent"
type OtherParent struct {
	First `json:",inline"`

	O string `json:"o,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.q)",message="own"
type Child struct {
	Parent      `json:",inline"`
	OtherParent `json:",inline"`

	Q string `json:"q,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.r)",message="of the youngest"
type GrandChild struct {
	Child `json:",inline"`

	R string `json:"r,omitempty"`
}

// Wrapped has no text of its own at its use.
type Wrapped struct {
	Both Both `json:"both"`
	// List of both.
	// +kubebuilder:validation:XValidation:rule="self.size() > 0"
	Lots []First `json:"lots,omitempty"`
	// +kubebuilder:validation:XValidation:rule="has(self.a)",message="at the field"
	Other Both `json:"other,omitempty"`
	Chain *Parent `json:"chain,omitempty"`
	// +kubebuilder:validation:XValidation:rule="has(self.r)",message="at the field"
	Tree *GrandChild `json:"tree,omitempty"`
}

// +kubebuilder:object:root=true
type Outer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Wrapped `json:"spec"`
}
