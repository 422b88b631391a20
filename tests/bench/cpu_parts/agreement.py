"""Two programs on the same tokens: which is closer to the exact model, and is that chance?

Both saw every token, so what counts is where they differ. For top-1 agreement these are the tokens
on which one of them names the exact model's likeliest token and the other does not; if the two
were equally good, each of those would be a coin's throw (McNemar's test).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

_Z = 1.959964  # of a normal distribution's middle 95 %


@dataclass(frozen=True)
class Scores:
    """Of one program: what each token after a window's first cost (nats), and the likeliest one."""

    losses: np.ndarray  # float64 [tokens]
    best: np.ndarray  # int64 [tokens]

    @property
    def perplexity(self) -> float:
        return float(np.exp(self.losses.mean()))

    def agreement(self, exact: Scores) -> float:
        return float((self.best == exact.best).mean())


@dataclass(frozen=True)
class Comparison:
    """Ours beside theirs. Intervals are of 95 %."""

    tokens: int
    only_ours: int  # tokens on which ours alone agrees with the exact model
    only_theirs: int
    difference: float  # of the agreements: ours minus theirs
    difference_interval: tuple[float, float]
    chance: float  # of so uneven a split, or a more uneven one, between equals
    perplexity_ratio: float  # ours / theirs
    perplexity_interval: tuple[float, float]

    @classmethod
    def of(cls, ours: Scores, theirs: Scores, exact: Scores) -> Comparison:
        right, other = ours.best == exact.best, theirs.best == exact.best
        tokens = len(right)
        b, c = int((right & ~other).sum()), int((~right & other).sum())
        difference = (b - c) / tokens
        spread = _Z * math.sqrt(b + c - (b - c) ** 2 / tokens) / tokens
        costs = ours.losses - theirs.losses
        mean, wide = float(costs.mean()), _Z * float(costs.std(ddof=1)) / math.sqrt(tokens)
        return cls(
            tokens=tokens,
            only_ours=b,
            only_theirs=c,
            difference=difference,
            difference_interval=(difference - spread, difference + spread),
            chance=chance_of(b, c),
            perplexity_ratio=math.exp(mean),
            perplexity_interval=(math.exp(mean - wide), math.exp(mean + wide)),
        )

    def record(self) -> dict[str, Any]:
        return asdict(self)


def chance_of(b: int, c: int) -> float:
    """Of b + c throws of a coin falling b to c or more unevenly, either way: exact."""
    throws, fewer = b + c, min(b, c)
    ways, total = 1, 0  # ways to choose i of the throws; their sum
    for i in range(fewer + 1):
        total += ways
        ways = ways * (throws - i) // (i + 1)
    return min(1.0, 2 * total / 2**throws)
