// +groupName=texts.example.com
// +versionName=v1
package texts

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Page has texts. This sentence is cut away since it is too long.
//
// +kubebuilder:object:root=true
type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// No sentence end in here but many words follow each other up to the end
	A string `json:"a,omitempty"`
	// Short.
	B string `json:"b,omitempty"`
	// Ünïcödé çhàrâctérs àré cöûntéd ïn bytés, nöt çhàrs
	C string `json:"c,omitempty"`
	// Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
	D string `json:"d,omitempty"`
	// ```
	// TODO: kept, since it is
	// ```
	E string `json:"e,omitempty"`
	// Is it? Yes! And so on, and so on, and so on, and on.
	F string `json:"f,omitempty"`
}
