"""Lists that are merged by key, by apply and by strategic merge: order, owners, directives, and what is refused."""

import copy

import pytest

from pykb.client import MergePatch, StrategicMergePatch
from pykb.client.errors import Conflict, InternalServerError, Invalid
from pykb.meta.gvk import GroupVersionKind

from .makings import config_map, deployment, service, widget  # noqa: TID252 - shared by this folder only

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
WIDGET = GroupVersionKind("client.example.com", "v1", "Widget")


def _named(*names):
    return [{"name": name} for name in names]


def _parts(obj):
    return [item["name"] for item in obj["spec"]["parts"]]


@pytest.mark.parametrize(
    ("applied", "by", "order"),
    [
        ("cba", "one", "cba"),
        ("dab", "one", "dab"),
        ("db", "two", "adbc"),
        ("ca", "two", "bca"),
        ("de", "two", "abcde"),
        ("bd", "two", "abcd"),
    ],
)
async def test_items_come_in_the_order_in_which_they_are_applied(client, namespace, widgets, applied, by, order):
    """Those of both sides as applied, those of others between the neighbours that they had."""
    await client.apply(widget(namespace, parts=_named(*"abc")), field_manager="one")
    obj = await client.apply(widget(namespace, parts=_named(*applied)), field_manager=by)
    assert "".join(_parts(obj)) == order


async def test_environment_variables_keep_the_applied_order(client, namespace):
    """Of a built-in kind too; what refers to another must come after it."""
    for names in ("AB", "CBA"):
        obj = deployment(namespace)
        obj["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": name, "value": "1"} for name in names]
        await client.apply(obj, field_manager="one")
    env = obj["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [item["name"] for item in env] == ["C", "B", "A"]


async def test_items_of_two_managers_stand_side_by_side_and_go_one_by_one(client, namespace, widgets):
    """Each owns its own; who applies no more of it takes only that away."""
    await client.apply(widget(namespace, parts=_named("a")), field_manager="one")
    both = await client.apply(widget(namespace, parts=_named("b")), field_manager="two")
    assert _parts(both) == ["a", "b"]
    assert _parts(await client.apply(widget(namespace), field_manager="one")) == ["b"]


async def test_a_conflict_in_an_item_names_its_key(client, namespace, widgets):
    """Fields before what lies deeper; the message lists them by manager."""
    await client.apply(widget(namespace, parts=[{"name": "a", "weight": 1}]), field_manager="one")
    with pytest.raises(Conflict) as caught:
        await client.apply(widget(namespace, size=2, parts=[{"name": "a", "weight": 5}]), field_manager="two")
    assert [cause.field for cause in caught.value.causes] == [".spec.size", '.spec.parts[name="a"].weight']
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.size\n- .spec.parts[name="a"].weight'
    )


async def test_conflicts_with_several_managers_are_told_by_manager(client, namespace):
    """Whoever changed by update is told with the version it used."""
    await client.apply(config_map(namespace, data={"a": "1"}), field_manager="one")
    await client.with_options(field_manager="ed").patch(config_map(namespace), MergePatch({"data": {"b": "1"}}))
    with pytest.raises(Conflict) as caught:
        await client.apply(config_map(namespace, data={"a": "2", "b": "2"}), field_manager="three")
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "ed" using v1:\n- .data.b\nconflicts with "one":\n- .data.a'
    )
    assert {(cause.field, cause.message) for cause in caught.value.causes} == {
        (".data.a", 'conflict with "one"'),
        (".data.b", 'conflict with "ed" using v1'),
    }


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"parts": _named("a", "a")}, '.spec.parts: duplicate entries for key [name="a"]'),
        ({"parts": [{"weight": 1}]}, ".spec.parts: element 0: associative list with keys has an element that omits"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        ({"foo": {"a": 1}}, ".spec.foo: field not declared in schema"),
        ({"size": "x"}, ".spec.size: "),
        ({"parts": {"a": 1}}, ".spec.parts: expected list"),
    ],
)
async def test_what_is_applied_must_be_what_its_kind_says(client, namespace, widgets, spec, problem):
    """Judged before anything is merged; the server calls it its own failure."""
    with pytest.raises(InternalServerError) as caught:
        await client.apply(widget(namespace, **spec), field_manager="one")
    what = f"failed to create typed patch object ({namespace}/w; client.example.com/v1, Kind=Widget): "
    assert caught.value.message.startswith(what + problem)


