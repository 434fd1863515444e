package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type defaulter struct{}

func (defaulter) Default(_ context.Context, widget *Widget) error {
	if widget.Spec.Limits == nil {
		widget.Spec.Limits = map[string]string{"cpu": "500m", "memory": "128Mi"}
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, widget *Widget) (admission.Warnings, error) {
	return nil, refuse(widget, problems(widget))
}

func (validator) ValidateUpdate(_ context.Context, old, widget *Widget) (admission.Warnings, error) {
	found := problems(widget)
	if widget.Spec.Replicas < old.Spec.Replicas {
		found = append(found, field.Forbidden(field.NewPath("spec", "replicas"), "must not shrink"))
	}
	return nil, refuse(widget, found)
}

func (validator) ValidateDelete(context.Context, *Widget) (admission.Warnings, error) {
	return nil, nil
}

func problems(widget *Widget) field.ErrorList {
	var found field.ErrorList
	spec := field.NewPath("spec")
	if widget.Spec.Replicas < 0 {
		found = append(found, field.Invalid(spec.Child("replicas"), widget.Spec.Replicas, "must not be negative"))
	}
	names := make(map[string]bool, len(widget.Spec.Env))
	for i, each := range widget.Spec.Env {
		if names[each.Name] {
			found = append(found, field.Duplicate(spec.Child("env").Index(i).Child("name"), each.Name))
		}
		names[each.Name] = true
	}
	return found
}

func refuse(widget *Widget, found field.ErrorList) error {
	if len(found) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: version.Group, Kind: "Widget"}, widget.Name, found)
}

func setUpWebhooks(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &Widget{}).
		WithDefaulter(defaulter{}).
		WithValidator(validator{}).
		Complete()
}
