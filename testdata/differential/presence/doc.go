// +kubebuilder:validation:Optional
package presence
