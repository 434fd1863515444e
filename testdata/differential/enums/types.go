// +groupName=enums.example.com
// +versionName=v1
package enums

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Phase of life.
// +k8s:enum
type Phase string

const (
	PhaseYoung Phase = "Young"
	PhaseOld   Phase = "Old"
	PhaseDead  Phase = "dead"
)

// +kubebuilder:validation:Enum=b;a
type Letter string

// +kubebuilder:object:root=true
type Creature struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default=Young
	Phase Phase `json:"phase"`
	Letters []Letter `json:"letters,omitempty"`
	ByName map[string]Phase `json:"byName,omitempty"`
	// +kubebuilder:validation:Enum=on;"off";"1"
	Odd string `json:"odd,omitempty"`
}
