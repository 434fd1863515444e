"""``pykb explain``: the reference, without a network: messages, markers, pages, Kubernetes' kinds, names."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import typer

import pykb
from pykb.cli import console
from pykb.cli.errors import refuse
from pykb.cli.options import beginning
from pykb.diagnostics.codes.cli import UNKNOWN_CODE

if TYPE_CHECKING:
    from pykb.api import Struct
    from pykb.meta.gvk import GroupVersionKind


def complete_explained(incomplete: str) -> list[str]:
    """The codes of messages or, after a `+`, the names of markers."""
    if incomplete.startswith("+"):
        from pykb.markers.registry import builtin_registry

        return beginning(incomplete, (f"+{marker.name}" for marker in builtin_registry()))
    if incomplete.startswith("pykb."):
        found, path, _ = find(incomplete.rpartition(".")[0])
        return beginning(incomplete, (f"{path}.{name}" for name in names_of(found)))
    from pykb.diagnostics.codes import all_codes
    from pykb.scaffold.locate import reference

    pages = (path.stem for path in reference().glob("*.md"))
    return beginning(incomplete, iter([*all_codes(), *pages, *dict.fromkeys(each.kind for each in kinds()), "pykb."]))


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[CODE | +MARKER | markers | PAGE | KIND[.FIELD...] | pykb.NAME]",
            autocompletion=complete_explained,
            help="A code such as marker-unknown, a marker, `markers` for all, a page, a kind, a name to import.",
        ),
    ] = "",
) -> None:
    """Explain a message by the code in its brackets, a marker by its name, or a name of the Python API.

    Of a kind of Kubernetes, or of a field, it shows the fields: their types, and which are required.
    It also shows the pages of the reference: cli, diagnostics, explore, flags, generate, kubebuilder,
    marker-coverage, metrics, output, project, semantics, supported-versions. Without a name, it lists all codes.

    Examples:
      pykb explain anchor-missing
      pykb explain +kubebuilder:validation:MinLength
      pykb explain markers
      pykb explain metrics
      pykb explain pykb.runtime.Manager
      pykb explain Deployment.spec.strategy
    """
    if subject.startswith(("+", "kubebuilder:", "k8s:")):
        _marker(subject.lstrip("+").partition("=")[0])
        return
    subject = subject.removesuffix(".md")
    if subject == "markers":
        from pykb.markers.registry import builtin_registry, list_markers

        registry = builtin_registry()
        if not console.data([{"name": each.name, "summary": each.summary} for each in registry]):
            console.raw(list_markers(registry))
    elif subject == "pykb" or subject.startswith("pykb."):
        _python(subject)
    elif (found := types_named(subject.partition(".")[0])) and not _is_page_or_code(subject):
        first, *others = found
        show_fields(first.__name__, first, subject.partition(".")[2])
        for other in others:
            console.say(f"note: there is also `pykb explain {other.__module__}.{other.__name__}`")
    else:
        _page_or_code(subject)


def _marker(name: str) -> None:
    from pykb.markers.registry import builtin_registry, explain_marker

    registry = builtin_registry()
    definition = registry.get(name)
    if definition is None:
        near = registry.suggest(name)
        what = f"a marker with a similar name exists: `pykb explain +{near}`" if near else "`pykb explain markers`"
        refuse(f"no marker has the name `+{name}`", what, kind=UNKNOWN_CODE)
    console.raw(explain_marker(definition))


def _python(dotted: str) -> None:
    from pykb.diagnostics.suggest import closest

    found, path, missing = find(dotted)
    if is_builtin(found):
        show_fields(path, found, dotted[len(path) :].strip("."))
        return
    if missing:
        near = closest(missing, names_of(found))
        what = f"a similar name exists: `pykb explain {path}.{near}`" if near else f"`pykb explain {path}`"
        refuse(f"nothing public has the name `{dotted}`", what, kind=UNKNOWN_CODE)
    text = describe(dotted, found)
    if not console.data({"name": dotted, "text": text}):
        console.raw(text)


def _is_page_or_code(subject: str) -> bool:
    from pykb.diagnostics.codes import all_codes
    from pykb.scaffold.locate import reference

    return subject in all_codes() or any(path.stem == subject for path in reference().glob("*.md"))


def _page_or_code(subject: str) -> None:
    from pykb.scaffold.locate import reference

    pages = {path.stem: path for path in reference().glob("*.md")}
    if subject not in pages:
        _code(subject, sorted(pages))
        return
    text = pages[subject].read_text(encoding="utf-8")
    if not console.data({"page": subject, "text": text}):
        console.markdown(text)


def _code(slug: str, pages: Iterable[str] = ()) -> None:
    from pykb.diagnostics.codes import all_codes
    from pykb.diagnostics.suggest import closest

    codes = all_codes()
    if not slug:
        rows = [{"code": c.slug, "severity": str(c.severity), "title": c.title} for c in codes.values()]
        if console.data(rows):
            return
        width = max(len(known) for known in codes)
        for known, code in codes.items():
            console.out(f"{known:<{width}}  {code.title}")
        return
    found = codes.get(slug)
    if found is None:
        first, dot, below = slug.partition(".")
        near = closest(slug, [*codes, *pages]) or closest(first, [each.kind for each in kinds()])
        similar = f"{near}{dot}{below}" if near and dot else near
        what = f"a similar name exists: `pykb explain {similar}`" if near else "`pykb explain` lists the codes"
        if types := _own_types(first):
            what = f"`{first}` is a kind of this project: its fields are in `{types}`"
        refuse(f"neither a message nor a built-in kind has the name `{slug}`", what, kind=UNKNOWN_CODE)
    whole = {"severity": str(found.severity), "title": found.title, "explanation": found.explanation}
    if console.data({"code": found.slug, **whole}):
        return
    console.out(f"{found.severity}[{found.slug}]: {found.title}\n")
    for paragraph in found.explanation.split("\n\n"):
        console.out(paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, 100))


def _own_types(kind: str) -> str:
    """The file of a kind of the project. Empty if it has none of this name."""
    from pykb.plugins.rendering import types_file
    from pykb.project import find_root
    from pykb.project.file import read

    root = find_root()
    resources = read(root)[0].resources if root is not None else ()
    return next(
        (types_file(each) for each in resources if kind.casefold() in (each.kind.casefold(), each.plural) and each.api),
        "",
    )


_PACKAGES = ("api", "client", "envtest", "runtime", "testing")
_ROLE = re.compile(r":\w+:(`)~?")
_WIDTH = 100


class _Annotation(str):
    """An annotation that was not evaluated: it is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def find(dotted: str) -> tuple[Any, str, str]:
    """Import what a dotted name stands for: what was found, the name of that, and the first word that was not."""
    first, *words = dotted.split(".")
    found: Any = import_module(first)
    path = first
    for word in words:
        if not _has(found, word):
            return found, path, word
        path = f"{path}.{word}"
        found = getattr(found, word) if hasattr(found, word) else import_module(path)
    return found, path, ""


