"""The twenty typical fields of each kind's spec, in both languages.

``{kind}`` stands for the kind's name; types of its own (``{kind}Network``) keep generators from sharing all their work.
"""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """One field: its description, its markers, and how each language declares it."""

    text: str
    markers: tuple[str, ...]
    go: str
    python: str


FIELDS = (
    Field(
        "Name of the thing, unique in its zone.",
        ("kubebuilder:validation:MinLength=1", "kubebuilder:validation:MaxLength=63"),
        'Name string `json:"name"`',
        "name: str",
    ),
    Field(
        "Zone that it lives in.",
        ("kubebuilder:validation:Pattern=`^[a-z][a-z0-9-]*$`", "kubebuilder:example=`north-1`"),
        'Zone string `json:"zone"`',
        "zone: str",
    ),
    Field(
        "Replicas is how many of them there are.\nNone at all while it sleeps.",
        ("optional", "kubebuilder:validation:Minimum=0", "kubebuilder:validation:Maximum=100", "kubebuilder:default=1"),
        'Replicas *int32 `json:"replicas,omitempty"`',
        "replicas: Int32 | None = None",
    ),
    Field("Bytes that it may use.", ("optional",), 'Size *int64 `json:"size,omitempty"`', "size: Int64 | None = None"),
    Field(
        "Enabled says whether it runs.",
        ("optional", "kubebuilder:default=true"),
        'Enabled *bool `json:"enabled,omitempty"`',
        "enabled: bool | None = None",
    ),
    Field(
        "Mode of work.",
        ("optional", "kubebuilder:validation:Enum=Fast;Safe;Lazy"),
        'Mode string `json:"mode,omitempty"`',
        "mode: str | None = None",
    ),
    Field(
        "Words to find it by.",
        ("optional", "listType=set", "kubebuilder:validation:MaxItems=10", "kubebuilder:validation:items:MaxLength=40"),
        'Words []string `json:"words,omitempty"`',
        "words: list[str] | None = None",
    ),
    Field(
        "Limits by name.",
        ("optional", "kubebuilder:validation:MaxProperties=16"),
        'Limits map[string]string `json:"limits,omitempty"`',
        "limits: dict[str, str] | None = None",
    ),
    Field("Network that it hangs on.", (), 'Network {kind}Network `json:"network"`', "network: {kind}Network"),
    Field(
        "Ports that it listens on.",
        ("optional", "listType=map", "listMapKey=name", "kubebuilder:validation:MaxItems=20"),
        'Ports []{kind}Port `json:"ports,omitempty"`',
        "ports: list[{kind}Port] | None = None",
    ),
    Field(
        "Backups by the name of their store.",
        ("optional",),
        'Backups map[string]{kind}Network `json:"backups,omitempty"`',
        "backups: dict[str, {kind}Network] | None = None",
    ),
    Field(
        "Timeout of each try.",
        ("optional",),
        'Timeout *metav1.Duration `json:"timeout,omitempty"`',
        "timeout: timedelta | None = None",
    ),
    Field(
        "MaxUnavailable of them during a change.",
        ("optional",),
        'MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`',
        "max_unavailable: IntOrString | None = None",
    ),
    Field(
        "Storage to ask for.",
        ("optional",),
        'Storage *resource.Quantity `json:"storage,omitempty"`',
        "storage: Quantity | None = None",
    ),
    Field(
        "Resources of each process.",
        ("optional",),
        'Resources *corev1.ResourceRequirements `json:"resources,omitempty"`',
        "resources: ResourceRequirements | None = None",
    ),
    Field(
        "SecretRef has the key.",
        ("optional",),
        'SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`',
        "secret_ref: LocalObjectReference | None = None",
    ),
    Field(
        "Tolerations of its pods.",
        ("optional", "listType=atomic"),
        'Tolerations []corev1.Toleration `json:"tolerations,omitempty"`',
        "tolerations: list[Toleration] | None = None",
    ),
    Field(
        "Selector of its pods.",
        ("optional",),
        'Selector *metav1.LabelSelector `json:"selector,omitempty"`',
        "selector: LabelSelector | None = None",
    ),
    Field(
        "Class stays what it is.",
        (
            "optional",
            "kubebuilder:validation:MaxLength=40",
            'kubebuilder:validation:XValidation:rule="self == oldSelf",message="class is immutable"',
        ),
        'Class string `json:"class,omitempty"`',
        "class_: str | None = None",
    ),
    Field("Seed of its key.", ("optional",), 'Seed []byte `json:"seed,omitempty"`', "seed: bytes | None = None"),
)

TEMPLATE = Field(
    "Template of its pods.",
    ("optional",),
    'Template *corev1.PodTemplateSpec `json:"template,omitempty"`',
    "template: PodTemplateSpec | None = None",
)
"""A large built-in type, in one of twenty kinds."""

ON_KIND = (
    "kubebuilder:subresource:status",
    "kubebuilder:printcolumn:name=Zone,type=string,JSONPath=`.spec.zone`",
    "kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`",
)

KINDS_PER_GROUP = 100
KINDS_PER_TEMPLATE = 20


def fields_of(number: int) -> tuple[Field, ...]:
    """The fields of a kind, by its number."""
    return (*FIELDS[:-1], TEMPLATE) if number % KINDS_PER_TEMPLATE == KINDS_PER_TEMPLATE - 1 else FIELDS
