package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "example.com/pykb/benchmarks/scaffolded/api/v1"
)

// VirtulMachineReconciler brings machines to their desired state.
type VirtulMachineReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines/finalizers,verbs=update

// Reconcile reads the machine and writes its status.
func (r *VirtulMachineReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	machine := &infrav1.VirtulMachine{}
	if err := r.Get(ctx, req.NamespacedName, machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	log.FromContext(ctx).Info("reconciling", "cpu", machine.Spec.CPU)
	machine.Status.Status = "Running"
	return ctrl.Result{}, r.Status().Update(ctx, machine)
}

// SetupWithManager registers the controller.
func (r *VirtulMachineReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&infrav1.VirtulMachine{}).Named("virtulmachine").Complete(r)
}
