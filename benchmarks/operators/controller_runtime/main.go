// The peer of benchmarks/runtime.py: the same work on controller-runtime, put together as kubebuilder scaffolds it.
//
// Usage: peer KUBECONFIG MODE COUNT WORKERS [unstructured]. The modes:
//
//	sync     see every object once
//	status   write each object's status once
//	idle     watch, with leader election, probes and metrics, as deployed
//	latency  print each object's name, its resource version and the time (Unix, ns) when its reconcile starts
//
// With "unstructured", sync and status hold and read objects as maps, as programs do that have no Go types for them.
//
// Prints "done" when the last of COUNT objects is handled (or, idle, when the caches are filled) and runs until SIGTERM.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
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

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	started := time.Now().UnixNano()
	var widget Widget
	if err := r.client.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.mode == "latency" {
		fmt.Println(widget.Name, widget.ResourceVersion, started)
	}
	if r.mode == "status" && widget.Status.ObservedGeneration != widget.Generation {
		base := widget.DeepCopy()
		widget.Status = WidgetStatus{ObservedGeneration: widget.Generation, Phase: "Ready"}
		if err := r.client.Status().Patch(ctx, &widget, client.MergeFrom(base)); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.handled(request.Name)
	return ctrl.Result{}, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	mode := os.Args[2]
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.QPS = -1 // as ctrl.GetConfig does: the server limits, not the client
	count, err := strconv.Atoi(os.Args[3])
	must(err)
	workers, err := strconv.Atoi(os.Args[4])
	must(err)

	asMaps := len(os.Args) > 5 && os.Args[5] == "unstructured"

	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	version := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, version)

	options := ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "127.0.0.1:0",
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: asMaps}},
	}
	if mode == "idle" {
		options.Metrics = metricsserver.Options{BindAddress: "127.0.0.1:0", SecureServing: true}
		options.LeaderElection = true
		options.LeaderElectionID = "peer.bench.example.com"
		options.LeaderElectionNamespace = "default"
		options.LeaderElectionReleaseOnCancel = true
	}
	mgr, err := ctrl.NewManager(config, options)
	must(err)
	must(mgr.AddHealthzCheck("healthz", healthz.Ping))
	must(mgr.AddReadyzCheck("readyz", healthz.Ping))
	if mode == "idle" {
		must(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			mgr.GetCache().WaitForCacheSync(ctx)
			fmt.Println("done")
			return nil
		})))
	}
	typed := &reconciler{client: mgr.GetClient(), mode: mode, count: count, seen: map[string]bool{}}
	builder := ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if asMaps {
		must(builder.For(newWidget()).Complete(untyped{typed}))
	} else {
		must(builder.For(&Widget{}).Complete(typed))
	}
	must(mgr.Start(ctrl.SetupSignalHandler()))
}
