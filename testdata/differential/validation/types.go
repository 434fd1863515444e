// +groupName=validation.example.com
// +versionName=v1alpha1
package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Word has rules of its own.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[a-z]+$`
type Word string

// Level is a choice.
// +kubebuilder:validation:Enum=1;2;3
type Level int32

// Limited says things about itself.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=3
// +kubebuilder:validation:XValidation:rule="has(self.a) || has(self.b)",message="a or b"
// +kubebuilder:title=Limited struct
// +kubebuilder:externalDocs:url="https://example.com/docs",description="more"
type Limited struct {
	// +optional
	A string `json:"a,omitempty"`
	// +kubebuilder:validation:Optional
	B string `json:"b"`
}

// +kubebuilder:pruning:PreserveUnknownFields
type Open struct {
	Known string `json:"known"`
}

// Choice has groups.
// +kubebuilder:validation:XValidation:rule="true"
// +kubebuilder:validation:ExactlyOneOf=c;d
// +kubebuilder:validation:AtMostOneOf=a;b
// +kubebuilder:validation:AtMostOneOf=b;c
// +kubebuilder:validation:AtLeastOneOf=a;b;c
type Choice struct {
	// +optional
	A string `json:"a,omitempty"`
	// +optional
	B string `json:"b,omitempty"`
	// +optional
	C string `json:"c,omitempty"`
	// +optional
	D string `json:"d,omitempty"`
}

// Frozen has fields that stay.
type Frozen struct {
	// +k8s:immutable
	Required string `json:"required"`
	// +k8s:immutable
	// +optional
	Optional string `json:"optional,omitempty"`
}

// Tuned is the spec.
type Tuned struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Count int32 `json:"count"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=1000000
	// +kubebuilder:validation:ExclusiveMaximum=true
	// +kubebuilder:validation:MultipleOf=5
	Step int64 `json:"step,omitempty"`
	// +kubebuilder:validation:Minimum=-5
	Negative int `json:"negative,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Name string `json:"name"`
	// +kubebuilder:validation:Pattern=`^\d+$`
	Digits string `json:"digits,omitempty"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:Pattern=`^x`
	Words []string `json:"words"`
	// +kubebuilder:validation:items:Minimum=1
	Numbers []int32 `json:"numbers,omitempty"`
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=4
	Labels map[string]string `json:"labels,omitempty"`
	// +kubebuilder:validation:Enum=Always;Never;"On Failure"
	Policy string `json:"policy,omitempty"`
	// +kubebuilder:validation:Enum={1,2,4}
	Power int32 `json:"power,omitempty"`
	// +kubebuilder:validation:Format=date-time
	When string `json:"when,omitempty"`
	// +kubebuilder:validation:Format=ipv4
	Address string `json:"address,omitempty"`
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:XPreserveUnknownFields
	Weird string `json:"weird,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Free Limited `json:"free,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Object Limited `json:"object,omitempty"`
	// +kubebuilder:validation:XEmbeddedResource
	// +kubebuilder:validation:XPreserveUnknownFields
	Other Limited `json:"other,omitempty"`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^\d+%?$`
	Percent string `json:"percent,omitempty"`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	Either intstr.IntOrString `json:"either,omitempty"`
	// +nullable
	Nothing *string `json:"nothing"`
	// +optional
	OptionalA string `json:"optionalA"`
	// +required
	RequiredA string `json:"requiredA,omitempty"`
	// +kubebuilder:validation:Required
	RequiredB string `json:"requiredB,omitempty"`
	// +kubebuilder:validation:Optional
	OptionalB string `json:"optionalB"`
	// +k8s:optional
	OptionalC string `json:"optionalC"`
	// +k8s:required
	RequiredC string `json:"requiredC,omitempty"`
	// +kubebuilder:default=3
	DefaultNumber int32 `json:"defaultNumber,omitempty"`
	// +kubebuilder:default="some text"
	DefaultText string `json:"defaultText,omitempty"`
	// +kubebuilder:default=plain
	DefaultWord string `json:"defaultWord,omitempty"`
	// +kubebuilder:default=true
	DefaultFlag bool `json:"defaultFlag,omitempty"`
	// +kubebuilder:default={a,b}
	DefaultList []string `json:"defaultList,omitempty"`
	// +kubebuilder:default={}
	DefaultEmpty []string `json:"defaultEmpty,omitempty"`
	// +kubebuilder:default={a:"x"}
	DefaultObject Limited `json:"defaultObject,omitempty"`
	// +kubebuilder:default={{a:"x"},{b:"y"}}
	DefaultObjects []Limited `json:"defaultObjects,omitempty"`
	// +default={"a":"x"}
	DefaultJSON Limited `json:"defaultJSON,omitempty"`
	// +default=[1,2]
	DefaultNumbers []int32 `json:"defaultNumbers,omitempty"`
	// +kubebuilder:example=hello
	Example string `json:"example,omitempty"`
	// +kubebuilder:title=The title
	Titled string `json:"titled,omitempty"`
	// +kubebuilder:externalDocs:url="https://example.com"
	Documented string `json:"documented,omitempty"`
	// A word, tightened.
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:Pattern=`^[a-f]+$`
	Tight Word `json:"tight,omitempty"`
	// +kubebuilder:validation:MaxLength=20
	Same Word `json:"same,omitempty"`
	Level Level `json:"level,omitempty"`
	Limited Limited `json:"limited,omitempty"`
	Open Open `json:"open,omitempty"`
	Choice Choice `json:"choice,omitempty"`
	Frozen Frozen `json:"frozen,omitempty"`
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self.all(x, x > 0)",message="all positive",reason="FieldValueInvalid"
	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self == oldSelf.value()",messageExpression="'changed'",optionalOldSelf=true
	Checked []int64 `json:"checked,omitempty"`
	// +kubebuilder:validation:XValidation:rule="has(self.a)",fieldPath=".a"
	CheckedStruct Limited `json:"checkedStruct,omitempty"`
	// +k8s:minimum=2
	// +k8s:maximum=8
	Bounded int32 `json:"bounded,omitempty"`
	// +k8s:maxItems=3
	Few []string `json:"few,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() < 20"
type Tune struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Tuned `json:"spec"`
}
