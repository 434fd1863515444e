"""How much of an object is there: a few objects have nothing they need not have, a few have all they can."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LARGEST = 800
"""Fields and items of one object: enough for a pod template, and no object grows without end."""

FULL_DEPTH = 4
DEEPEST = 12


@dataclass(slots=True)
class Density:
    """Decides, field by field, what is there.

    Attributes:
        random: The source.
        share: Of the optional fields, how many are there near the top.
        left: How many fields and items there may still be.
    """

    random: Random
    share: float
    left: int = LARGEST

    @classmethod
    def of_seed(cls, seed: int, random: Random) -> Density:
        """Of ten seeds one gives a bare object, one a full one, eight something between."""
        match seed % 10:
            case 0:
                share = 0.0
            case 1:
                share = 1.0
            case _:
                share = random.choice((0.2, 0.5, 0.8))
        return cls(random, share)

    def wants(self, depth: int) -> bool:
        """Whether an optional field at this depth is there."""
        if self.left <= 0 or depth > DEEPEST:
            return False
        if depth == 0:  # without its spec there is little to an object
            share = min(1.0, self.share * 4)
        else:
            share = self.share if depth <= FULL_DEPTH else min(self.share, 0.5) / (depth - FULL_DEPTH)
        return self.random.random() < share

    def count(self, least: int, most: int | None, depth: int) -> int:
        """How many items a container at this depth has: often none, one, or as many as it must have."""
        self.left -= 1
        if self.left <= 0 or depth > DEEPEST or not self.share:
            return least
        usual = least + (3 if depth <= FULL_DEPTH else 1)
        return (
            self.random.choice((least, least + 1, usual))
            if most is None
            else self.random.randint(least, max(least, min(most, usual)))
        )
