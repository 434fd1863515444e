"""Scalars of the Kubernetes API that Python has no type for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from pykb.api.annotations import Format

Int32 = Annotated[int, Format("int32")]
"""An integer of 32 bits; a plain ``int`` has no format in the schema."""

Int64 = Annotated[int, Format("int64")]
"""An integer of 64 bits; a plain ``int`` has no format in the schema."""

IntOrString = int | str
"""An integer, or a text such as ``50%`` or the name of a port."""

Time = datetime
"""metav1.Time: RFC 3339 in UTC with whole seconds on the wire."""

Duration = timedelta
"""metav1.Duration: Go's text, such as ``1h30m0s``, on the wire."""

JSON = Any
"""Any JSON value."""

RawExtension = dict[str, Any]
"""A JSON object of any shape; the schema keeps all of its fields."""
