"""Plans `edit --multigroup`: gives each API group its own folders, and moves what the project has into them.

`--no-multigroup` is the same in the other direction, for a project with one group. The paths before and after come from
the plugins: they scaffold each entry of PROJECT in both layouts. A file without edits becomes the file of the new
layout. In an edited file, only what differs between the two is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from pykb._regular_file import is_bytecode, read_text
from pykb.commands.transition import State, between, merged, module_of, python_files
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Span
from pykb.diagnostics.codes.commands import MOVED_MENTION, NOT_FOLLOWED
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.resource import Resource
from pykb.python_source.source import CodeStyle, Source
from pykb.python_source.uses import Module, Renames, Rewritten, rewrite
from pykb.scaffold.insert import FragmentKind, with_renamed_items
from pykb.scaffold.plan import PlanBuilder, Scaffold, project_files

_LARGE = 1_000_000
"""Larger files are not searched for mentions, in bytes."""


@dataclass(slots=True)
class Layout:
    """What the plugins scaffold in both layouts.

    Attributes:
        moves: The paths before and after. One that is shared by several groups has several.
        contents: The contents before and after, by both paths, as far as PROJECT tells.
        packages: The packages of groups, which only one of the layouts has: paths with contents.
        items: Members of lists before and after, by file.
    """

    moves: dict[str, list[str]] = field(default_factory=dict)
    contents: dict[tuple[str, str], list[tuple[bytes, bytes]]] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    items: dict[str, dict[str, str]] = field(default_factory=dict)


def regroup(plan: PlanBuilder, before: State, after: State, diagnostics: Diagnostics) -> None:
    """Plan the moves. Reports code that cannot be followed."""
    layout, is_grouped = _layout(before, after, plan.root), after.project.multigroup
    packages = {} if is_grouped else layout.packages
    going = {path: each for path, each in packages.items() if plan.before(path) is not None}
    renames = Renames({**{module_of(path): _above(path) for path in going}, **dict(_modules(layout, plan.root))})
    moves = _Moves(plan, layout, renames, CodeStyle(before.project.package, plan.width), diagnostics)
    targets = moves.targets(going)
    for path, new in targets.items():
        content = moves.rewritten(path, new[0])
        if new[0] != path:
            plan.move(path, new[0], content)
        else:
            plan.update(path, content)
        for other in new[1:]:
            plan.update(other, layout.contents[path, other][0][1])
    for path, content in layout.packages.items() if is_grouped else ():
        plan.once(path, lambda content=content: content)  # type: ignore[misc]
    for path, content in going.items():
        moves.remove_package(path, content)
    for path, items in layout.items.items():
        plan.edit(path, lambda text, items=items: with_renamed_items(text, items))  # type: ignore[misc]
    moves.warn_of_mentions(targets)


def _above(path: str) -> str:
    """The package around that of an ``__init__.py``."""
    return module_of(path).rpartition(".")[0]


def moved(resource: Resource, project: Project) -> Resource:
    """An entry of PROJECT whose module is where the layout of the project has it."""
    own, group = f"{project.package}.api.", f"{resource.group_package}."
    if not resource.api or not resource.path.startswith(own):
        return resource
    module = resource.path.removeprefix(own).removeprefix(group)
    return replace(resource, path=f"{own}{group if project.multigroup else ''}{module}")


def _layout(before: State, after: State, root: Path) -> Layout:
    """Scaffold every entry in both layouts, twice: files are read from where they are once this is known."""
    layout = Layout()
    groups = {each.group_package for each in before.project.resources}
    for _ in range(2):
        places = {new[0]: path for path, new in layout.moves.items()}
        layout = Layout()
        for old, new in between(before, after, root, places=places).pairs:
            _add(layout, old, new, groups, multigroup=after.project.multigroup)
    return layout


def _add(layout: Layout, old: Scaffold, new: Scaffold, groups: Collection[str], *, multigroup: bool) -> None:
    """Add what a request scaffolds in both layouts, in the same order, but for the packages of groups."""
    grouped, moving = new if multigroup else old, []
    for side in (old, new):
        packages = [path for path in side.files if _is_package_of(path, groups)] if side is grouped else []
        layout.packages |= {path: side.files[path][0] for path in packages}
        moving.append([path for path in side.files if path not in packages])
    for path, target in zip(*moving, strict=True):
        known = layout.moves.setdefault(path, [])
        known += [target] if target not in known else []
        layout.contents.setdefault((path, target), []).append((old.files[path][0], new.files[target][0]))
    for (path, item), (_, renamed) in zip(old.fragments, new.fragments, strict=True):
        if item.kind is FragmentKind.LIST_ITEM and item.text != renamed.text:
            layout.items.setdefault(path, {})[item.text] = renamed.text


def _is_package_of(path: str, groups: Collection[str]) -> bool:
    pure = PurePosixPath(path)
    return pure.name == "__init__.py" and pure.parent.name in groups


def _modules(layout: Layout, root: Path) -> Iterator[tuple[str, str]]:
    """The modules that move. A package that moves as a whole stands for its modules."""
    packages = {}
    for path, new in layout.moves.items():
        if PurePosixPath(path).name == "__init__.py" and path != new[0] and len(new) == 1:
            packages[module_of(path)] = module_of(new[0])
    yield from packages.items()
    for path, new in layout.moves.items():
        module, target = module_of(path), module_of(new[0])
        is_inside = any(module.startswith(f"{package}.") for package in packages)
        is_package = PurePosixPath(path).name == "__init__.py"
        if module == target or is_inside or is_package or path.startswith("tests/") or not path.endswith(".py"):
            continue
        if (root / path).is_file():
            yield module, target


@dataclass(frozen=True, slots=True)
class _Moves:
    """Moves and rewrites the files of a project.

    Attributes:
        plan: Takes the changes.
        layout: What the plugins scaffold in both layouts.
        renames: The modules that move.
        style: The project's Python style.
        diagnostics: Takes what cannot be followed.
    """

    plan: PlanBuilder
    layout: Layout
    renames: Renames
    style: CodeStyle
    diagnostics: Diagnostics

    def targets(self, going: Container[str]) -> dict[str, list[str]]:
        """Every file to move or to rewrite, with its new paths, but not those that go."""
        plan, renames = self.plan, self.renames
        targets = {path: new for path, new in self.layout.moves.items() if plan.current(path) is not None}
        for path in python_files(plan):
            if path not in targets:
                module = module_of(path)
                suffix = "/__init__.py" if path.endswith("/__init__.py") else ".py"
                new = renames.new(module)
                targets[path] = [path if new == module else new.replace(".", "/") + suffix]
        for package, new in renames.modules.items():
            old_folder, new_folder = package.replace(".", "/"), new.replace(".", "/")
            for path in map(plan.place, _files(plan.root, old_folder)):
                targets.setdefault(path, [path.replace(old_folder, new_folder, 1)])
        targets = {path: new for path, new in targets.items() if path not in going}
        sources: dict[str, str] = {}
        for path, (target, *_) in targets.items():
            there = target if plan.current(target) is not None else sources.setdefault(target, path)
            if path in (target, there):
                continue
            if there != target and self._is_scaffolded(path, target):  # groups share the packages of versions
                plan.update(path, None)
                continue
            message = f"`{path}` would move to `{target}`, which exists"
            if there != target:
                message = f"`{there}` and `{path}` would both move to `{target}`"
            self._refuse(Span(there, 1, 1), message, "move it away")
        return {path: new for path, new in targets.items() if plan.current(path) is not None}

    def _is_scaffolded(self, path: str, target: str) -> bool:
        contents = self.layout.contents.get((path, target), ())
        return any(before == self.plan.current(path) for before, _ in contents)

    def rewritten(self, path: str, new: str) -> bytes:
        """The content of a file in the new layout."""
        content = self.plan.current(path) or b""
        fresh = self.layout.contents.get((path, new), [])
        exact = next((after for before, after in fresh if before == content), None)
        if exact is not None:
            return exact
        if path.endswith(".py"):
            content = self._followed(path, new, content)
            fresh = [(self._followed_scaffold(path, new, before), after) for before, after in fresh]
        return merged(path, content, fresh, self.diagnostics) if fresh else content

    def _followed(self, path: str, new: str, content: bytes) -> bytes:
        """The file with new imports. Reports what cannot be followed."""
        try:
            source = Source.parse(content.decode("utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            if self.renames.mentioned(content.decode("utf-8", "replace")):
                span, why = Span(path, 1, 1), "is not encoded in UTF-8"
                if isinstance(error, SyntaxError):
                    span, why = Span(path, error.lineno or 1, error.offset or 1), f"does not parse ({error.msg})"
                message = f"`{path}` {why}, and may use modules that would move"
                self._refuse(span, message, "correct the file first")
            return content
        rewritten = self._rewrite(source, path, new)
        for line, why in sorted(set(rewritten.problems)):
            text = source.lines[line - 1]
            span = Span(path, line, len(text) - len(text.lstrip()) + 1)
            self._refuse(span, why, "pykb does not rewrite it: change the line first")
        return rewritten.text.encode()

    def _followed_scaffold(self, path: str, new: str, content: bytes) -> bytes:
        """A scaffolded file with new imports."""
        return self._rewrite(Source.parse(content.decode()), path, new).text.encode()

    def _rewrite(self, source: Source, path: str, new: str) -> Rewritten:
        module = Module(module_of(path), module_of(new), path.endswith("__init__.py"))
        return rewrite(source, module, self.renames, self.style)

    def remove_package(self, path: str, scaffolded: bytes) -> None:
        """Remove a package that the new layout does not have."""
        if self.plan.before(path) == scaffolded:
            self.plan.update(path, None)
            return
        message = f"`{path}` has edits, and a project without folders of groups has no such file"
        self._refuse(Span(path, 1, 1), message, "move them to another module first")

    def warn_of_mentions(self, handled: Container[str]) -> None:
        """Warn of other files that name what moves."""
        plan, renames = self.plan, self.renames
        folders = {name.replace(".", "/"): new.replace(".", "/") for name, new in renames.modules.items()}
        for path in project_files(plan):
            if path in handled or path.endswith(".py") or path == FILE_NAME:
                continue
            for number, line in enumerate(_text(plan.root / plan.place(path)).splitlines(), 1):
                name = next((name for name in folders if name in line), "")
                module = renames.mentioned(line)
                if name or module:
                    old, new = (name, folders[name]) if name else (module, renames.new(module))
                    self.diagnostics.report(MOVED_MENTION, Span(path, number, 1), f"`{old}` is now `{new}`")

    def _refuse(self, span: Span, message: str, help_: str) -> None:
        self.diagnostics.report(NOT_FOLLOWED, span, message, help_, notes=NOTHING_WRITTEN)


def _files(root: Path, folder: str) -> Iterator[str]:
    """The files below a folder of the project, but no bytecode."""
    for each in sorted((root / folder).rglob("*")) if (root / folder).is_dir() else ():
        if each.is_file() and not is_bytecode(each):
            yield each.relative_to(root).as_posix()


def _text(path: Path) -> str:
    """The text of a file; empty when it is large or cannot be read."""
    try:
        return read_text(path, most=_LARGE)
    except (OSError, UnicodeDecodeError):
        return ""
