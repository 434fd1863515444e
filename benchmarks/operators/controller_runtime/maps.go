package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// untyped does the same on maps.
type untyped struct{ *reconciler }

func newWidget() *unstructured.Unstructured {
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("bench.example.com/v1")
	widget.SetKind("Widget")
	return widget
}

func (r untyped) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	widget := newWidget()
	if err := r.client.Get(ctx, request.NamespacedName, widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	observed, _, _ := unstructured.NestedInt64(widget.Object, "status", "observedGeneration")
	if r.mode == "status" && observed != widget.GetGeneration() {
		base := widget.DeepCopy()
		status := map[string]any{"observedGeneration": widget.GetGeneration(), "phase": "Ready"}
		if err := unstructured.SetNestedMap(widget.Object, status, "status"); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.client.Status().Patch(ctx, widget, client.MergeFrom(base)); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.handled(request.Name)
	return ctrl.Result{}, nil
}
