"""Options of commands. A field of a class that is made by :func:`option` is all that declares one.

It is an option of each command whose options are of that class. If PROJECT records it, it is also a key there, a value
that templates see, and a word of the commands that `pykb update` repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pykb.meta import names
from pykb.meta.names import to_camel


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option.

    Attributes:
        help: Its help.
        metavar: What the help shows for its value.
        flag: Its name on the command line. Defaults to that of the field.
        key: Its key in PROJECT. Defaults to the name on the command line.
        completion: What a shell completes, such as ``versions``: see `pykb/cli/options.py`.
        has_opposite: Whether there is ``--no-FLAG``, too. So it is for each that can also be ``None``.
        is_asked: Whether the command asks a person who does not say it. It is ``None`` then.
        hidden: Whether the help leaves it out.
        least: The least number.
        most: The largest number.
        read: Reads a value in PROJECT, which is a text; empty without one. Raises ``ValueError``.
        required: Whether PROJECT must have it.
        holds: Whether a text is valid.
        expected: What a valid value is.
    """

    help: str
    metavar: str | None = None
    flag: str = ""
    key: str = ""
    completion: str = ""
    has_opposite: bool = False
    is_asked: bool = False
    hidden: bool = False
    least: int | None = None
    most: int | None = None
    read: Callable[[str], object] = str
    required: bool = False
    holds: Callable[[str], bool] = lambda _: True
    expected: str = ""


def option(help: str, metavar: str | None = None, *, default: Any = "", **more: Any) -> Any:  # noqa: A002 - as in typer
    """A field that is an option. The other arguments are those of :class:`Option`."""
    return field(default=default, metadata={"option": Option(help, metavar, **more)})


def options_of(cls: type) -> dict[str, Option]:
    """The options of a class, by the names of their fields."""
    found = {}
    for each in fields(cls):
        if "option" in each.metadata:
            declared: Option = each.metadata["option"]
            flag = declared.flag or f"--{each.name.replace('_', '-')}"
            key = declared.key or to_camel(flag.removeprefix("--").replace("-", "_"))
            found[each.name] = replace(declared, flag=flag, key=key)
    return found


def given(options: object) -> Iterator[tuple[Option, str]]:
    """The options that have a value, with its text. That of a list has commas between the items."""
    cls: type[Any] = type(options)
    for name, declared in options_of(cls).items():
        if value := getattr(options, name):
            yield declared, ",".join(value) if isinstance(value, tuple) else str(value)


def words(options: object) -> tuple[str, ...]:
    """The options as words of a command: those that are not the default, and those that it would ask for."""
    cls: type[Any] = type(options)
    declared, found = options_of(cls), []
    for each in fields(cls):
        value = getattr(options, each.name)
        if each.name not in declared or (value == each.default and not declared[each.name].is_asked):
            continue
        flag = declared[each.name].flag
        if isinstance(value, bool):
            found.append(flag if value else f"--no-{flag.removeprefix('--')}")
        elif value:
            found.append(f"{flag}={','.join(value) if isinstance(value, tuple) else value}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """Options of `create api` about the types of a kind that kubebuilder's keys do not have."""

    from_version: str = option(
        "Copy the types and the sample of this version.",
        "VERSION",
        flag="--from",
        completion="versions",
        holds=names.is_version,
        expected=names.A_VERSION,
    )
    short_name: str = option(
        "A short name of the kind, for kubectl.",
        "NAME",
        holds=names.is_rfc_1035_label,
        expected=names.A_DNS_LABEL,
    )


NONE = ApiOptions()
"""Nothing is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectOptions:
    """Options of `init` and `edit` that kubebuilder's keys do not have. ``None`` if a command line does not say it."""

    replicas: int | None = option(
        "How many managers run: one works, the others wait. Two or more have a disruption budget.",
        "N",
        default=None,
        least=1,
        most=1000,
    )
    shards: int | None = option(
        "Let all replicas work, each on its share of N ranges. 0 for one replica.",
        "N",
        default=None,
        least=0,
        most=4096,  # as many as a manager takes
    )
