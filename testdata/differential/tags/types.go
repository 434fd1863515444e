// +groupName=tags.example.com
// +versionName=v1
package tags

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Part struct {
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=9
	Zone string `json:"zone,omitempty"`
}

type TagSpec struct {
	// +k8s:minLength=2
	// +k8s:maxLength=9
	// +optional
	Text string `json:"text,omitempty"`
	// +k8s:maxBytes=16
	// +optional
	Bytes string `json:"bytes,omitempty"`
	// +k8s:minItems=1
	// +k8s:eachVal=+k8s:maxLength=9
	// +optional
	Words []string `json:"words,omitempty"`
	// +k8s:minProperties=1
	// +k8s:maxProperties=4
	// +k8s:eachKey=+k8s:maxLength=9
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +k8s:format=k8s-short-name
	// +optional
	Short string `json:"short,omitempty"`
	// +k8s:neq="default"
	// +optional
	Other string `json:"other,omitempty"`
	// +k8s:forbidden
	// +optional
	Never string `json:"never,omitempty"`
	// +k8s:maxItems=4
	// +k8s:unique=set
	// +optional
	Unique []string `json:"unique,omitempty"`
	// +k8s:alpha(since: "1.36")=+k8s:minimum=1
	// +k8s:beta(since: "1.36")=+k8s:maximum=5
	// +optional
	Stage int32 `json:"stage,omitempty"`
	// +k8s:monotonic
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// +k8s:update=NoModify
	// +optional
	Fixed string `json:"fixed,omitempty"`
	// +k8s:dependentRequired(text)
	// +optional
	With string `json:"with,omitempty"`
	// +k8s:dependentForbidden(never)
	// +optional
	Without string `json:"without,omitempty"`
	// +k8s:opaqueType
	// +optional
	Opaque Part `json:"opaque,omitempty"`
	// +k8s:subfield(zone)=+k8s:minLength=2
	// +optional
	Inner Part `json:"inner,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +k8s:maxItems=4
	// +k8s:item(name: "a")=+k8s:required
	// +optional
	Items []Part `json:"items,omitempty"`
	// +k8s:unionDiscriminator
	// +optional
	Mode string `json:"mode,omitempty"`
	// +k8s:unionMember(memberName: "Left")
	// +optional
	Left string `json:"left,omitempty"`
	// +k8s:unionMember(memberName: "Right")
	// +optional
	Right string `json:"right,omitempty"`
	// +k8s:zeroOrOneOfMember(union: "second")
	// +optional
	First string `json:"first,omitempty"`
	// +k8s:zeroOrOneOfMember(union: "second")
	// +optional
	Second string `json:"second,omitempty"`
	// +k8s:discriminator
	// +optional
	By string `json:"by,omitempty"`
	// +k8s:member("Part")=+k8s:required
	// +optional
	Part string `json:"part,omitempty"`
	// +k8s:modeDiscriminator
	// +optional
	Way string `json:"way,omitempty"`
	// +k8s:ifMode("Road")=+k8s:required
	// +optional
	Road string `json:"road,omitempty"`
}

// +kubebuilder:object:root=true
type Tag struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TagSpec `json:"spec,omitempty"`
}
