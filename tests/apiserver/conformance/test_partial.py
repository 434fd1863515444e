"""Objects of just what a manager owns, applied to both API servers."""

from typing import Annotated

import pytest

from pykb.api import CustomResource, Field, GroupVersion, ListMap, ListSet, Struct
from pykb.api.apps.v1 import Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus, DeploymentStrategy
from pykb.api.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    PodSpec,
    PodTemplateSpec,
    Volume,
)
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    Conflict,
    Invalid,
    NotControlled,
    OperationResult,
    ensure_applied,
    extract_applied,
    partial,
    set_controller_reference,
)

from .makings import config_map, deployment, widget  # noqa: TID252 - shared by this folder only


class Part(Struct):
    """A part of a widget."""

    name: str
    weight: int | None = None


class WidgetSpec(Struct):
    """What a widget should be."""

    size: int
    replicas: int = 1
    tags: Annotated[list[str], ListSet()] = Field(default_factory=list)
    parts: Annotated[list[Part], ListMap("name")] = Field(default_factory=list)


class WidgetStatus(Struct):
    """What a widget is."""

    phase: str
    seen: int | None = None


class Widget(CustomResource, group_version=GroupVersion("client.example.com", "v1")):
    """The kind of these tests, with lists whose items are told apart."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


def _owned(obj, manager, subresource=None):
    for entry in obj.metadata.managed_fields:
        if (entry.manager, entry.operation, entry.subresource) == (manager, "Apply", subresource):
            return entry.fields_v1
    return None


def _image(namespace, container, image):
    wanted = partial(Deployment, "d", namespace=namespace)
    wanted.spec = partial(DeploymentSpec)
    wanted.spec.template = partial(PodTemplateSpec)
    wanted.spec.template.spec = partial(PodSpec)
    wanted.spec.template.spec.containers = [Container(name=container, image=image)]
    return wanted


async def test_one_field_is_owned_and_released(client, namespace):
    """Replicas and a label, then the label alone: replicas are nobody's, and stay as they are."""
    await client.create(Deployment.from_wire(deployment(namespace)), field_manager="maker")
    wanted = partial(Deployment, f"{namespace}/d")
    wanted.metadata.labels = {"team": "a"}
    wanted.spec = partial(DeploymentSpec)
    wanted.spec.replicas = 3
    await client.apply(wanted, field_manager="scaler", force=True)
    assert wanted.spec.replicas == 3
    assert wanted.spec.template.spec.containers[0].image == "a:1"  # it is what the server stored
    assert _owned(wanted, "scaler") == {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:replicas": {}}}
    wanted = extract_applied(wanted, "scaler")
    del wanted.spec
    await client.apply(wanted, field_manager="scaler")
    assert _owned(wanted, "scaler") == {"f:metadata": {"f:labels": {"f:team": {}}}}
    wanted = partial(Deployment, f"{namespace}/d")
    await client.apply(wanted, field_manager="scaler")
    assert wanted.metadata.labels is None


async def test_the_image_of_one_container_is_owned(client, namespace):
    """The other containers, and the rest of this one, are somebody else's."""
    await client.create(Deployment.from_wire(deployment(namespace, "a", "b")), field_manager="maker")
    stored = await client.apply(_image(namespace, "b", "b:2"), field_manager="images", force=True)
    assert [c.image for c in stored.spec.template.spec.containers] == ["a:1", "b:2"]
    containers = _owned(stored, "images")["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert containers == {'k:{"name":"b"}': {".": {}, "f:image": {}, "f:name": {}}}
    extracted = extract_applied(stored, "images")
    assert extracted.to_wire() == _image(namespace, "b", "b:2").to_wire()
    assert type(extracted.spec.template.spec.containers[0]) is Container
    extracted.spec.template.spec.containers[0].image = "b:3"
    stored = await client.apply(extracted, field_manager="images")
    assert [c.image for c in stored.spec.template.spec.containers] == ["a:1", "b:3"]
    with pytest.raises(AttributeError, match="PodSpec has no 'volumes' yet: set it first"):
        _ = extract_applied(stored, "images").spec.template.spec.volumes


async def test_an_object_of_parts_is_made_by_several(client, namespace):
    """What nobody gave is missed by the server, not before."""
    with pytest.raises(Invalid, match=r"spec\.selector"):
        await client.apply(_image(namespace, "a", "a:1"), field_manager="images")


async def test_what_another_owns_is_a_conflict(client, namespace):
    """As with a whole object."""
    await client.apply(deployment(namespace), field_manager="maker")
    with pytest.raises(Conflict) as caught:
        await client.apply(_image(namespace, "a", "a:2"), field_manager="images")
    assert [cause.field for cause in caught.value.causes] == [
        '.spec.template.spec.containers[name="a"].image',
    ]


async def test_an_element_without_its_key_is_not_sent(client, namespace):
    """Nor is it where the key has no default; the protocol of a port has one."""
    wanted = _image(namespace, "a", "a:2")
    nameless = partial(Container)
    nameless.image = "b:2"
    wanted.spec.template.spec.containers.append(nameless)
    text = (
        f"Deployment `{namespace}/d` cannot be applied: `spec.template.spec.containers[1]` has no `name`, "
        "which tells the elements of the list apart"
    )
    for write in (client.apply(wanted), ensure_applied(client, wanted)):
        with pytest.raises(ValueError) as caught:
            await write
        assert str(caught.value) == text
    nameless.name = "b"
    nameless.ports = [partial(ContainerPort)]
    nameless.ports[0].protocol = "UDP"
    with pytest.raises(ValueError, match=r"containers\[1\]\.ports\[0\]` has no `containerPort`"):
        await client.apply(wanted)
    await client.create(deployment(namespace), field_manager="maker")
    nameless.ports[0].container_port = 53
    stored = await client.apply(wanted, force=True)
    assert [port.container_port for port in stored.spec.template.spec.containers[1].ports] == [53]


async def test_a_kind_of_ones_own_in_parts(client, namespace, widgets):
    """Of a spec with a required field, a part, and items of lists."""
    await client.create(widget(namespace, parts=[{"name": "a", "weight": 1}], tags=["x"]), field_manager="maker")
    wanted = partial(Widget, f"{namespace}/w")
    wanted.spec = partial(WidgetSpec)
    wanted.spec.replicas = 1  # the default is sent: it was set
    wanted.spec.tags = ["y"]
    wanted.spec.parts = [partial(Part)]
    wanted.spec.parts[0].name = "b"
    assert wanted.to_wire()["spec"] == {"replicas": 1, "tags": ["y"], "parts": [{"name": "b"}]}
    stored = await client.apply(wanted, field_manager="one", force=True)
    assert (stored.spec.size, stored.spec.tags) == (1, ["x", "y"])
    assert [(part.name, part.weight) for part in stored.spec.parts] == [("a", 1), ("b", 7)]
    extracted = extract_applied(stored, "one")
    assert extracted.to_wire()["spec"] == {"replicas": 1, "tags": ["y"], "parts": [{"name": "b"}]}
    assert not hasattr(extracted.spec, "size")
    del extracted.spec.parts
    extracted.spec.tags = ["z"]
    stored = await client.apply(extracted, field_manager="one")
    assert (stored.spec.tags, [part.name for part in stored.spec.parts]) == (["x", "z"], ["a"])


async def test_the_status_of_a_kind_of_ones_own(client, namespace, widgets):
    """What was applied to the status is extracted of it; the rest of the status is another's."""
    await client.create(widget(namespace), field_manager="maker")
    other = partial(Widget, f"{namespace}/w")
    other.status = WidgetStatus(phase="Up")
    await client.status.apply(other, field_manager="phase")
    wanted = partial(Widget, f"{namespace}/w")
    wanted.status = partial(WidgetStatus)
    wanted.status.seen = 1
    stored = await client.status.apply(wanted, field_manager="seen")
    assert stored.status == WidgetStatus(phase="Up", seen=1)
    assert _owned(stored, "seen", "status") == {"f:status": {"f:seen": {}}}
    extracted = extract_applied(stored, "seen", subresource="status")
    assert extracted.status.model_fields_set == {"seen"}
    assert extract_applied(stored, "seen").to_wire() == partial(Widget, f"{namespace}/w").to_wire()
    extracted.status.seen = 2
    stored = await client.status.apply(extracted, field_manager="seen")
    assert stored.status == WidgetStatus(phase="Up", seen=2)


async def test_one_condition_of_a_status(client, namespace):
    """Beside those of other managers."""
    await client.create(deployment(namespace))
    for kind in ("A", "B"):
        wanted = partial(Deployment, f"{namespace}/d")
        wanted.status = partial(DeploymentStatus)
        wanted.status.conditions = [DeploymentCondition(type=kind, status="True")]
        stored = await client.status.apply(wanted, field_manager=kind)
    assert [condition.type for condition in stored.status.conditions] == ["A", "B"]
    extracted = extract_applied(stored, "A", subresource="status")
    assert [condition.type for condition in extracted.status.conditions] == ["A"]
    extracted.status.conditions[0].status = "False"
    stored = await client.status.apply(extracted, field_manager="A")
    assert [condition.status for condition in stored.status.conditions] == ["False", "True"]


async def test_ensure_applied_sends_it_once(client, namespace):
    """What is there already is not sent; a released field is a change."""

    def wanted(**data):
        made = partial(ConfigMap, f"{namespace}/a")
        made.data = data
        return made

    await client.create(config_map(namespace, data={"theirs": "1"}), field_manager="maker")
    for data, result in (
        ({"a": "1", "b": "1"}, OperationResult.UPDATED),
        ({"a": "1", "b": "1"}, OperationResult.UNCHANGED),
        ({"a": "1"}, OperationResult.UPDATED),
    ):
        assert (await ensure_applied(client, wanted(**data), field_manager="one"))[1] is result
    assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"a": "1", "theirs": "1"}


async def test_ensure_applied_keeps_to_its_owner(client, namespace):
    """An object that the owner does not control is refused; one that is not there is made of what was set."""
    owner = await client.create(ConfigMap.from_wire(config_map(namespace, "owner")))
    wanted = partial(ConfigMap, f"{namespace}/a")
    wanted.data = {"a": "1"}
    made, result = await ensure_applied(client, wanted, owner=owner)
    assert (result, made.data) == (OperationResult.CREATED, {"a": "1"})
    again = partial(ConfigMap, made)
    again.data = {"a": "1"}
    assert (await ensure_applied(client, again, owner=owner))[1] is not OperationResult.CREATED
    await client.create(config_map(namespace, "theirs", data={"b": "1"}))
    theirs = partial(ConfigMap, f"{namespace}/theirs")
    theirs.data = {"b": "2"}
    with pytest.raises(NotControlled):
        await ensure_applied(client, theirs, owner=owner)
    set_controller_reference(owner, theirs)
    with pytest.raises(NotControlled):
        await ensure_applied(client, theirs)
    assert (await client.get(ConfigMap, f"{namespace}/theirs")).data == {"b": "1"}


async def test_it_never_replaces_a_whole_object(client, namespace):
    """An update would remove what was not set."""
    await client.create(config_map(namespace, data={"a": "1", "b": "1"}))
    wanted = partial(ConfigMap, f"{namespace}/a")
    wanted.data = {"a": "2"}
    text = f"ConfigMap `{namespace}/a` is partial: `update` would remove all that is not set; use `apply`"
    with pytest.raises(ValueError, match=text):
        await client.update(wanted)
    await client.apply(wanted, force=True)
    wanted.data = {"c": "1"}
    assert (await client.update(wanted)).data == {"c": "1"}  # it is whole since


async def test_what_is_owned_empty_is_extracted_empty(client, namespace):
    """What the server fills in is not taken along; an atomic value is, as a whole."""
    wanted = _image(namespace, "a", "a:1")
    wanted.spec.strategy = DeploymentStrategy()
    wanted.spec.selector = LabelSelector(match_labels={"app": "x"})
    wanted.spec.template.metadata = ObjectMeta(labels={"app": "x"})
    wanted.spec.template.spec.volumes = [Volume(name="v", empty_dir=EmptyDirVolumeSource())]
    sent = wanted.to_wire()
    stored = await client.apply(wanted, field_manager="one")
    assert extract_applied(stored, "one").to_wire() == sent


async def test_what_cannot_be_extracted_is_told(client, namespace, widgets):
    """Nothing would look like nothing owned, and applying it would release everything."""
    stored = await client.apply(ConfigMap.from_wire(config_map(namespace, data={"a": "1"})), field_manager="one")
    assert extract_applied(stored, "nobody").to_wire() == partial(ConfigMap, stored).to_wire()
    stored.metadata.managed_fields[0].api_version = "v1beta1"
    with pytest.raises(ValueError, match="was applied by `one` in v1beta1, and read in v1"):
        extract_applied(stored, "one")
    stored.metadata.managed_fields = None
    with pytest.raises(ValueError, match="has no `managedFields`, as from a cache"):
        extract_applied(stored, "one")
