// +groupName=manager.example.com
// +versionName=v1
package manager

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:rbac:groups=manager.example.com,resources=tasks,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=manager.example.com,resources=tasks/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=core,resources=events,verbs=create;patch
// +kubebuilder:rbac:urls=/metrics,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments,resourceNames=web,verbs=get,namespace=system,roleName=reader
// +kubebuilder:webhook:path=/validate-tasks,mutating=false,failurePolicy=fail,sideEffects=None,groups=manager.example.com,resources=tasks,verbs=create;update,versions=v1,name=vtask-v1.kb.io,admissionReviewVersions=v1,timeoutSeconds=9,matchPolicy=Exact
// +kubebuilder:webhook:path=/mutate-tasks,mutating=true,failurePolicy=ignore,sideEffects=NoneOnDryRun,groups=manager.example.com,resources=tasks,verbs=create,versions=v1,name=mtask-v1.kb.io,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,servicePort=9443,serviceName=hooks,serviceNamespace=tasks
// +kubebuilder:webhookconfiguration:mutating=true,name=task-defaults
// +kubebuilder:webhookconfiguration:mutating=false,name=task-checks

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TaskSpec `json:"spec,omitempty"`
	Status TaskSpec `json:"status,omitempty"`
}

type TaskSpec struct {
	Name string `json:"name"`
}
