"""What pykb uses of kopf's internals is as it was when this minor was tested.

When one of these fails under a new kopf, `pykb.runtime._kopf` must be looked at before the pin in pyproject.toml is widened:
the failing assertion names what changed.
"""

import dataclasses
import importlib.metadata
import inspect

import kopf
import pytest
from kopf._cogs.aiokits import aioenums
from kopf._cogs.clients import errors, watching
from kopf._cogs.structs import credentials, diffs, references
from kopf._core.actions import execution
from kopf._core.engines import admission, posting
from kopf._core.intents import causes
from kopf._core.reactor import inventory, observation, subhandling

from pykb.runtime._kopf.internals import continuous_watch
from pykb.runtime._kopf.watch import HandlerWatches

TESTED = ("1.45",)

SIGNATURES = {
    watching.continuous_watch: {"settings", "resource", "namespace", "operator_pause_waiter"},
    watching.infinite_watch: {"settings", "resource", "namespace", "operator_paused", "_iterations"},
    execution.invoke_handler: {
        *("handler", "cause", "retry", "started", "runtime", "settings", "lifecycle", "subrefs", "extra_context")
    },
    subhandling.subhandling_context: set(),
    admission.build_webhooks: {"handlers_", "resources", "name_suffix", "client_config", "persistent_only"},
    credentials.Vault.__init__: {"self", "__src"},
    inventory.ResourceMemories.iter_all_daemon_memories: {"self"},
    aioenums.SyncFlagWaiter.wait: {"self", "timeout"},
}


def test_the_installed_minor_is_a_tested_one():
    """Widen the pin only together with this list."""
    assert ".".join(importlib.metadata.version("kopf").split(".")[:2]) in TESTED


@pytest.mark.parametrize("function", list(SIGNATURES), ids=lambda function: function.__qualname__)
def test_signatures_are_as_known(function):
    """A new, renamed or removed parameter may be a new meaning."""
    names = {name.removeprefix("_Vault") for name in inspect.signature(function).parameters}
    assert names == SIGNATURES[function]


def test_a_watch_is_a_generator_that_lists_first():
    """One call lists, yields the bookmark, and watches; the next call lists anew: ours does the same."""
    assert inspect.isasyncgenfunction(continuous_watch)
    assert watching.Bookmark.LISTED.name == "LISTED"
    assert len(watching.Bookmark) == 1


def test_infinite_watch_finds_the_watch_through_its_module():
    """So that user handlers get the watch that reports lost deletions."""
    assert "continuous_watch(" in inspect.getsource(watching.infinite_watch)
    assert watching.infinite_watch.__globals__ is vars(watching)


def test_a_rejected_login_is_renewed_and_not_an_equal_one_refused():
    """Sessions are compared by identity of their aiohttp session, so each login counts as new."""
    fields = set(credentials.AiohttpSession.__dataclass_fields__)
    assert fields >= {"server", "aiohttp_session", "expiration", "default_namespace"}
    assert kopf.AiohttpSession is credentials.AiohttpSession


def test_what_kopf_may_not_watch_is_an_error_that_it_knows():
    """It does without the definitions and namespaces that come later, and handlers run on."""
    assert set(inspect.signature(errors.APIError).parameters) == {"payload", "status", "headers"}
    assert "except errors.APIForbiddenError" in inspect.getsource(observation.resource_observer)
    assert "except errors.APIForbiddenError" in inspect.getsource(observation.namespace_observer)


def test_a_resource_says_what_to_watch():
    """Its parts, from kopf's own discovery."""
    names = {field.name for field in dataclasses.fields(references.Resource)}
    assert names >= {"group", "version", "plural", "kind", "namespaced"}


