"""Reads external YAML: users' files and output of programs.

libyaml composes nodes by recursion in C, so deep nesting crashes the process. PyYAML raises various exceptions for
malformed values. With aliases, a short text can expand to more values than fit into memory. The readers here stop
before each of these problems, with a ``yaml.MarkedYAMLError`` that has the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from pykb.diagnostics import Span
from pykb.reading import CONFLICT, before_conflict, read_json

if TYPE_CHECKING:
    from yaml import CSafeLoader as _Base
else:  # PyYAML without libyaml
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DEEPEST = 100
"""The maximum nesting. The deepest of about a hundred common CRDs has 39 levels; Python's stack allows about 180."""
MOST_VALUES = 5_000_000
"""The maximum number of values after alias expansion. The largest CRDs have about 100,000."""
LONGEST = 100_000_000
"""The maximum number of characters. API servers accept objects of 3 MB; all CRDs of a full cluster have about 30 MB."""

_PAIR = re.compile(rb"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_T = TypeVar("_T")


_TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"


class LimitError(yaml.MarkedYAMLError):
    """A text is larger or more deeply nested than any manifest."""


def verdict(error: Exception) -> str:
    """The message for a text with this error."""
    return "cannot be read" if isinstance(error, LimitError) else "is not YAML"


def place(error: yaml.MarkedYAMLError, path: str) -> Span:
    """The place of the error in a file, or the start of the file when the error has no place."""
    mark = error.problem_mark
    return Span(path, mark.line + 1, mark.column + 1) if mark else Span(path, 1, 1)


def reason(error: yaml.MarkedYAMLError) -> str:
    """The problem of a text, with its line."""
    mark = error.problem_mark
    return f"{error.problem}, in line {mark.line + 1}" if mark else f"{error.problem}"


def _joined(text: bytes) -> bytes:
    """JSON with one escape for each character beyond U+FFFF: YAML does not know the two that JSON has for it."""
    if _PAIR.search(text) is None:
        return text
    try:
        read_json(text)
    except ValueError:
        return text  # with other quotes, where this may be no escape
    return _PAIR.sub(lambda pair: b"%s\\U%08x" % (pair[1], ord(read_json(b'"%s"' % pair[2]))), text)


class Loader(_Base):
    """A safe loader with limits. It raises only ``yaml.MarkedYAMLError``."""

    def __init__(self, text: str | bytes) -> None:
        """Begin to read a text.

        Raises:
            yaml.MarkedYAMLError: The text is too long, or has characters that YAML does not allow.
        """
        self._depth = 0
        if len(text) > LONGEST:
            raise LimitError(problem=f"it is longer than {LONGEST:,} characters", problem_mark=_mark(""))
        try:
            self._text = _joined(text.encode() if isinstance(text, str) else text)
        except UnicodeEncodeError as error:  # half a surrogate pair
            mark = _mark(text[: error.start])
            raise yaml.MarkedYAMLError(problem="a character is not allowed", problem_mark=mark) from error
        self._guarded(lambda: super(Loader, self).__init__(self._text))

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:  # noqa: ARG002 - PyYAML's signature
        """Check the limits. PyYAML calls this before it composes a node, with the node around it."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise LimitError(problem=_TOO_DEEP, problem_mark=current_node.start_mark)

    def ascend_resolver(self) -> None:
        """Leave a node. PyYAML calls this after each node."""
        self._depth -= 1

    def events(self) -> Iterator[Any]:
        """The events of the text that begin a value."""
        while self._guarded(self.check_event):
            event = self._guarded(self.get_event)
            if isinstance(event, yaml.NodeEvent):
                yield event

    def check_node(self) -> bool:
        """Whether there is another document."""
        return self._guarded(super().check_node)

    def get_node(self) -> yaml.Node | None:
        """The next document as nodes."""
        return self._measured(self._guarded(super().get_node))

    def get_single_node(self) -> yaml.Node | None:
        """The only document as nodes."""
        return self._measured(self._guarded(super().get_single_node))

    def construct_document(self, node: yaml.Node) -> Any:
        """The value of a document."""
        try:
            return super().construct_document(node)
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
            # An invalid date, a number with more digits than Python converts, or a tag that does not fit its text.
            raise yaml.MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from error

    def _measured(self, node: yaml.Node | None) -> yaml.Node | None:
        if node is not None and b"*" in self._text and _size(node) > MOST_VALUES:
            raise LimitError(problem="its aliases expand to too many values", problem_mark=node.start_mark)
        return node

    def _guarded(self, step: Callable[[], _T]) -> _T:
        try:
            return step()
        except yaml.reader.ReaderError as error:
            raise yaml.MarkedYAMLError(
                problem=error.reason, problem_mark=_mark(self._text[: error.position])
            ) from error
        except yaml.MarkedYAMLError as error:
            if (before := before_conflict(self._text.decode("utf-8", "replace"))) is not None:
                raise yaml.MarkedYAMLError(problem=CONFLICT, problem_mark=_mark(before)) from error
            if error.problem != "exceeded maximum nesting depth":
                raise
            # PyYAML has a limit of its own since 6.0.4, in flow style before its first event.
            raise LimitError(problem=_TOO_DEEP, problem_mark=error.problem_mark) from error


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream: its nodes, with their places, and its value."""

    node: yaml.Node
    content: Any


def documents(text: str | bytes, loader: type[Loader] = Loader) -> Iterator[Document]:
    """The documents of a stream, one by one.

    Raises:
        yaml.MarkedYAMLError: The rest of the text is not YAML, or exceeds a limit.
    """
    reader = loader(text)
    try:
        while reader.check_node():
            node = reader.get_node()
            if node is not None:
                yield Document(node, reader.construct_document(node))
    finally:
        reader.dispose()


def load_all(text: str | bytes) -> list[Any]:
    """The values of all documents of a stream.

    Raises:
        yaml.MarkedYAMLError: The text is not YAML, or exceeds a limit.
    """
    return [document.content for document in documents(text)]


def load(text: str | bytes, loader: type[Loader] = Loader) -> Any:
    """The value of the only document of a text; ``None`` for an empty text.

    Raises:
        yaml.MarkedYAMLError: The text is not YAML, has more than one document, or exceeds a limit.
    """
    found = document(text, loader)
    return None if found is None else found.content


def document(text: str | bytes, loader: type[Loader] = Loader) -> Document | None:
    """The only document of a text; ``None`` for an empty text.

    Raises:
        yaml.MarkedYAMLError: The text is not YAML, has more than one document, or exceeds a limit.
    """
    reader = loader(text)
    try:
        node = reader.get_single_node()
        return None if node is None else Document(node, reader.construct_document(node))
    finally:
        reader.dispose()


def check_size(text: str, *, most: int, longest: int) -> None:
    """Check that a text is small, before a reader that takes long for a large one.

    Args:
        text: YAML.
        most: The largest number of values.
        longest: The largest number of characters in one value, tag or anchor.

    Raises:
        yaml.MarkedYAMLError: The text exceeds a limit, or is not YAML.
    """
    reader = Loader(text)
    try:
        for count, event in enumerate(reader.events()):
            parts = (getattr(event, name, None) for name in ("value", "tag", "anchor"))
            if any(part is not None and len(part) > longest for part in parts):
                problem = f"a value is longer than {longest:,} characters"
                raise LimitError(problem=problem, problem_mark=event.start_mark)
            if count > most:
                raise LimitError(problem=f"it has more than {most:,} values", problem_mark=event.start_mark)
    finally:
        reader.dispose()


def follow(node: yaml.Node, path: Iterable[object]) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The keys and values on the path to a value, as far as they exist. An item of a list is its own key.

    >>> [value.value for _, value in follow(compose("{a: x, b: [y, {c: z}]}"), ["b", 1, "c", "d"])][-1]
    'z'
    """
    for part in map(str, path):
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in reversed(node.value) if pair[0].value == part), None)
            if pair is None:
                return
            key, node = pair
        elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
            key = node = node.value[int(part)]
        else:
            return
        yield key, node


def compose(text: str) -> yaml.Node | None:
    """The nodes of the only document of a text.

    Raises:
        yaml.MarkedYAMLError: The text is not YAML, has more than one document, or exceeds a limit.
    """
    reader = Loader(text)
    try:
        return reader.get_single_node()
    finally:
        reader.dispose()


def _size(root: yaml.Node) -> int:
    """The number of values after alias expansion."""
    known: dict[int, int] = {}
    begun: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        node, measured = waiting.pop()
        if measured:
            known[id(node)] = 1 + sum(known[id(child)] for child in _children(node))
        elif id(node) not in known:
            if id(node) in begun:
                raise LimitError(problem="it contains itself through an alias", problem_mark=node.start_mark)
            begun.add(id(node))
            waiting.append((node, True))
            waiting += [(child, False) for child in _children(node)]
    return known[id(root)]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _mark(before: str | bytes) -> yaml.Mark:
    """The position after a text."""
    text = before if isinstance(before, str) else before.decode("utf-8", "replace")
    return yaml.Mark("", len(text), text.count("\n"), len(text) - text.rfind("\n") - 1, None, 0)
