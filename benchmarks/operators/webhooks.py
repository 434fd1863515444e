"""The webhooks of the benchmark on pykb, written as in a project."""

from __future__ import annotations

from benchmarks.operators.kinds import Widget
from pykb.runtime import Defaulter, FieldError, Invalid, Manager, Validator, Warnings, WebhookBuilder


class WidgetDefaulter(Defaulter[Widget]):
    """Sets default limits of a widget."""

    async def default(self, obj: Widget) -> None:
        if obj.spec.limits is None:
            obj.spec.limits = {"cpu": "500m", "memory": "128Mi"}


class WidgetValidator(Validator[Widget]):
    """Refuses invalid widgets and invalid changes."""

    async def validate_create(self, obj: Widget) -> Warnings:
        refuse(obj, problems(obj))
        return None

    async def validate_update(self, old: Widget, new: Widget) -> Warnings:
        found = problems(new)
        if new.spec.replicas < old.spec.replicas:
            found.append(FieldError.forbidden("spec.replicas", "must not shrink"))
        refuse(new, found)
        return None


def problems(widget: Widget) -> list[FieldError]:
    found: list[FieldError] = []
    if widget.spec.replicas < 0:
        found.append(FieldError("spec.replicas", "must not be negative", value=widget.spec.replicas))
    names: set[str] = set()
    for number, each in enumerate(widget.spec.env or []):
        if each.name in names:
            found.append(FieldError.duplicate(f"spec.env[{number}].name", each.name))
        names.add(each.name)
    return found


def refuse(widget: Widget, found: list[FieldError]) -> None:
    if found:
        raise Invalid.of(widget, found)


def set_up(manager: Manager) -> None:
    WebhookBuilder(manager).for_(Widget).with_defaulter(WidgetDefaulter()).with_validator(WidgetValidator()).complete()

    async def report() -> None:
        await manager.webhook_server.listening()
        print("done", flush=True)

    manager.add(report, name="report")
