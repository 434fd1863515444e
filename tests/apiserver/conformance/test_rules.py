"""What both API servers fill in by themselves, and what they do not take: metadata, built-in kinds, lists, scale."""

import re

import orjson
import pytest

from pykb.client import JsonPatch, MergePatch
from pykb.client.connection import Call
from pykb.client.errors import BadRequest, Conflict, InternalServerError, Invalid
from pykb.client.options import program_name
from pykb.client.task import current_witness
from pykb.client.writer import APPLY_CONTENT_TYPE as APPLY
from pykb.meta.gvk import GroupVersionKind

from .makings import config_map, deployment, pod_template, service, widget  # noqa: TID252 - shared by this folder only

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
POD = GroupVersionKind("", "v1", "Pod")
SECRET = GroupVersionKind("", "v1", "Secret")
WIDGET = GroupVersionKind("client.example.com", "v1", "Widget")

_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}


@pytest.mark.parametrize(
    ("metadata", "field", "words"),
    [
        ({"labels": {"a": "x" * 64}}, "metadata.labels", "must be no more than 63"),
        ({"labels": {"a": "b c"}}, "metadata.labels", "a valid label must be an empty string or consist of"),
        ({"labels": {"a b": "x"}}, "metadata.labels", "name part must consist of alphanumeric characters"),
        ({"labels": {"A_B/c": "x"}}, "metadata.labels", "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ({"labels": {"x" * 64: "x"}}, "metadata.labels", "name part must be no more than 63"),
        ({"annotations": {"a b": "x"}}, "metadata.annotations", "name part must consist of alphanumeric characters"),
        ({"finalizers": ["plain"]}, "metadata.finalizers[0]", "name is neither a standard finalizer name nor is it"),
        ({"ownerReferences": [{**_OWNER, "uid": ""}]}, "metadata.ownerReferences[0].uid", "must not be empty"),
        (
            {"ownerReferences": [_OWNER, {**_OWNER, "apiVersion": "a/b/c"}]},
            "metadata.ownerReferences[1].apiVersion",
            'Invalid value: "a/b/c": must be <group>/<version> or <version>',
        ),
        (
            {"ownerReferences": [{**_OWNER, "apiVersion": "/"}]},
            "metadata.ownerReferences[0].apiVersion",
            'Invalid value: "/": must be <group>/<version> or <version>',
        ),
        (
            {"ownerReferences": [{**_OWNER, "controller": True}, {**_OWNER, "uid": "y", "controller": True}]},
            "metadata.ownerReferences",
            "Only one reference can have Controller set to true.",
        ),
        ({"name": "A_B"}, "metadata.name", "a lowercase RFC 1123 subdomain must consist of lower case"),
        ({"name": "x" * 254}, "metadata.name", "must be no more than 253 characters"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("metadata") else "",
)
async def test_metadata_keeps_its_rules(client, namespace, minor, metadata, field, words):
    """A cause with the field, in the server's words."""
    if minor < 37 and "ownerReferences[" in field:
        field, words = re.sub(r"\[\d\]", "", field), "must not be empty"
    with pytest.raises(Invalid) as caught:
        await client.create(config_map(namespace, **metadata))
    (cause,) = [cause for cause in caught.value.causes if cause.field == field]
    assert words in cause.message


async def test_what_looks_odd_and_is_allowed(client, namespace, widgets):
    """Capitals in the key of an annotation, a plain finalizer of a custom resource, the names of roles."""
    obj = config_map(namespace, annotations={"X.io/AbC": "x"}, labels={"x.io/a_b": "", "a": "A.b"})
    await client.create(obj)
    custom = widget(namespace)
    custom["metadata"]["finalizers"] = ["plain"]
    await client.create(custom)
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []}
    await client.create({**role, "metadata": {"name": "a:B_c", "namespace": namespace}})


async def test_a_long_generated_name_is_cut(client, namespace):
    """At 63 characters with the random end; what was asked for stays."""
    obj = config_map(namespace, generateName="x" * 100)
    del obj["metadata"]["name"]
    await client.create(obj)
    assert len(obj["metadata"]["name"]) == 63
    assert obj["metadata"]["generateName"] == "x" * 100


async def test_a_namespace_has_its_name_as_a_label(client, namespace):
    """So that a selector can mean one; it cannot be taken away."""
    found = await client.get(NAMESPACE, namespace)
    assert found.metadata["labels"] == {"kubernetes.io/metadata.name": namespace}
    change = MergePatch({"metadata": {"labels": {"kubernetes.io/metadata.name": None, "a": "b"}}})
    patched = await client.patch({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, change)
    assert patched["metadata"]["labels"] == {"kubernetes.io/metadata.name": namespace, "a": "b"}
    with pytest.raises(Invalid, match="must not contain dots"):
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{namespace}.x"}})


async def test_the_clear_text_of_a_secret_is_coded(client, namespace):
    """`stringData` is written and never read; it is stronger than `data`."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
    await client.create({**secret, "data": {"a": "eA==", "b": "eA=="}, "stringData": {"a": "b"}})
    found = await client.get(SECRET, f"{namespace}/s")
    assert found.data["data"] == {"a": "Yg==", "b": "eA=="}
    assert "stringData" not in found.data
    assert found.data["type"] == "Opaque"


@pytest.mark.parametrize(
    ("obj", "status"),
    [
        (deployment("-"), {}),
        (service("-", {"port": 80}), {"loadBalancer": {}}),
        (
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "spec": {
                    "serviceName": "x",
                    "selector": {"matchLabels": {"app": "x"}},
                    "template": pod_template("a"),
                },
            },
            {"availableReplicas": 0, "replicas": 0},
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, None),
    ],
    ids=lambda value: value.get("kind", "") if isinstance(value, dict) else "",
)
async def test_a_new_object_has_the_status_that_its_kind_begins_with(client, namespace, obj, status):
    """One that a client sends does not count."""
    made = {**obj, "metadata": {"name": "o", "namespace": namespace}}
    if status is not None:
        made["status"] = {"conditions": [{"type": "X", "status": "True"}]}
    await client.create(made)
    assert made.get("status") == status


async def test_a_new_pod_is_pending(client, namespace):
    """And is found by its phase."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}}
    await client.create({**pod, "spec": pod_template("a")["spec"]})
    for selector, names in (("status.phase=Pending", ["p"]), ("status.phase!=Pending", [])):
        assert [found.key.name for found in await client.list(POD, namespace=namespace, fields=selector)] == names


async def test_empty_maps_and_lists_of_built_in_kinds_are_not_there(client, namespace, widgets):
    """Those of a custom resource are, below `metadata` not."""
    obj = config_map(namespace, data={}, labels={}, finalizers=[], ownerReferences=[])
    await client.create(obj)
    assert "data" not in obj
    assert not {"labels", "finalizers", "ownerReferences"} & set(obj["metadata"])
    custom = widget(namespace, tags=[], parts=[])
    custom["metadata"]["labels"] = {}
    await client.create(custom)
    assert (custom["spec"]["tags"], custom["spec"]["parts"]) == ([], [])
    assert "labels" not in custom["metadata"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
async def test_what_is_immutable_does_not_change(client, namespace, kind):
    """Neither its data nor that it is so."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": namespace}, "immutable": True}
    await client.create({**obj, "data": {"a": "eA=="}})
    for field, change in (("data", {"data": {"a": "eQ=="}}), ("immutable", {"immutable": None})):
        with pytest.raises(Invalid) as caught:
            await client.patch(obj, MergePatch(change))
        assert [cause.field for cause in caught.value.causes] == [field]
        assert "field is immutable when `immutable` is set" in caught.value.message
    await client.patch(obj, MergePatch({"metadata": {"labels": {"a": "b"}}}))


async def test_the_type_of_a_secret_does_not_change(client, namespace):
    """Whoever reads it relies on it."""
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": namespace}}
    await client.create(dict(obj))
    with pytest.raises(Invalid, match=r'type: Invalid value: "x\.io/other": field is immutable'):
        await client.patch(obj, MergePatch({"type": "x.io/other"}))


async def test_a_deployment_keeps_its_selector(client, namespace):
    """An operator that changes it must make another."""
    await client.create(deployment(namespace))
    labels = {"app": "x", "b": "c"}
    change = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    with pytest.raises(Invalid) as caught:
        await client.patch(deployment(namespace), MergePatch({"spec": change}))
    (cause,) = caught.value.causes
    assert (cause.field, cause.message.endswith("field is immutable")) == ("spec.selector", True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("serviceName", "y"),
        ("podManagementPolicy", "Parallel"),
        ("volumeClaimTemplates", [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]),
        ("selector", {"matchLabels": {"b": "c"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_stateful_set_changes_only_what_it_can(client, namespace, minor, field, value):
    """The message names the field that is not to change; before 1.37, all that can."""
    spec = {"serviceName": "x", "selector": {"matchLabels": {"app": "x"}}, "template": pod_template("a")}
    obj = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": namespace}}
    await client.create({**obj, "spec": spec})
    await client.patch(obj, MergePatch({"spec": {"replicas": 3}}))
    with pytest.raises(Invalid) as caught:
        await client.patch(obj, MergePatch({"spec": {field: value}}))
    found = {cause.field: cause.message for cause in caught.value.causes}
    if minor < 37:
        assert "updates to statefulset spec for fields other than" in found["spec"]
    else:
        assert found[f"spec.{field}"].endswith("field is immutable")


async def test_a_bound_claim_can_only_grow(client, namespace):
    """Down to what the volume has. Nothing else of it can be changed."""
    metadata, resources = {"name": "c", "namespace": namespace}, {"requests": {"storage": "2Gi"}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    await client.create({**claim, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}})
    await client.status.patch(claim, MergePatch({"status": {"phase": "Bound", "capacity": {"storage": "2048Mi"}}}))
    await client.patch(claim, MergePatch({"metadata": {"labels": {"a": "b"}}}))
    path, rule = "spec.resources.requests.storage", "Forbidden: field can not be less than status.capacity"
    for change, field, words in (
        ({"resources": {"requests": {"storage": "1Gi"}}}, path, rule),
        ({"accessModes": ["ReadWriteMany"]}, "spec", "Forbidden: spec is immutable after creation except"),
    ):
        with pytest.raises(Invalid) as caught:
            await client.patch(dict(claim), MergePatch({"spec": change}))
        (cause,) = caught.value.causes
        assert (cause.field, cause.message.startswith(words)) == (field, True)
    await client.patch(claim, MergePatch({"spec": {"storageClassName": "fast"}}))


async def test_a_claim_without_a_volume_keeps_its_size(client, namespace):
    """Who gets a volume by then gets one of this size."""
    metadata, resources = {"name": "c", "namespace": namespace}, {"requests": {"storage": "2Gi"}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    await client.create({**claim, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}})
    with pytest.raises(Invalid, match="spec is immutable after creation except"):
        await client.patch(claim, MergePatch({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}))


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"])
async def test_a_workload_selects_its_own_pods(client, namespace, kind):
    """When it is made, and when it is changed."""
    selector, name = {"matchLabels": {"app": "x"}}, {"name": "w", "namespace": namespace}
    metadata, template = {"labels": {"app": "y"}}, pod_template("a")
    obj = {"apiVersion": "apps/v1", "kind": kind, "metadata": name}
    spec = {"selector": selector, "template": template, **({"serviceName": "x"} if kind == "StatefulSet" else {})}
    with pytest.raises(Invalid) as created:
        await client.create({**obj, "spec": {**spec, "template": {**template, "metadata": metadata}}})
    await client.create({**obj, "spec": spec})
    with pytest.raises(Invalid) as changed:
        await client.patch(obj, MergePatch({"spec": {"template": {"metadata": metadata}}}))
    for caught in (created, changed):
        (cause,) = caught.value.causes
        assert cause.field == "spec.template.metadata.labels"
        assert cause.message == 'Invalid value: {"app":"y"}: `selector` does not match template `labels`'


@pytest.mark.parametrize(("kind", "field"), [("ConfigMap", "data"), ("Secret", "data")])
async def test_keys_of_data_are_file_names(client, namespace, kind, field):
    """They are mounted as such."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": namespace}, "data": {"a/b": "eA=="}}
    with pytest.raises(Invalid) as caught:
        await client.create(obj)
    assert [cause.field for cause in caught.value.causes] == [f"{field}[a/b]"]
    assert "a valid config key must consist of" in caught.value.message


async def test_a_null_in_a_required_field_is_none(client, namespace, widgets):
    """It is taken out before values are judged."""
    with pytest.raises(Invalid) as caught:
        await client.create(widget(namespace, size=None))
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueRequired", "spec.size")]


async def test_strictness_names_kind_and_field(client, namespace, widgets):
    """With `fieldValidation=Strict`; built-in and custom alike."""
    strict = client.with_options(field_validation="Strict")
    for obj, field in (({**config_map(namespace), "foo": 1}, "foo"), (widget(namespace, foo=1), "spec.foo")):
        with pytest.raises(BadRequest) as caught:
            await strict.create(obj)
        kind = obj["kind"]
        assert caught.value.message == (
            f'{kind} in version "v1" cannot be handled as a {kind}: strict decoding error: unknown field "{field}"'
        )


async def test_the_pages_of_a_list_are_of_one_moment(client, namespace):
    """What is made, changed or deleted between them does not show."""
    for name in "abcd":
        await client.create(config_map(namespace, name, data={"v": "1"}, labels={"of": "test"}))
    found = await client.list(CONFIG_MAP, namespace=namespace, labels={"of": "test"}, limit=2)
    await client.delete(CONFIG_MAP, f"{namespace}/c")
    await client.patch(config_map(namespace, "d"), MergePatch({"data": {"v": "2"}}))
    await client.create(config_map(namespace, "e", labels={"of": "test"}))
    rest = await client.list(
        CONFIG_MAP, namespace=namespace, labels={"of": "test"}, limit=9, continue_token=found.continue_token
    )
    assert [(item.key.name, item.data["data"]["v"]) for item in rest] == [("c", "1"), ("d", "1")]
    assert rest.resource_version == found.resource_version


async def test_versions_that_make_no_sense_are_refused(client, namespace):
    """One that is no number, and any next to a continue token."""
    with pytest.raises(BadRequest, match='Invalid value: "abc"'):
        await client.list(CONFIG_MAP, namespace=namespace, resource_version="abc")
    for name in "ab":
        await client.create(config_map(namespace, name))
    token = (await client.list(CONFIG_MAP, namespace=namespace, limit=1)).continue_token
    with pytest.raises(BadRequest, match="specifying resource version is not allowed when using continue"):
        await client.list(CONFIG_MAP, namespace=namespace, continue_token=token, resource_version="5")


@pytest.mark.parametrize(
    ("kind", "path", "message"),
    [
        (CONFIG_MAP, "metadata.uid", '"metadata.uid" is not a known field selector: only "metadata.name", "metadata.'),
        (DEPLOYMENT, "spec.replicas", '"spec.replicas" is not a known field selector: only "metadata.name", "metada'),
        (POD, "spec.foo", "field label not supported: spec.foo"),
    ],
)
async def test_fields_that_do_not_select_are_named(client, namespace, kind, path, message):
    """With what does, where that is nothing but the name."""
    with pytest.raises(BadRequest) as caught:
        await client.list(kind, namespace=namespace, fields=f"{path}=x")
    assert caught.value.message.startswith(message)


async def test_a_deletion_has_one_of_three_policies(client, namespace):
    """Others are named with what is supported, and nothing is deleted."""
    await client.create(config_map(namespace))
    with pytest.raises(Invalid, match='propagationPolicy: Unsupported value: "Sideways"'):
        await client.delete(CONFIG_MAP, f"{namespace}/a", propagation="Sideways")
    assert await client.find(CONFIG_MAP, f"{namespace}/a") is not None


async def test_a_deletion_may_change_its_mind(client, namespace):
    """The last policy counts; finalizers of others stay."""
    await client.create(config_map(namespace, finalizers=["x.io/f"]))
    for policy, names in (("Orphan", ["x.io/f", "orphan"]), ("Background", ["x.io/f"])):
        await client.delete(CONFIG_MAP, f"{namespace}/a", propagation=policy)
        found = await client.get(CONFIG_MAP, f"{namespace}/a")
        assert sorted(found.metadata["finalizers"]) == sorted(names)


@pytest.mark.parametrize("of", ["built-in", "custom"])
async def test_a_scale_is_written_by_who_asks_and_is_not_negative(client, namespace, widgets, of):
    """The owner of the field is recorded with the subresource."""
    obj = deployment(namespace) if of == "built-in" else widget(namespace)
    await client.create(dict(obj))
    scale = client.subresource("scale")
    await scale.patch(obj, MergePatch({"spec": {"replicas": 5}}))
    found = await client.get(DEPLOYMENT if of == "built-in" else WIDGET, obj)
    assert found.data["spec"]["replicas"] == 5
    entries = [entry for entry in found.metadata["managedFields"] if entry.get("subresource") == "scale"]
    written = [(entry["manager"], entry["fieldsV1"]) for entry in entries]
    assert written == [(program_name(), {"f:spec": {"f:replicas": {}}})]
    with pytest.raises(Invalid, match=r"spec.replicas: Invalid value: -5"):
        await scale.patch(obj, MergePatch({"spec": {"replicas": -5}}))


async def test_a_json_patch_of_the_status_changes_nothing_else(client, namespace, widgets):
    """Operations on the spec are done and dropped."""
    await client.create(widget(namespace))
    operations = [
        {"op": "add", "path": "/status", "value": {"replicas": 2}},
        {"op": "replace", "path": "/spec/size", "value": 8},
    ]
    obj = await client.status.patch(widget(namespace), JsonPatch(operations))
    assert (obj["status"], obj["spec"]["size"]) == ({"replicas": 2}, 1)


async def test_the_namespace_of_a_cluster_scoped_object_does_not_count(client, namespace):
    """The path has none; the object gets none."""
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{namespace}-x", "namespace": "foo"}}
    await client.create(obj)
    assert "namespace" not in obj["metadata"]


# -- deletions and their answers


def path_of(obj):
    """The path of one of these objects."""
    group_version, kind = obj["apiVersion"], obj["kind"]
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    return f"{root}/namespaces/{obj['metadata']['namespace']}/{kind.lower()}s/{obj['metadata']['name']}"


async def delete(client, obj, **options):
    """Delete an object. Returns the answer."""
    call = Call("DELETE", path_of(obj), body=orjson.dumps(options))
    return orjson.loads(await client.connection.request(call))


@pytest.mark.parametrize("make", [config_map, widget, deployment])
@pytest.mark.parametrize("options", [{}, {"dryRun": ["All"]}])
async def test_a_deletion_answers_with_a_status(client, namespace, widgets, make, options):
    """It names what is gone."""
    created = await client.create(make(namespace))
    answer = await delete(client, created, **options)
    group, name = created["apiVersion"].rpartition("/")[0], created["metadata"]["name"]
    details = {"name": name, "kind": f"{created['kind'].lower()}s", "uid": created["metadata"]["uid"]}
    assert answer["details"] == details | ({"group": group} if group else {})
    assert (answer["kind"], answer["status"], answer["metadata"]) == ("Status", "Success", {})


async def test_some_deletions_answer_with_the_object(client, namespace):
    """Of some kinds, and whenever something holds it."""
    for obj in (service(namespace, {"port": 80}), config_map(namespace, finalizers=["x.io/f"])):
        created = await client.create(obj)
        answer = await delete(client, created)
        assert (answer["kind"], answer["metadata"]["uid"]) == (created["kind"], created["metadata"]["uid"])
        assert "deletionTimestamp" in answer["metadata"] or created["kind"] == "Service"


@pytest.mark.parametrize("make", [config_map, widget, deployment])
async def test_a_wrong_precondition_says_what_does_not_match(client, namespace, widgets, make):
    """By the kind, not by the resource."""
    created = await client.create(make(namespace))
    group, metadata = created["apiVersion"].rpartition("/")[0], created["metadata"]
    begin = f'Operation cannot be fulfilled on {created["kind"]}{"." * bool(group)}{group} "{metadata["name"]}": '
    with pytest.raises(Conflict) as caught:
        await delete(client, created, preconditions={"uid": "1234"})
    assert caught.value.message == (
        f"{begin}the UID in the precondition (1234) does not match the UID in record ({metadata['uid']}). "
        "The object might have been deleted and then recreated"
    )
    assert caught.value.details.kind == created["kind"]
    with pytest.raises(Conflict) as caught:
        await delete(client, created, preconditions={"resourceVersion": "1"})
    assert caught.value.message == (
        f"{begin}the ResourceVersion in the precondition (1) does not match the ResourceVersion in record "
        f"({metadata['resourceVersion']}). The object might have been modified"
    )


async def test_a_wrong_precondition_of_a_namespace_has_another_text(client, namespace):
    """By the resource."""
    with pytest.raises(Conflict) as caught:
        await client.delete(NAMESPACE, namespace, uid="1234")
    found = await client.get(NAMESPACE, namespace)
    assert caught.value.message == (
        f'Operation cannot be fulfilled on namespaces "{namespace}": Precondition failed: UID in precondition: 1234, '
        f"UID in object meta: {found.metadata['uid']}"
    )


@pytest.mark.parametrize("make", [config_map, widget])
async def test_an_update_with_the_uid_of_another_object_is_a_conflict(client, namespace, widgets, make):
    """In the words of the storage."""
    created = await client.create(make(namespace))
    group, name = created["apiVersion"].rpartition("/")[0], created["metadata"]["name"]
    plural = f"{created['kind'].lower()}s"
    uid, created["metadata"]["uid"] = created["metadata"]["uid"], "1234"
    with pytest.raises(Conflict) as caught:
        await client.update(created)
    key = f"/registry/{group}{'/' * bool(group)}{plural}/{namespace}/{name}"
    assert caught.value.message.endswith(
        f'"{name}": StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: '
        f"Precondition failed: UID in precondition: 1234, UID in object meta: {uid}"
    )


# -- applying a scale


async def apply_scale(client, obj, replicas, *, by, force=False):
    """Apply the number of replicas."""
    identity = {name: obj["metadata"][name] for name in ("name", "namespace")}
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": identity, "spec": {"replicas": replicas}}
    query = (("fieldManager", by), *([("force", "true")] if force else []))
    call = Call("PATCH", f"{path_of(obj)}/scale", body=orjson.dumps(scale), content_type=APPLY, query=query)
    return orjson.loads(await client.connection.request(call))


async def test_an_applied_scale_is_owned_by_who_applied_it(client, namespace):
    """The entry says that it was applied, through the subresource, and has no time."""
    created = await client.create(deployment(namespace))
    with pytest.raises(Conflict, match=rf'conflict with "{program_name()}" using autoscaling/v1: .spec.replicas'):
        await apply_scale(client, created, 3, by="scaler")
    answer = await apply_scale(client, created, 3, by="scaler", force=True)
    assert (answer["kind"], answer["spec"]) == ("Scale", {"replicas": 3})
    found = await client.get(DEPLOYMENT, created)
    [entry] = [each for each in found.metadata["managedFields"] if each["manager"] == "scaler"]
    assert entry == {
        "manager": "scaler",
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        "subresource": "scale",
    }
    again = await apply_scale(client, created, 3, by="scaler")
    assert again["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]
    with pytest.raises(Conflict, match=r'conflict with "scaler" with subresource "scale": .spec.replicas'):
        await apply_scale(client, created, 4, by="other")


async def test_the_scale_of_a_custom_resource_cannot_be_applied(client, namespace, widgets):
    """The API server fails to convert it back."""
    created = await client.create(widget(namespace, replicas=1))
    with pytest.raises(Conflict, match=r"using autoscaling/v1: .spec.replicas"):
        await apply_scale(client, created, 3, by="scaler")
    with pytest.raises(InternalServerError, match="failed to convert new object"):
        await apply_scale(client, created, 3, by="scaler", force=True)


class Watched:
    """A witness that keeps the conflicts."""

    wants_requests = False

    def __init__(self):
        self.conflicts = []

    def conflicted(self, cache, gvk, key, version):
        """Keep it."""
        self.conflicts.append((gvk.kind, key.name, version))

    def stored(self, *_):
        """Nothing is kept of other writes."""


@pytest.mark.parametrize("how", ["update", "delete"])
async def test_who_writes_an_old_version_is_told_so(client, namespace, how):
    """A retry waits until the cache has the new one. The API server names the kind if a deletion conflicts."""
    created = await client.create(config_map(namespace))
    version = created["metadata"]["resourceVersion"]
    await client.patch(config_map(namespace), MergePatch({"data": {"a": "b"}}))
    witness = Watched()
    token = current_witness.set(witness)
    writing = client.update(created) if how == "update" else client.delete(created, resource_version=version)
    try:
        with pytest.raises(Conflict):
            await writing
    finally:
        current_witness.reset(token)
    assert witness.conflicts == [("ConfigMap", "a", version)]
