package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// How many of a widget's variables its container gets.
const passedOn = 10

// parent keeps a Deployment and a Service for each widget.
//
// By CreateOrUpdate, as most operators in Go do: it compares with the cache and writes nothing when nothing differs,
// where a server-side apply with an apply configuration would be a request each time.
type parent struct{ *reconciler }

func (r parent) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.client.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := metav1.ObjectMeta{Name: widget.Name, Namespace: widget.Namespace}
	deployment := &appsv1.Deployment{ObjectMeta: name}
	_, err := controllerutil.CreateOrUpdate(ctx, r.client, deployment, func() error {
		wantDeployment(deployment, &widget)
		return controllerutil.SetControllerReference(&widget, deployment, r.client.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	service := &corev1.Service{ObjectMeta: name}
	_, err = controllerutil.CreateOrUpdate(ctx, r.client, service, func() error {
		service.Spec.ClusterIP = corev1.ClusterIPNone // the server has addresses for 254 only
		service.Spec.Selector = labelsOf(&widget)
		// All that is set by default too, or each reconcile would update it.
		service.Spec.Ports = []corev1.ServicePort{
			{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)},
		}
		return controllerutil.SetControllerReference(&widget, service, r.client.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	base := widget.DeepCopy()
	widget.Status.ObservedGeneration = widget.Generation
	widget.Status.Phase = "Ready"
	if !equality.Semantic.DeepEqual(base.Status, widget.Status) {
		if err := r.client.Status().Patch(ctx, &widget, client.MergeFrom(base)); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.handled(request.Name)
	return ctrl.Result{}, nil
}

func labelsOf(widget *Widget) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "widget", "app.kubernetes.io/instance": widget.Name}
}

// wantDeployment sets what the widget asks for and leaves what the server has set by default.
func wantDeployment(deployment *appsv1.Deployment, widget *Widget) {
	replicas := int32(widget.Spec.Replicas)
	deployment.Spec.Replicas = &replicas
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labelsOf(widget)}
	deployment.Spec.Template.Labels = labelsOf(widget)
	pod := &deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		pod.Containers = []corev1.Container{{}}
	}
	container := &pod.Containers[0]
	container.Name = "widget"
	container.Image = widget.Spec.Image
	container.Ports = []corev1.ContainerPort{{ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	container.Env = make([]corev1.EnvVar, 0, passedOn)
	for _, each := range widget.Spec.Env[:min(passedOn, len(widget.Spec.Env))] {
		container.Env = append(container.Env, corev1.EnvVar{Name: each.Name, Value: each.Value})
	}
}
