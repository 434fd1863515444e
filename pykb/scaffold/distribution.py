"""Builds the wheel of the running pykb, for projects that use a pykb which is not on a package index.

The wheel is written directly: the package, its templates and its metadata, zipped with fixed dates and order. This
needs neither network nor build tool, and the same pykb always gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tomllib
import zipfile
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pykb
from pykb._regular_file import is_bytecode, read_settings
from pykb.files.apply import apply
from pykb.scaffold.locate import NAME, PACKAGE, WHEEL, checkout, reference, templates
from pykb.scaffold.plan import PlanBuilder


def wheel() -> bytes | None:
    """The wheel; ``None`` when this pykb has no metadata, as in a bare folder."""
    described = _described()
    if described is None:
        return None
    info = f"{NAME}-{pykb.__version__}.dist-info"
    members = dict(_package())
    members |= {f"{info}/{name}": content for name, content in described.items()}
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: pykb\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    records = [f"{path},{_record(content)}" for path, content in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*records, f"{info}/RECORD,,", ""]).encode()
    return _zip(members)


def restore(root: Path) -> str | None:
    """Restore the wheel in a copy of a project without it. Returns its path, or ``None`` when it does not fit.

    A project that pins another version cannot use this wheel.

    Raises:
        EnvironmentProblem: Another command writes to the project, or the system refuses the change.
    """
    content = wheel() if _pins_this(root) else None
    if content is None:
        return None
    plan = PlanBuilder(root)
    plan.update(WHEEL, content)
    return WHEEL if apply(plan.build()) is None else None


def _pins_this(root: Path) -> bool:
    try:
        text = read_settings(root).decode()
    except (OSError, UnicodeDecodeError):
        return False
    return f'"{NAME}=={pykb.__version__}"' in text


def _package() -> Iterator[tuple[str, bytes]]:
    yield from _files(PACKAGE, "pykb", skip=("_reference", "_templates"))
    yield from _files(templates(), "pykb/_templates")
    yield from _files(reference(), "pykb/_reference")


def _files(folder: Path, prefix: str, *, skip: Collection[str] = ()) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and inside.parts[0] not in skip and not is_bytecode(inside):
            yield f"{prefix}/{inside.as_posix()}", path.read_bytes()


def _described() -> dict[str, bytes] | None:
    """The metadata files of ``.dist-info``."""
    root = checkout()
    if root is not None:
        return _from_pyproject(root)
    try:
        installed = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return None
    found: dict[str, bytes] = {}
    for path in installed.files or ():
        if f"{NAME}-" not in path.parts[0] or not path.parts[0].endswith(".dist-info"):
            continue
        name = "/".join(path.parts[1:])
        if name in {"METADATA", "entry_points.txt"} or name.startswith("licenses/"):
            found[name] = path.read_binary()
    return dict(sorted(found.items())) if "METADATA" in found else None


def _from_pyproject(root: Path) -> dict[str, bytes]:
    """A checkout's metadata, read from pyproject.toml. The installed metadata may be out of date."""
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {pykb.__version__}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_with_extra(requirement, extra)}" for requirement in requirements]
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    entries = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups.items()]
    licences = {f"licenses/{name}": (root / name).read_bytes() for name in project.get("license-files", ())}
    return {"METADATA": "\n".join([*lines, ""]).encode(), "entry_points.txt": "\n".join(entries).encode(), **licences}


def _with_extra(requirement: str, extra: str) -> str:
    name, semicolon, marker = requirement.partition(";")
    condition = f"({marker.strip()}) and extra == '{extra}'" if semicolon else f"extra == '{extra}'"
    return f"{name.strip()}; {condition}"


def _record(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(content)}"


def _zip(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, content in members.items():
            entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, content)
    return stream.getvalue()