def test_settings_are_where_they_were():
    """A misspelt setting would be ignored silently."""
    settings = kopf.OperatorSettings()
    used = {
        "watching": {"label_selectors", "field_selectors", "shard_selectors"},
        "scanning": {"disabled"},
        "admission": {"server", "managed"},
    }
    missing = {f"{section}.{name}" for section in used for name in used[section] - set(dir(getattr(settings, section)))}
    assert not missing, "settings that this kopf does not have"
    settings.watching.label_selectors[kopf.EVERYTHING] = "app=web"
    pods = references.Resource("", "v1", "pods", namespaced=True)
    assert list(settings.watching.label_selectors.collect(pods)) == ["app=web"]


def test_tasks_can_be_spawned_without_being_run():
    """The manager ends kopf's tasks itself: kopf's own end would cancel every task of the loop."""
    parameters = set(inspect.signature(kopf.spawn_tasks).parameters)
    assert parameters >= {"registry", "settings", "standalone", "clusterwide", "namespaces", "stop_flag"}
    for group in ("_webhooks", "_indexing", "_watching", "_spawning", "_changing"):
        assert getattr(kopf.OperatorRegistry(), group).get_all_handlers() == []


def test_a_registry_has_the_groups_that_are_parted_among_replicas():
    """A new group of handlers would run nowhere."""
    groups = set(vars(kopf.OperatorRegistry()))
    assert groups == {"_activities", "_indexing", "_watching", "_spawning", "_changing", "_webhooks"}


def test_a_webhook_server_is_a_function_that_gives_client_configurations():
    """It is called with the function that answers, and keeps its configurations by what it yields."""
    assert set(vars(kopf.OperatorSettings().admission)) == {"server", "managed"}
    source = inspect.getsource(admission.admission_webhook_server)
    assert "async for client_config in settings.admission.server(webhookfn):" in source
    serve = inspect.getsource(kopf.WebhookServer)
    assert "await fn(data, webhook=webhook, sslpeer=sslpeer, headers=headers)" in serve
    assert "url_id = urllib.parse.quote(id)" in inspect.getsource(admission._inject_handler_id)
    for error in (admission.AmbiguousResourceError, admission.UnknownResourceError):
        assert issubclass(error, admission.WebhookError)


def test_a_handler_is_called_with_what_its_cause_says():
    """`pykb.testing.call_handler` makes the same cause; a new field of it is a new argument of handlers."""
    fields = {field.name for field in dataclasses.fields(causes.ChangingCause)}
    assert fields == {
        *("logger", "indices", "memo", "resource", "patch", "body", "initial", "reason", "diff", "old", "new"),
    }
    assert isinstance(causes.ChangingCause.async_kwargs, property)
    assert {"CREATE", "UPDATE", "DELETE"} <= set(causes.Reason.__members__)
    assert list(diffs.diff({"a": 1}, {"a": 2})) == [("change", ("a",), 1, 2)]


def test_what_handlers_call_finds_its_context():
    """`call_handler` sets these: `kopf.adopt`, `kopf.event` and sub-handlers read them."""
    read = (
        (kopf.adopt, "execution.cause_var.get()"),
        (kopf.event, "settings_var.get()"),
        (posting.enqueue, "event_queue_loop_var.get()"),
        (posting.enqueue, "event_queue_var.get()"),
        (kopf.execute, "execution.sublifecycle_var.get()"),
        (kopf.subhandler, "subhandling.subregistry_var.get()"),
    )
    for function, expression in read:
        assert expression in inspect.getsource(inspect.getmodule(function)), function.__name__
    assert posting.K8sEvent._fields == ("ref", "type", "reason", "message", "backoffs")


async def test_kopfs_module_is_as_it_was_when_the_last_operator_of_ours_has_ended():
    """Other operators in the process have kopf's own watch, meanwhile too: it is told apart by the task."""
    first, second = HandlerWatches(None), HandlerWatches(None)
    with first.in_use():
        with second.in_use():
            replaced = watching.continuous_watch
            assert replaced is not continuous_watch
        assert watching.continuous_watch is replaced
    assert watching.continuous_watch is continuous_watch