@pytest.mark.parametrize("change", [{"nonsense": 1}, {"data": {"a": 5}}])
async def test_a_built_in_kind_is_judged_too(client, namespace, change):
    """By its type, also where the server would ignore a field of a create."""
    with pytest.raises(InternalServerError, match="failed to create typed patch object"):
        await client.apply({**config_map(namespace), **change}, field_manager="one")


async def test_a_null_says_nothing(client, namespace, widgets):
    """Applying it neither removes a field nor owns it."""
    await client.create(config_map(namespace, data={"a": "1"}))
    applied = await client.apply({**config_map(namespace), "data": None}, field_manager="one", force=True)
    assert applied["data"] == {"a": "1"}
    await client.create(widget(namespace, tags=["a"]))
    applied = await client.apply(widget(namespace, tags=None), field_manager="one", force=True)
    assert applied["spec"]["tags"] == ["a"]


async def test_who_applies_to_another_uid_is_refused(client, namespace, widgets):
    """A uid means one object; so for every patch."""
    await client.create(config_map(namespace))
    await client.create(widget(namespace))
    stray = config_map(namespace, uid="x")
    refused = [client.apply(stray, field_manager="one")]
    refused += [
        client.patch(obj, MergePatch({"metadata": {"uid": "x"}})) for obj in (config_map(namespace), widget(namespace))
    ]
    for write in refused:
        with pytest.raises(Invalid, match=r'metadata\.uid: Invalid value: "x": field is immutable'):
            await write


