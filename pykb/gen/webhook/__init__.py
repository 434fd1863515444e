"""Webhook configurations from ``+kubebuilder:webhook`` markers."""

from pykb.gen.webhook.generate import generate_webhook

__all__ = ["generate_webhook"]
