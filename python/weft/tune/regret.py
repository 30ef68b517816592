"""What the built-in choices lose: the sum of many points, in one line."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass

from weft.tune.point import Point
from weft.tune.trial import Outcome


@dataclass(frozen=True)
class Judgement:
    """Regret: the built-in choice's time over the best candidate's, at least 1."""

    calls: int
    worth: int  # calls for which something else won, and is written
    undecided: int  # calls whose noise was too large to say so or otherwise
    median_regret: float
    worst_regret: float
    worst: str  # the call that has it
    worst_noise: float  # there, the built-in choice against itself; 1 if it is the quickest

    def text(self) -> str:
        """In one line."""
        worth = f"tuning is worth it for {self.worth or 'none'} of {self.calls} calls"
        if self.undecided:
            worth += f", and {self.undecided} were too noisy to say"
        inside = 1 < self.worst_regret <= self.worst_noise
        doubt = f", within its noise of {self.worst_noise:.2f}" if inside else ""
        return (
            f"defaults: median regret {self.median_regret:.2f}, "
            f"worst {self.worst_regret:.2f} ({self.worst}{doubt}): {worth}"
        )

    def json(self) -> dict[str, int | float | str]:
        """All of it."""
        return asdict(self)


def judge(found: list[tuple[Point, Outcome]]) -> Judgement:
    """Of at least one outcome."""
    point, worst = max(found, key=lambda one: one[1].regret)
    return Judgement(
        calls=len(found),
        worth=sum(outcome.use != outcome.builtin for _, outcome in found),
        undecided=sum(outcome.undecided for _, outcome in found),
        median_regret=round(statistics.median(one.regret for _, one in found), 4),
        worst_regret=round(worst.regret, 4),
        worst=f"{point.collective} {point.sizes_text()}, {point.ranks} ranks, {point.memory}",
        worst_noise=round(worst.final.noise, 4) if worst.final else 1.0,
    )
