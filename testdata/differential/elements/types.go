// +groupName=elements.example.com
// +versionName=v1
package elements

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Part is a struct.
type Part struct {
	Name string `json:"name"`
}

// Bounded is a type of its own.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:ExclusiveMinimum=true
// +kubebuilder:validation:Maximum=9
// +kubebuilder:validation:ExclusiveMaximum=true
// +kubebuilder:validation:MultipleOf=2
type Bounded int32

// Included is a type of its own.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:ExclusiveMinimum=false
// +kubebuilder:validation:Maximum=9
// +kubebuilder:validation:ExclusiveMaximum=false
type Included int64

// Address is a type of its own.
// +kubebuilder:validation:Format=ipv4
type Address string

// Names is a type of its own.
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=4
// +kubebuilder:validation:UniqueItems=false
type Names []string

// Number is a type of its own.
// +kubebuilder:validation:Type=string
type Number int64

// Raw is a type of its own.
// +kubebuilder:validation:XPreserveUnknownFields
// +kubebuilder:validation:XEmbeddedResource
type Raw Part

// Either is a type of its own.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=4
type Either intstr.IntOrString

// Parts is a type of its own.
// +listType=map
// +listMapKey=name
type Parts []Part

// Pieces is a type of its own.
// +k8s:listType=map
// +k8s:listMapKey=name
type Pieces []Part

// Choices is a type of its own.
// +kubebuilder:validation:items:Enum=a;b
type Choices []string

// Steps is a type of its own.
// +kubebuilder:validation:items:Minimum=1
// +kubebuilder:validation:items:ExclusiveMinimum=true
// +kubebuilder:validation:items:Maximum=9
// +kubebuilder:validation:items:ExclusiveMaximum=true
// +kubebuilder:validation:items:MultipleOf=2
type Steps []int32

// Words is a type of its own.
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=9
// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
type Words []string

// Addresses is a type of its own.
// +kubebuilder:validation:items:Format=ipv6
type Addresses []string

// Rows is a type of its own.
// +kubebuilder:validation:items:MinItems=1
// +kubebuilder:validation:items:MaxItems=3
// +kubebuilder:validation:items:UniqueItems=false
type Rows [][]string

// Maps is a type of its own.
// +kubebuilder:validation:items:MinProperties=1
// +kubebuilder:validation:items:MaxProperties=3
type Maps []map[string]string

// Numbers is a type of its own.
// +kubebuilder:validation:items:Type=string
type Numbers []int64

// Objects is a type of its own.
// +kubebuilder:validation:items:XPreserveUnknownFields
// +kubebuilder:validation:items:XEmbeddedResource
type Objects []Part

// Percents is a type of its own.
// +kubebuilder:validation:items:XIntOrString
type Percents []intstr.IntOrString

// Checked is a type of its own.
// +kubebuilder:validation:MaxItems=5
// +kubebuilder:validation:items:MaxLength=20
// +kubebuilder:validation:items:XValidation:rule="self != ''",message="must not be empty",reason="FieldValueInvalid"
type Checked []string

// PlanSpec has all of them.
type PlanSpec struct {
	Bounded Bounded `json:"bounded,omitempty"`
	Included Included `json:"included,omitempty"`
	Address Address `json:"address,omitempty"`
	Names Names `json:"names,omitempty"`
	Number Number `json:"number,omitempty"`
	Raw Raw `json:"raw,omitempty"`
	Either Either `json:"either,omitempty"`
	Parts Parts `json:"parts,omitempty"`
	Pieces Pieces `json:"pieces,omitempty"`
	Choices Choices `json:"choices,omitempty"`
	Steps Steps `json:"steps,omitempty"`
	Words Words `json:"words,omitempty"`
	Addresses Addresses `json:"addresses,omitempty"`
	Rows Rows `json:"rows,omitempty"`
	Maps Maps `json:"maps,omitempty"`
	Numbers Numbers `json:"numbers,omitempty"`
	Objects Objects `json:"objects,omitempty"`
	Percents Percents `json:"percents,omitempty"`
	Checked Checked `json:"checked,omitempty"`
	// +kubebuilder:validation:items:Enum=a;b
	PlainChoices []string `json:"plainChoices,omitempty"`
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:ExclusiveMinimum=true
	// +kubebuilder:validation:items:Maximum=9
	// +kubebuilder:validation:items:ExclusiveMaximum=true
	// +kubebuilder:validation:items:MultipleOf=2
	PlainSteps []int32 `json:"plainSteps,omitempty"`
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=9
	// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
	PlainWords []string `json:"plainWords,omitempty"`
	// +kubebuilder:validation:items:Format=ipv6
	PlainAddresses []string `json:"plainAddresses,omitempty"`
	// +kubebuilder:validation:items:MinItems=1
	// +kubebuilder:validation:items:MaxItems=3
	// +kubebuilder:validation:items:UniqueItems=false
	PlainRows [][]string `json:"plainRows,omitempty"`
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=3
	PlainMaps []map[string]string `json:"plainMaps,omitempty"`
	// +kubebuilder:validation:items:Type=string
	PlainNumbers []int64 `json:"plainNumbers,omitempty"`
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:items:XEmbeddedResource
	PlainObjects []Part `json:"plainObjects,omitempty"`
	// +kubebuilder:validation:items:XIntOrString
	PlainPercents []intstr.IntOrString `json:"plainPercents,omitempty"`
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:items:XValidation:rule="self != ''",message="must not be empty",reason="FieldValueInvalid"
	PlainChecked []string `json:"plainChecked,omitempty"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:UniqueItems=false
	PlainNames []string `json:"plainNames,omitempty"`
	// +kubebuilder:validation:Type=object
	PlainObject *apiextensionsv1.JSON `json:"plainObject,omitempty"`
	// +kubebuilder:validation:Type=string
	PlainText *apiextensionsv1.JSON `json:"plainText,omitempty"`
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:XEmbeddedResource
	PlainResource *apiextensionsv1.JSON `json:"plainResource,omitempty"`
	// +kubebuilder:validation:items:Type=object
	PlainResources []apiextensionsv1.JSON `json:"plainResources,omitempty"`
	// +kubebuilder:validation:items:Type=object
	// +kubebuilder:validation:items:XPreserveUnknownFields
	PlainBlobs []apiextensionsv1.JSON `json:"plainBlobs,omitempty"`
}

// +kubebuilder:object:root=true
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PlanSpec `json:"spec,omitempty"`
}