def names_of(found: Any) -> list[str]:
    """The public names in a module or class, in the order in which they are declared."""
    if found is pykb:
        return list(_PACKAGES)
    if isinstance(found, ModuleType):
        return list(getattr(found, "__all__", None) or _own_names(found))
    classes = [cls for cls in getattr(found, "__mro__", ()) if cls.__module__.startswith("pykb.")]
    return [
        name
        for name in dict.fromkeys(name for cls in classes for name in vars(cls))
        if not name.startswith("_") and _text_of(inspect.getattr_static(found, name))
    ]


def describe(dotted: str, found: Any) -> str:
    """The signature, the docstring, and the members with the first sentence of each."""
    parts = [_title(dotted, found), *filter(None, [_text_of(found)])]
    members = list(_members(found))
    if members:
        parts.append("\n".join([f"Names (`pykb explain {dotted}.NAME`):", "", *members]))
    return "\n\n".join(parts) + "\n"


def _has(found: Any, word: str) -> bool:
    if word.startswith("_") or (found is pykb and word not in _PACKAGES):
        return False
    if hasattr(found, word):
        return True
    return hasattr(found, "__path__") and find_spec(f"{found.__name__}.{word}") is not None


def _own_names(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            yield name


def _text_of(found: Any) -> str:
    found = getattr(found, "fget", None) or getattr(found, "func", None) or getattr(found, "__func__", found)
    documented = isinstance(found, ModuleType) or str(getattr(found, "__module__", "")).startswith("pykb")
    return _ROLE.sub(r"\1", (inspect.getdoc(found) or "").strip()) if documented else ""


def _members(found: Any) -> Iterator[str]:
    for name in names_of(found):
        is_module = isinstance(found, ModuleType)
        text = _text_of(find(f"{found.__name__}.{name}")[0] if is_module else inspect.getattr_static(found, name))
        yield f"  {name}"
        yield from textwrap.wrap(text.partition("\n\n")[0], _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _title(dotted: str, found: Any) -> str:
    if not callable(found):
        return dotted
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # built-in types, aliases
        return dotted
    shown = signature.replace(
        parameters=[each.replace(annotation=_shown(each.annotation)) for each in signature.parameters.values()],
        return_annotation=signature.empty if isinstance(found, type) else _shown(signature.return_annotation),
    )
    line = f"{dotted}{shown}"
    if len(line) <= _WIDTH:
        return line
    lines = [f"    {each}," for each in _arguments(shown)]
    end = "" if shown.return_annotation is shown.empty else f" -> {shown.return_annotation}"
    return "\n".join([f"{dotted}(", *lines, f"){end}"])


def _arguments(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for parameter in signature.parameters.values():
        keyword_only |= parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        yield str(parameter)


def _shown(annotation: Any) -> Any:
    return _Annotation(annotation) if isinstance(annotation, str) else annotation


def kinds() -> list[GroupVersionKind]:
    """Kubernetes' kinds. Of two with one name, that of the core group comes first, and then the newest version."""
    from pykb.api import builtin

    return sorted(sorted(builtin.kinds(), key=lambda each: each.version, reverse=True), key=lambda each: each.group)


def types_named(name: str) -> list[type[Struct]]:
    """Kubernetes' types of a name: kinds, also in lower case or in the plural as for kubectl, else parts of them."""
    from pykb.api.builtin import find_class, structs
    from pykb.meta.names import pluralize

    folded = name.casefold()
    definition = [find_class(each) for each in kinds() if folded in (each.kind.casefold(), pluralize(each.kind))]
    if definition or not name[:1].isupper():
        return [cls for cls in definition if cls is not None]
    return [cls for cls in structs() if cls.__name__ == name]


def is_builtin(found: Any) -> bool:
    """Whether it is one of Kubernetes' types."""
    from pykb.api import Struct
    from pykb.api.builtin_table import OTHER_MODULES, TABLE

    modules = (*OTHER_MODULES, *(module for module, _ in TABLE.values()))
    return isinstance(found, type) and issubclass(found, Struct) and found.__module__ in modules


def show_fields(called: str, cls: type[Struct], below: str) -> None:
    """Show the fields of a type, or those of one of its fields.

    Args:
        called: What to type for the type.
        cls: The type.
        below: The names of the fields that lead to the one to show, with dots.
    """
    from pykb.diagnostics.suggest import closest

    annotation: Any = cls
    for word in filter(None, below.split(".")):
        known = fields_of(_type_within(annotation))
        field = next((each for each in known if word in (each.name, each.wire)), None)
        if field is None:
            near = closest(word, [each.wire for each in known])
            what = f"a similar name exists: `pykb explain {called}.{near}`" if near else f"`pykb explain {called}`"
            refuse(f"`{called}` has no field `{word}`", what, kind=UNKNOWN_CODE)
        called, annotation = f"{called}.{field.wire}", field.annotation
    shown = fields_of(_type_within(annotation))
    if console.data({"name": called, "type": type_text(annotation), "fields": [each.to_json() for each in shown]}):
        return
    console.out(_headline(cls) if annotation is cls else f"{called}: {type_text(annotation)}")
    if not shown:
        return
    names = [each.wire if each.name == each.wire else f"{each.wire} ({each.name})" for each in shown]
    types = [type_text(each.annotation) for each in shown]
    console.out()
    for field, name, text in zip(shown, names, types, strict=True):
        console.out(f"  {name:<{max(map(len, names))}}  {text:<{max(map(len, types))}}  {field.remarks}".rstrip())
    deeper = [each.wire for each in shown if each.name != "metadata" and is_builtin(_type_within(each.annotation))]
    if deeper:
        console.out(f"\nThe fields of a field: `pykb explain {called}.{deeper[0]}`")


def _headline(cls: type[Struct]) -> str:
    from pykb.api.object import Object

    path = f"{cls.__module__}.{cls.__name__}"
    if not issubclass(cls, Object) or cls.resource is None:
        return path
    scope = "namespaced" if cls.resource.namespaced else "cluster-wide"
    return f"{cls.gvk.kind} of {cls.gvk.api_version} ({cls.resource.plural}, {scope})\n{path}"


class FieldText(NamedTuple):
    """A field of a type, for people."""

    name: str
    wire: str
    annotation: Any
    required: bool
    default: Any
    values: tuple[str, ...]

    @property
    def remarks(self) -> str:
        """Whether it is required, its default and its values."""
        parts = ["required"] * self.required
        parts += [f"default {self.default}"] * (self.default is not None)
        return ", ".join([*parts, *([f"one of {', '.join(self.values)}"] if self.values else [])])

    def to_json(self) -> dict[str, Any]:
        """The field as JSON."""
        texts = {"name": self.name, "wire": self.wire, "type": type_text(self.annotation)}
        return {**texts, "required": self.required, "default": self.default, "values": list(self.values)}


def fields_of(cls: Any) -> list[FieldText]:
    """The fields of a type of Kubernetes; none of others. An object's apiVersion and kind are left out."""
    if not is_builtin(cls):
        return []
    from pydantic_core import PydanticUndefined

    from pykb.api.annotations import KnownValues, SchemaRequired
    from pykb.api.object import Object

    fixed = ("api_version", "kind") if issubclass(cls, Object) else ()
    found = []
    for name, field in cls.model_fields.items():
        if name in fixed:
            continue
        required = field.is_required() or any(isinstance(each, SchemaRequired) for each in field.metadata)
        values = tuple(value for each in field.metadata if isinstance(each, KnownValues) for value in each.values)
        default = None if field.default is PydanticUndefined else field.default
        found.append(FieldText(name, field.alias or name, field.annotation, required, default, values))
    return found


def type_text(annotation: Any) -> str:
    """A type as people write it, without `None` and what is annotated."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    origin, parts = get_origin(annotation), [each for each in get_args(annotation) if each is not NoneType]
    if origin is Annotated:
        return type_text(parts[0])
    if origin is Literal:
        return " | ".join(map(repr, parts))
    if origin in (Union, UnionType):
        return " | ".join(map(type_text, parts))
    if isinstance(origin, type):
        return f"{origin.__name__}[{', '.join(map(type_text, parts))}]"
    return getattr(annotation, "__name__", None) or str(annotation).rpartition(".")[2]


def _type_within(annotation: Any) -> Any:
    """The type of a field's value, or of its elements."""
    while (parts := [each for each in get_args(annotation) if each is not NoneType]) and not is_builtin(annotation):
        annotation = parts[0] if get_origin(annotation) is Annotated else parts[-1]
    return annotation
