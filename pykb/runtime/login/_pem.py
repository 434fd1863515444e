"""Key material of a kubeconfig: PEM, either inline as base64 or in a file."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.login import KUBECONFIG


def read_material(data: object, path: object, *, base: Path, entry: str, field: str) -> bytes | None:
    """Return the bytes of ``<field>-data``, else of the file in ``<field>``, else ``None``.

    Args:
        data: The value of ``<field>-data``, base64.
        path: The value of ``<field>``, relative to ``base``.
        base: The directory of the kubeconfig.
        entry: The entry, for messages: "cluster `kind` of /home/ann/.kube/config".
        field: The name of the file's field.

    Raises:
        EnvironmentProblem: The data is not base64, or the file cannot be read.
    """
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except (binascii.Error, ValueError) as error:
            raise EnvironmentProblem(
                KUBECONFIG.at(None, f"`{field}-data` of {entry} is no base64", notes=(str(error),))
            ) from error
    if path:
        return read_file(path, base=base, entry=entry, field=field)
    return None


def read_file(path: object, *, base: Path, entry: str, field: str) -> bytes:
    """Return the bytes of a file that a kubeconfig names.

    Raises:
        EnvironmentProblem: The file cannot be read.
    """
    full = base / str(path)
    try:
        return full.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise EnvironmentProblem(
            KUBECONFIG.at(
                None,
                f"`{field}` of {entry} names `{full}`, which cannot be read: {reason}",
                help=(f"put the file there, or change `{field}` in the kubeconfig",),
            )
        ) from error
