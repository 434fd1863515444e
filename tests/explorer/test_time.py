"""What is virtual, and what is not."""

from __future__ import annotations

from datetime import UTC, date, datetime

from pydantic import BaseModel, TypeAdapter

from pykb.explore._time import VirtualTime

DAY = datetime(2030, 1, 2, tzinfo=UTC)


def test_classes_are_completed_in_virtual_time():
    """Pydantic reads the types of fields late, when a class is first used."""

    class Lease(BaseModel):
        renewed: datetime
        day: date

    real = datetime, date
    with VirtualTime():
        made = [TypeAdapter(of).validate_python(DAY) for of in (*real, datetime, date)]
        Lease.model_rebuild(force=True)
    assert made == [DAY, DAY.date()] * 2
    assert Lease(renewed=DAY, day=DAY.date()).model_dump() == {"renewed": DAY, "day": DAY.date()}
