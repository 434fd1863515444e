package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Of how many changes one leads to a write, in churn.
const seldom = 20

type reconciler struct {
	client client.Client
	mode   string
	count  int
	mutex  sync.Mutex
	seen   map[string]bool
}

func (r *reconciler) handled(name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.seen[name] {
		r.seen[name] = true
		if len(r.seen) == r.count {
			fmt.Println("done")
		}
	}
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	started := time.Now().UnixNano()
	var widget Widget
	if err := r.client.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.mode == "latency" {
		fmt.Println(widget.Name, widget.ResourceVersion, started)
	}
	if r.isToBeWritten(&widget) {
		base := widget.DeepCopy()
		widget.Status.ObservedGeneration = widget.Generation
		widget.Status.Phase = "Ready"
		if err := r.client.Status().Patch(ctx, &widget, client.MergeFrom(base)); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.handled(request.Name)
	return ctrl.Result{}, nil
}

// isToBeWritten says whether the status is: of each object once, or seldom.
func (r *reconciler) isToBeWritten(widget *Widget) bool {
	switch r.mode {
	case "status":
		return widget.Status.ObservedGeneration != widget.Generation
	case "churn":
		return widget.Spec.Replicas%seldom == 0 && widget.Status.ObservedGeneration != widget.Generation
	default:
		return false
	}
}
