"""Built-in types of apiextensions.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated, Any

from pykb.api.annotations import Int32, Int64, KnownValues, ListAtomic, ListMap, NullIsEmpty, PatchStrategy, Wire
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("apiextensions.k8s.io", "v1")


class CustomResourceColumnDefinition(Struct):
    json_path: str
    name: str
    type: str
    description: str | None = None
    format: str | None = None
    priority: Int32 | None = None


class ServiceReference(Struct):
    name: str
    namespace: str
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(Struct):
    ca_bundle: bytes | None = None
    service: ServiceReference | None = None
    url: str | None = None


class WebhookConversion(Struct):
    conversion_review_versions: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    client_config: WebhookClientConfig | None = None


class CustomResourceConversion(Struct):
    strategy: str
    webhook: WebhookConversion | None = None


class CustomResourceDefinitionNames(Struct):
    kind: str
    plural: str
    categories: Annotated[list[str] | None, ListAtomic()] = None
    list_kind: str | None = None
    short_names: Annotated[list[str] | None, ListAtomic()] = None
    singular: str | None = None


class CustomResourceSubresourceScale(Struct):
    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str | None = None


class CustomResourceSubresourceStatus(Struct):
    pass


class CustomResourceSubresources(Struct):
    scale: CustomResourceSubresourceScale | None = None
    status: CustomResourceSubresourceStatus | None = None


class ExternalDocumentation(Struct):
    description: str | None = None
    url: str | None = None


class ValidationRule(Struct):
    rule: str
    field_path: str | None = None
    message: str | None = None
    message_expression: str | None = None
    optional_old_self: bool | None = None
    reason: Annotated[
        str | None,
        KnownValues(("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")),
    ] = None


class JSONSchemaProps(Struct):
    ref: Annotated[str | None, Wire("$ref")] = None
    schema_: Annotated[str | None, Wire("$schema")] = None
    additional_items: "JSONSchemaProps | bool | None" = None
    additional_properties: "JSONSchemaProps | bool | None" = None
    all_of: Annotated["list[JSONSchemaProps] | None", ListAtomic()] = None
    any_of: Annotated["list[JSONSchemaProps] | None", ListAtomic()] = None
    default: Any | None = None
    definitions: "dict[str, JSONSchemaProps] | None" = None
    dependencies: "dict[str, JSONSchemaProps | list[str]] | None" = None
    description: str | None = None
    enum: Annotated[list[Any] | None, ListAtomic()] = None
    example: Any | None = None
    exclusive_maximum: bool | None = None
    exclusive_minimum: bool | None = None
    external_docs: ExternalDocumentation | None = None
    format: str | None = None
    id: str | None = None
    items: "JSONSchemaProps | list[JSONSchemaProps] | None" = None
    max_items: Int64 | None = None
    max_length: Int64 | None = None
    max_properties: Int64 | None = None
    maximum: float | None = None
    min_items: Int64 | None = None
    min_length: Int64 | None = None
    min_properties: Int64 | None = None
    minimum: float | None = None
    multiple_of: float | None = None
    not_: "JSONSchemaProps | None" = None
    nullable: bool | None = None
    one_of: Annotated["list[JSONSchemaProps] | None", ListAtomic()] = None
    pattern: str | None = None
    pattern_properties: "dict[str, JSONSchemaProps] | None" = None
    properties: "dict[str, JSONSchemaProps] | None" = None
    required: Annotated[list[str] | None, ListAtomic()] = None
    title: str | None = None
    type: str | None = None
    unique_items: bool | None = None
    x_kubernetes_embedded_resource: Annotated[bool | None, Wire("x-kubernetes-embedded-resource")] = None
    x_kubernetes_int_or_string: Annotated[bool | None, Wire("x-kubernetes-int-or-string")] = None
    x_kubernetes_list_map_keys: Annotated[list[str] | None, Wire("x-kubernetes-list-map-keys"), ListAtomic()] = None
    x_kubernetes_list_type: Annotated[str | None, Wire("x-kubernetes-list-type")] = None
    x_kubernetes_map_type: Annotated[str | None, Wire("x-kubernetes-map-type")] = None
    x_kubernetes_preserve_unknown_fields: Annotated[bool | None, Wire("x-kubernetes-preserve-unknown-fields")] = None
    x_kubernetes_validations: Annotated[
        list[ValidationRule] | None, Wire("x-kubernetes-validations"), ListMap("rule"), PatchStrategy("merge")
    ] = None


class CustomResourceValidation(Struct):
    open_api_v3_schema: Annotated[JSONSchemaProps | None, Wire("openAPIV3Schema")] = None


class SelectableField(Struct):
    json_path: str


class CustomResourceDefinitionVersion(Struct):
    name: str
    served: bool
    storage: bool
    additional_printer_columns: Annotated[list[CustomResourceColumnDefinition] | None, ListAtomic()] = None
    deprecated: bool | None = None
    deprecation_warning: str | None = None
    schema_: CustomResourceValidation | None = None
    selectable_fields: Annotated[list[SelectableField] | None, ListAtomic()] = None
    subresources: CustomResourceSubresources | None = None


class CustomResourceDefinitionSpec(Struct):
    group: str
    names: CustomResourceDefinitionNames
    scope: str
    versions: Annotated[list[CustomResourceDefinitionVersion], NullIsEmpty(), ListAtomic()]
    conversion: CustomResourceConversion | None = None
    preserve_unknown_fields: bool | None = None


class CustomResourceDefinitionCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    observed_generation: Int64 | None = None
    reason: str | None = None


class CustomResourceDefinitionStatus(Struct):
    accepted_names: CustomResourceDefinitionNames | None = None
    conditions: Annotated[list[CustomResourceDefinitionCondition] | None, ListMap("type")] = None
    observed_generation: Int64 | None = None
    stored_versions: Annotated[list[str] | None, ListAtomic()] = None


class CustomResourceDefinition(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("customresourcedefinitions", "status")
):
    spec: CustomResourceDefinitionSpec
    status: CustomResourceDefinitionStatus | None = None
