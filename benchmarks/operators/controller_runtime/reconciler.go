package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
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

	reconciles atomic.Int64
	conflicts  atomic.Int64
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
	r.reconciles.Add(1)
	var widget Widget
	if err := r.client.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.mode == "latency" {
		fmt.Println(widget.Name, widget.ResourceVersion, started)
	}
	if r.mode == "busy" {
		if err := r.update(ctx, &widget); err != nil {
			return ctrl.Result{}, err
		}
	} else if r.isToBeWritten(&widget) {
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

// update writes the status with the resource version that was read.
func (r *reconciler) update(ctx context.Context, widget *Widget) error {
	if widget.Status.ObservedGeneration == widget.Generation {
		return nil
	}
	widget.Status.ObservedGeneration = widget.Generation
	widget.Status.Phase = "Ready"
	err := r.client.Status().Update(ctx, widget)
	if errors.IsConflict(err) {
		r.conflicts.Add(1)
	}
	return err
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
