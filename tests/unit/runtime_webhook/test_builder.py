"""Putting webhooks together: what is registered where, and what cannot be."""

from typing import Generic, TypeVar

import pytest

from pykb.api import Converter, CustomResource, GroupVersion, GroupVersionKind, Unstructured
from pykb.api.core.v1 import Pod
from pykb.diagnostics import EnvironmentProblem
from pykb.meta.gvk import mutate_path, validate_path
from pykb.runtime import Defaulter, Validator, WebhookBuilder

from .conftest import GROUP, V1, V2, Machine  # noqa: TID252 - shared by this folder only

T = TypeVar("T", bound=CustomResource)


class MachineV2(CustomResource, group_version=V2, kind="Machine"):
    """The hub."""


class MachineV3(CustomResource, group_version=GroupVersion(GROUP, "v3"), kind="Machine"):
    """Another spoke."""


class Engine(CustomResource, group_version=V1):
    """Another kind."""


class Nameless(CustomResource):
    """No kind at all."""


class MachineDefaulter(Defaulter[Machine]):
    """Does nothing."""

    async def default(self, obj):
        """Nothing."""


class MachineValidator(Validator[Machine]):
    """Allows."""


class PodValidator(Validator[Pod]):
    """Allows."""


class FromV1(Converter[Machine, MachineV2]):
    """A spoke."""

    def to_hub(self, spoke):
        """Nothing kept."""
        return MachineV2()

    def from_hub(self, hub):
        """Nothing kept."""
        return Machine()


class AlsoFromV1(FromV1):
    """The same spoke again."""


class FromV3(Converter[MachineV3, MachineV2]):
    """Another spoke."""

    def to_hub(self, spoke):
        """Nothing kept."""
        return MachineV2()

    def from_hub(self, hub):
        """Nothing kept."""
        return MachineV3()


class IntoV3(Converter[Machine, MachineV3]):
    """Another hub."""

    def to_hub(self, spoke):
        """Nothing kept."""
        return MachineV3()

    def from_hub(self, hub):
        """Nothing kept."""
        return Machine()


class FromEngine(Converter[Engine, MachineV2]):
    """A spoke of another kind."""

    def to_hub(self, spoke):
        """Nothing kept."""
        return MachineV2()

    def from_hub(self, hub):
        """Nothing kept."""
        return Engine()


class FromItself(Converter[MachineV2, MachineV2]):
    """No other version."""

    def to_hub(self, spoke):
        """Nothing kept."""
        return MachineV2()

    def from_hub(self, hub):
        """Nothing kept."""
        return MachineV2()


class FromNowhere(Converter[Nameless, MachineV2]):
    """No version."""

    def to_hub(self, spoke):
        """Nothing kept."""
        return MachineV2()

    def from_hub(self, hub):
        """Nothing kept."""
        return Nameless()


@pytest.mark.parametrize(
    ("gvk", "suffix"),
    [
        (GroupVersionKind("infra.sealyun.com", "v1", "VirtulMachine"), "-infra-sealyun-com-v1-virtulmachine"),
        (GroupVersionKind("", "v1", "Pod"), "--v1-pod"),
        (GroupVersionKind("apps", "v1", "Deployment"), "-apps-v1-deployment"),
    ],
)
def test_paths_are_kubebuilders(gvk, suffix):
    """Generated manifests name them."""
    assert mutate_path(gvk) == f"/mutate{suffix}"
    assert validate_path(gvk) == f"/validate{suffix}"


def test_everything_of_a_kind_is_registered_in_one_expression(manager_of):
    """At default paths or at others; all conversions are at one path."""
    manager = manager_of()
    WebhookBuilder(manager).for_(Machine).with_defaulter(MachineDefaulter()).with_validator(
        MachineValidator(), path="/check"
    ).complete()
    WebhookBuilder(manager).for_(Pod).with_validator(PodValidator()).complete()
    WebhookBuilder(manager).for_(MachineV2).with_converter(FromV1()).with_converter(FromV3()).complete()
    server = manager.webhook_server
    assert server.paths == {"/mutate-infra-example-com-v1-machine", "/check", "/validate--v1-pod", "/convert"}
    assert {str(kind) for kind in server.converted} == {"Machine.infra.example.com"}


