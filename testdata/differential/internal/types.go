// +groupName=internal.example.com
// +versionName=v1
// +kubebuilder:skip
package internal

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Hidden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
