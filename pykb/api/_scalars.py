"""Scalars of the Kubernetes API that have no type of their own in Python."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from pykb.api.annotations import Format

Int32 = Annotated[int, Format("int32")]
"""A 32-bit integer (``format: int32``). A plain ``int`` has no format in the schema."""

Int64 = Annotated[int, Format("int64")]
"""A 64-bit integer (``format: int64``). A plain ``int`` has no format in the schema."""

IntOrString = int | str
"""An integer, or a string such as ``50%`` or the name of a port."""

Time = datetime
"""metav1.Time. On the wire: RFC 3339 in UTC with whole seconds."""

Duration = timedelta
"""metav1.Duration. On the wire: a duration in Go's form, such as ``1h30m0s``."""

JSON = Any
"""Any JSON value."""

RawExtension = dict[str, Any]
"""A JSON object of any shape. The API server keeps all of its fields."""
