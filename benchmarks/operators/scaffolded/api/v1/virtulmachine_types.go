package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtulMachineSpec is the desired state.
type VirtulMachineSpec struct {
	// CPU is the number of virtual CPUs.
	CPU string `json:"cpu"`
	// Memory is its size.
	Memory string `json:"memory"`
}

// VirtulMachineStatus is the observed state.
type VirtulMachineStatus struct {
	// +optional
	Status string `json:"status,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.status`

// VirtulMachine is a machine.
type VirtulMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VirtulMachineSpec   `json:"spec"`
	Status VirtulMachineStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// VirtulMachineList has several.
type VirtulMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtulMachine `json:"items"`
}

func init() {
	SchemeBuilder.Register(&VirtulMachine{}, &VirtulMachineList{})
}
