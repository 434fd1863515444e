// The peer of benchmarks/runtime.py: the same work on controller-runtime.
//
// Usage: peer KUBECONFIG MODE COUNT WORKERS; MODE is "sync" (see every object) or "status" (write each one's status).
// Ends when the last of COUNT objects is done.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
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
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec"`
	Status            WidgetStatus `json:"status,omitempty"`
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

type reconciler struct {
	client client.Client
	write  bool
	count  int
	done   func()
	mutex  sync.Mutex
	seen   map[string]bool
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.client.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.write && widget.Status.ObservedGeneration != widget.Generation {
		base := widget.DeepCopy()
		widget.Status = WidgetStatus{ObservedGeneration: widget.Generation, Phase: "Ready"}
		if err := r.client.Status().Patch(ctx, &widget, client.MergeFrom(base)); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.seen[request.Name] = true
	if len(r.seen) == r.count {
		r.done()
	}
	return ctrl.Result{}, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	log.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{}))
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.QPS = -1 // as ctrl.GetConfig does: the server limits, not the client
	count, err := strconv.Atoi(os.Args[3])
	must(err)
	workers, err := strconv.Atoi(os.Args[4])
	must(err)

	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, version)

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	must(ctrl.NewControllerManagedBy(manager).
		For(&Widget{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{
			client: manager.GetClient(),
			write:  os.Args[2] == "status",
			count:  count,
			done:   stop,
			seen:   map[string]bool{},
		}))
	must(manager.Start(ctx))
}