async def test_owners_and_finalizers_of_two_managers_are_united(client, namespace):
    """Owner references by uid, finalizers as a set."""
    references = []
    for name in ("one", "two"):
        owner = await client.create(config_map(namespace, name))
        references.append({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"]})
    for reference in references:
        mine = {"ownerReferences": [reference], "finalizers": [f"x.io/{reference['name']}"]}
        child = await client.apply(config_map(namespace, "child", **mine), field_manager=reference["name"])
    assert [reference["name"] for reference in child["metadata"]["ownerReferences"]] == ["one", "two"]
    assert sorted(child["metadata"]["finalizers"]) == ["x.io/one", "x.io/two"]


async def test_appliers_are_listed_before_updaters(client, namespace):
    """The order of `managedFields` does not depend on who came first."""
    await client.with_options(field_manager="ed").create(config_map(namespace, data={"a": "1"}))
    obj = await client.apply(config_map(namespace, data={"b": "1"}), field_manager="zoe")
    entries = obj["metadata"]["managedFields"]
    assert [(entry["manager"], entry["operation"]) for entry in entries] == [("zoe", "Apply"), ("ed", "Update")]


def _containers(obj):
    return [item["name"] for item in obj["spec"]["template"]["spec"]["containers"]]


def _template(**spec):
    return StrategicMergePatch({"spec": {"template": {"spec": spec}}})


@pytest.mark.parametrize(
    ("patch", "names"),
    [
        ({"containers": [{"name": "z", "image": "i"}, {"name": "y", "image": "i"}]}, "zyabc"),
        ({"containers": [{"name": "a", "image": "i"}, {"name": "z", "image": "i"}]}, "azbc"),
        ({"containers": [{"name": "b", "$patch": "delete"}]}, "ac"),
        ({"$setElementOrder/containers": _named(*"cab"), "containers": [{"name": "a", "image": "i"}]}, "cab"),
        ({"$setElementOrder/containers": _named(*"cab")}, "cab"),
        ({"containers": [{"$patch": "replace"}, {"name": "z", "image": "i"}]}, "z"),
    ],
)
async def test_a_strategic_merge_puts_items_in_the_order_of_the_patch(client, namespace, patch, names):
    """Or of its directive; the others come among them as they stood."""
    await client.create(deployment(namespace, *"abc"))
    obj = await client.patch(deployment(namespace), _template(**patch))
    assert "".join(_containers(obj)) == names


async def test_ports_of_a_service_are_merged_by_port(client, namespace):
    """The key is one that other lists of ports do not have."""
    await client.create(service(namespace, {"port": 80, "name": "a"}, {"port": 81, "name": "b"}))
    change = {"spec": {"ports": [{"port": 80, "name": "a", "targetPort": 8080}, {"port": 82, "name": "c"}]}}
    obj = await client.patch(service(namespace), StrategicMergePatch(change))
    assert [(item["port"], item["name"]) for item in obj["spec"]["ports"]] == [(80, "a"), (82, "c"), (81, "b")]
    assert obj["spec"]["ports"][0]["targetPort"] == 8080


@pytest.mark.parametrize(
    ("patch", "left"),
    [
        ({"$patch": "replace", "c": "3"}, {"c": "3"}),
        ({"$patch": "delete"}, None),
        ({"$retainKeys": ["b", "c"], "c": "3"}, {"b": "2", "c": "3"}),
    ],
)
async def test_directives_of_a_map_are_followed(client, namespace, patch, left):
    """An emptied map of a built-in kind is not there."""
    await client.create(config_map(namespace, data={"a": "1", "b": "2"}))
    obj = await client.patch(config_map(namespace), StrategicMergePatch({"data": patch}))
    assert obj.get("data") == left


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"data": {"$patch": "explode"}}, "unknown patch type: explode in map: map[$patch:explode]"),
        (
            {"spec": {"template": {"spec": {"containers": [{"image": "z"}]}}}},
            "map: map[image:z] does not contain declared merge key: name",
        ),
        ({"data": {"$patch": "merge", "c": "3"}}, "unknown patch type: merge in map: map[$patch:merge c:3]"),
    ],
)
async def test_a_strategic_merge_that_means_nothing_is_refused(client, namespace, patch, message):
    """As the server's own failure, in its words."""
    await client.create(config_map(namespace, data={"a": "1"}))
    await client.create(deployment(namespace))
    obj = config_map(namespace) if "data" in patch else deployment(namespace)
    with pytest.raises(InternalServerError) as caught:
        await client.patch(obj, StrategicMergePatch(patch))
    assert caught.value.message == message
    assert (await client.get(CONFIG_MAP, f"{namespace}/a")).data["data"] == {"a": "1"}


async def test_plain_items_are_added_and_taken_by_value(client, namespace):
    """New ones come first; `$deleteFromPrimitiveList` takes them out."""
    await client.create(config_map(namespace, finalizers=["x.io/a"]))
    change = StrategicMergePatch({"metadata": {"finalizers": ["x.io/b"]}})
    obj = await client.patch(config_map(namespace), change)
    assert obj["metadata"]["finalizers"] == ["x.io/b", "x.io/a"]
    change = StrategicMergePatch({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}})
    obj = await client.patch(config_map(namespace), change)
    assert obj["metadata"]["finalizers"] == ["x.io/b"]


async def test_a_dry_run_of_a_conflict_is_one(client, namespace):
    """What would be refused is refused, and nothing is stored of what would not."""
    await client.create(config_map(namespace, data={"a": "1"}))
    before = await client.get(CONFIG_MAP, f"{namespace}/a")
    dry = client.with_options(dry_run=True)
    with pytest.raises(Conflict):
        await dry.apply(config_map(namespace, data={"a": "2"}), field_manager="two")
    await dry.apply(config_map(namespace, data={"a": "2"}), field_manager="two", force=True)
    assert (await client.get(CONFIG_MAP, f"{namespace}/a")).data == before.data
    assert copy.deepcopy(before.data) == before.data
