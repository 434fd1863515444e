package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type WidgetSpec struct {
	Replicas int64             `json:"replicas"`
	Image    string            `json:"image"`
	Env      []EnvVar          `json:"env,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

type WidgetStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Phase              string `json:"phase,omitempty"`
}

type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	Spec              WidgetSpec   `json:"spec"`
	Status            WidgetStatus `json:"status,omitempty,omitzero"`
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

func (in *WidgetSpec) DeepCopy() WidgetSpec {
	out := *in
	out.Env = append([]EnvVar(nil), in.Env...)
	if in.Limits != nil {
		out.Limits = make(map[string]string, len(in.Limits))
		for key, value := range in.Limits {
			out.Limits[key] = value
		}
	}
	return out
}

func (in *Widget) DeepCopy() *Widget {
	out := &Widget{TypeMeta: in.TypeMeta, Spec: in.Spec.DeepCopy(), Status: in.Status}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (in *Widget) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: in.TypeMeta, Items: make([]Widget, 0, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopy())
	}
	return out
}
