// +groupName=ported.example.com
// +versionName=v1
// +kubebuilder:validation:Required
// +kubebuilder:object:generate=true
// +k8s:deepcopy-gen=package
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package=applied
// +groupGoName=Ported
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.example.ported
// +k8s:defaulter-gen=TypeMeta
// +k8s:defaulter-gen-input=example.com/ported
// +k8s:conversion-gen=example.com/ported
// +k8s:conversion-gen-external-types=example.com/ported/v1
// +k8s:register-gen=package
// +k8s:prerelease-lifecycle-gen=true
// +k8s:protobuf-gen=package
// +k8s:validation-gen=TypeMeta
// +k8s:validation-gen-input=example.com/ported
// +k8s:validation-gen-scheme-registry=nil
// +k8s:validation-gen-test-fixture=none
package ported

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Port has what Go's generators read.
// +genclient
// +genclient:nonNamespaced
// +genclient:noVerbs
// +genclient:onlyVerbs=get;list
// +genclient:skipVerbs=deleteCollection
// +genclient:noStatus
// +genclient:readonly
// +genclient:method=GetScale,verb=get,subresource=scale
// +kubebuilder:object:root=true
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=false
// +kubebuilder:conversion:hub
// +k8s:deepcopy-gen=true
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:deepcopy-gen:nonpointer-interfaces=true
// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:conversion-fn=drop
// +k8s:prerelease-lifecycle-gen:introduced=1.1
// +k8s:prerelease-lifecycle-gen:deprecated=1.2
// +k8s:prerelease-lifecycle-gen:removed=1.3
// +k8s:prerelease-lifecycle-gen:replacement=ported.example.com,v2,Port
// +k8s:supportsSubresource="/scale"
// +k8s:isSubresource="/scale"
// +k8s:customValidation
// +protobuf=true
// +protobuf.options.marshal=false
// +protobuf.options.(gogoproto.goproto_stringer)=false
// +featureGate=Porting
// +union
type Port struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Names of the port.
	// +patchStrategy=merge
	// +patchMergeKey=name
	// +unionDiscriminator
	// +unionDeprecated
	// +protobuf.nullable=true
	// +protobuf.as=Text
	// +protobuf.embed=Text
	// +protobuf.castrepeated=Text
	// +enum
	// +k8s:customUnique
	// +k8s:enumExclude
	// +k8s:ifEnabled(Feature)=+k8s:required
	// +k8s:ifDisabled(Feature)=+k8s:required
	// +k8s:validateTrue="a"
	// +k8s:validateFalse="b"
	// +k8s:validateError="c"
	Names []string `json:"names"`
}