PROBLEMS = {
    "no kind": (
        lambda builder: builder.with_validator(MachineValidator()),
        "incomplete-webhook",
        "a webhook needs a kind",
        "add `.for_(Kind)`",
    ),
    "no webhook": (
        lambda builder: builder.for_(Machine),
        "incomplete-webhook",
        "the webhook for infra.example.com/v1 Machine has no handler",
        "add `.with_defaulter(...)`, `.with_validator(...)` or `.with_converter(...)`",
    ),
    "a defaulter of another kind": (
        lambda builder: builder.for_(Engine).with_defaulter(MachineDefaulter()),
        "webhook-of-another-kind",
        "`MachineDefaulter` is for infra.example.com/v1 Machine, but `for_` names infra.example.com/v1 Engine",
        "write `class MachineDefaulter(Defaulter[Engine])` with Engine of infra.example.com/v1",
    ),
    "a validator of another version": (
        lambda builder: builder.for_(MachineV2).with_validator(MachineValidator()),
        "webhook-of-another-kind",
        "`MachineValidator` is for infra.example.com/v1 Machine, but `for_` names infra.example.com/v2 Machine",
        "write `class MachineValidator(Validator[Machine])` with Machine of infra.example.com/v2",
    ),
    "a converter whose hub is another": (
        lambda builder: builder.for_(MachineV3).with_converter(FromV1()),
        "webhook-of-another-kind",
        "`FromV1` has the hub infra.example.com/v2 Machine, but `for_` names infra.example.com/v3 Machine",
        "give `for_` the hub: infra.example.com/v2 Machine",
    ),
    "spoke and hub swapped": (
        lambda builder: builder.for_(Machine).with_converter(FromV1()),
        "webhook-of-another-kind",
        "`FromV1` has the hub infra.example.com/v2 Machine, but `for_` names infra.example.com/v1 Machine",
        "name the spoke first and the hub second",
    ),
    "a spoke of another kind": (
        lambda builder: builder.for_(MachineV2).with_converter(FromEngine()),
        "wrong-converter",
        "`FromEngine` converts Engine.infra.example.com into Machine.infra.example.com",
        "give it a version of Machine.infra.example.com as the spoke",
    ),
    "a spoke that is the hub": (
        lambda builder: builder.for_(MachineV2).with_converter(FromItself()),
        "wrong-converter",
        "`FromItself` converts infra.example.com/v2 Machine into itself",
        "give it another version of Machine.infra.example.com as the spoke",
    ),
    "a spoke without a version": (
        lambda builder: builder.for_(MachineV2).with_converter(FromNowhere()),
        "wrong-converter",
        "`FromNowhere`: `Nameless` is not a kind",
        "",
    ),
    "two converters of a spoke": (
        lambda builder: builder.for_(MachineV2).with_converter(FromV1()).with_converter(AlsoFromV1()),
        "wrong-converter",
        "`AlsoFromV1` converts infra.example.com/v1 Machine, and so does `FromV1`",
        "remove one of them",
    ),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_does_not_fit_together_is_told_with_its_remedy(manager_of, case):
    """When it is put together, and not when the API server asks."""
    build, slug, message, remedy = PROBLEMS[case]
    manager = manager_of()
    with pytest.raises(EnvironmentProblem) as problem:
        build(WebhookBuilder(manager)).complete()
    diagnostic = problem.value.diagnostic
    assert diagnostic.code.slug == slug
    assert diagnostic.message.startswith(message)
    assert diagnostic.help == ((remedy,) if remedy else ())


def test_a_kind_has_one_hub(manager_of):
    """Also across builders."""
    manager = manager_of()
    WebhookBuilder(manager).for_(MachineV2).with_converter(FromV3()).complete()
    with pytest.raises(EnvironmentProblem, match=r"other converters of Machine\.infra\.example\.com have infra"):
        WebhookBuilder(manager).for_(MachineV3).with_converter(IntoV3()).complete()


def test_objects_are_wanted_and_not_classes(manager_of):
    """A frequent slip; and each method takes its own kind of object, once."""
    builder = WebhookBuilder(manager_of())
    with pytest.raises(TypeError, match=r"got the class `MachineDefaulter`: `MachineDefaulter\(\)`"):
        builder.with_defaulter(MachineDefaulter)
    with pytest.raises(TypeError, match="`with_validator` needs a `Validator`, got `MachineDefaulter`"):
        builder.with_validator(MachineDefaulter())
    with pytest.raises(TypeError, match="`with_converter` needs a `Converter`"):
        builder.with_converter(MachineDefaulter())
    builder.for_(Machine).with_defaulter(MachineDefaulter()).with_validator(MachineValidator())
    with pytest.raises(ValueError, match="`for_` was called"):
        builder.for_(Machine)
    with pytest.raises(ValueError, match="has one defaulter"):
        builder.with_defaulter(MachineDefaulter())
    with pytest.raises(ValueError, match="has one validator"):
        builder.with_validator(MachineValidator())


def test_what_a_webhook_is_for_is_said_by_its_type_argument():
    """Missing or wrong ones are told where the class is made; generic classes in between are fine."""
    assert MachineDefaulter.kind is Machine

    class Base(Validator[T], Generic[T]):
        pass

    class Derived(Base[Machine]):
        pass

    class Further(Derived):
        pass

    class Any(Validator[Unstructured]):
        pass

    assert Derived.kind is Further.kind is Machine
    assert Any.kind is Unstructured
    assert (FromV1.spoke, FromV1.hub) == (Machine, MachineV2)
    with pytest.raises(TypeError, match=r"write `class Bare\(Defaulter\[Pod\]\)`"):

        class Bare(Defaulter):
            pass

    with pytest.raises(TypeError, match=r"is for `int`, which is not a kind"):

        class Wrong(Defaulter[int]):
            pass

    with pytest.raises(TypeError, match="the class itself and not its name"):

        class Named(Defaulter["Machine"]):
            pass

    with pytest.raises(TypeError, match=r"write `class Half\(Converter\[v1.CronJob, v2.CronJob\]\)`"):

        class Half(Converter):
            pass

    with pytest.raises(TypeError, match="is for `str`"):

        class Text(Converter[Machine, str]):
            pass
