// The peer of benchmarks/runtime.py: the same work on controller-runtime, put together as kubebuilder scaffolds it.
//
// Usage: peer KUBECONFIG MODE COUNT WORKERS [unstructured]. The modes:
//
//	sync     see every object once
//	status   write each object's status once
//	apply    keep a Deployment and a Service for each object, and write its status
//	churn    read each object when it changes, and write its status at every 20th change
//	busy     update each object's status when it changes, with its resource version
//	list     fill the cache, and reconcile nothing
//	idle     watch, with leader election, probes and metrics, as deployed
//	latency  print each object's name, its resource version and the time (Unix, ns) when its reconcile starts
//
// With "unstructured", sync and status hold and read objects as maps, as programs do that have no Go types for them.
//
// Prints "done" when the last of COUNT objects is handled (or, list and idle, when the caches are filled) and runs until
// SIGTERM, and prints "counts" with the number of reconciles and of conflicts.
//
// Usage: peer KUBECONFIG webhook PORT CERTIFICATES: default and validate, with the certificate of that folder.
//
// Usage: peer load URL CONNECTIONS COUNT FILE: ask a webhook server; this is what both programs are asked by.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

var version = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

// counted is the reconciler, whose counts are printed at the end.
var counted *reconciler

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if os.Args[1] == "load" {
		must(load(os.Args[2:]))
		return
	}
	mode := os.Args[2]
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.QPS = -1 // as ctrl.GetConfig does: the server limits, not the client
	count, err := strconv.Atoi(os.Args[3])
	must(err)

	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(version, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, version)

	asMaps := len(os.Args) > 5 && os.Args[5] == "unstructured"
	options := ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "127.0.0.1:0",
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: asMaps}},
	}
	switch mode {
	case "idle":
		options.Metrics = metricsserver.Options{BindAddress: "127.0.0.1:0", SecureServing: true}
		options.LeaderElection = true
		options.LeaderElectionID = "peer.bench.example.com"
		options.LeaderElectionNamespace = "default"
		options.LeaderElectionReleaseOnCancel = true
	case "webhook":
		options.WebhookServer = webhook.NewServer(
			webhook.Options{Host: "127.0.0.1", Port: count, CertDir: os.Args[4]},
		)
	}
	mgr, err := ctrl.NewManager(config, options)
	must(err)
	must(mgr.AddHealthzCheck("healthz", healthz.Ping))
	must(mgr.AddReadyzCheck("readyz", healthz.Ping))
	switch mode {
	case "webhook":
		must(setUpWebhooks(mgr))
		reportWhenServing(mgr)
	case "list":
		reportWhenFilled(mgr, &Widget{})
	default:
		if mode == "idle" {
			reportWhenFilled(mgr)
		}
		workers, err := strconv.Atoi(os.Args[4])
		must(err)
		must(setUpController(mgr, mode, count, workers, asMaps))
	}
	must(mgr.Start(ctrl.SetupSignalHandler()))
	if counted != nil {
		fmt.Println("counts", counted.reconciles.Load(), counted.conflicts.Load())
	}
}

func setUpController(mgr ctrl.Manager, mode string, count, workers int, asMaps bool) error {
	typed := &reconciler{client: mgr.GetClient(), mode: mode, count: count, seen: map[string]bool{}}
	counted = typed
	builder := ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	switch {
	case mode == "apply":
		return builder.For(&Widget{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Complete(parent{typed})
	case asMaps:
		return builder.For(newWidget()).Complete(untyped{typed})
	default:
		return builder.For(&Widget{}).Complete(typed)
	}
}

// reportWhenFilled prints "done" when the caches are, those of the kinds that are named too.
func reportWhenFilled(mgr ctrl.Manager, kinds ...client.Object) {
	must(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for _, kind := range kinds {
			if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
				return err
			}
		}
		mgr.GetCache().WaitForCacheSync(ctx)
		fmt.Println("done")
		return nil
	})))
}

// reportWhenServing prints "done" when webhooks are answered.
func reportWhenServing(mgr ctrl.Manager) {
	must(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		started := mgr.GetWebhookServer().StartedChecker()
		for started(nil) != nil {
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Println("done")
		return nil
	})))
}
