"""Pass one: all candidates for a point, and which of them is to meet the built-in choice."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.tune.candidates import with_chunks
from weft.tune.point import Seconds, Timing, Turns, mean, medians, times

_FAR = 1.5  # times the best of its turn: dropped at once
_BEST = 3  # candidates of a turn that go on: to other chunks, to the heat
_TURNS = 3  # of the heat


@dataclass
class Heat:
    """What pass one found. All `seconds` are of the same turns; those of `dropped` are not."""

    builtin: str
    seconds: dict[str, Seconds]  # medians of the heat, by candidate
    # Candidates that were far behind in an earlier turn: seconds there, and how many times the best
    # of that turn they took.
    dropped: dict[str, tuple[Seconds, float]] = field(default_factory=dict)

    @property
    def fastest(self) -> str:
        """The quickest, which may be the built-in choice."""
        return min(self.seconds, key=lambda name: mean(self.seconds[name]))

    @property
    def challenger(self) -> str | None:
        """The quickest beside the built-in choice; None: there is no other candidate."""
        others = [name for name in self.seconds if name != self.builtin]
        return min(others, key=lambda name: mean(self.seconds[name]), default=None)


def pick(builtin: str, names: list[str], turns: Turns) -> Heat:
    """Runs the candidates of `names` and `builtin`.

    All run once; then the best three run once with other chunks. Candidates are compared within
    a turn only, because the machine changes from minute to minute (which cores are near each
    other). The best three of each turn take three turns together, whose medians are compared.
    """
    scouts = [_scout([builtin, *(name for name in names if name != builtin)], turns)]
    most = max(turns.point.sizes)
    near = _best(scouts[0])
    if chunked := [text for name in near for text in with_chunks(name, most) if text != builtin]:
        scouts.append(_scout([builtin, *chunked], turns))
    entrants = dict.fromkeys(name for scout in scouts for name in _best(scout))
    others = [name for name in entrants if name != builtin] or _beside(builtin, scouts[0])
    entered = [builtin, *others]
    dropped = {
        name: (medians([timing]), _behind(timing, scout))
        for scout in scouts
        for name, timing in scout.items()
        if name not in entered
    }
    return Heat(builtin, _heat(entered, turns), dropped)


def _heat(names: list[str], turns: Turns) -> dict[str, Seconds]:
    """Medians; the order turns round each time, so that nobody is always the first."""
    taken: dict[str, list[Timing]] = {name: [] for name in names}
    for turn in range(_TURNS):
        order = names if turn % 2 == 0 else names[::-1]
        for name, timing in zip(order, turns.take(order), strict=True):
            taken[name].append(timing)
    return {name: medians(timings) for name, timings in taken.items()}


def _scout(names: list[str], turns: Turns) -> dict[str, Timing]:
    """One turn."""
    return dict(zip(names, turns.take(names), strict=True))


def _behind(timing: Timing, scout: dict[str, Timing]) -> float:
    """How many times as long as the best of the turn it took."""
    return max(times(timing, other) for other in scout.values())


def _best(scout: dict[str, Timing]) -> list[str]:
    """The best of a turn that are not far behind, the quickest first."""
    behind = {name: _behind(timing, scout) for name, timing in scout.items()}
    ordered = sorted(behind, key=behind.__getitem__)
    return [name for name in ordered if behind[name] <= _FAR][:_BEST]


def _beside(builtin: str, scout: dict[str, Timing]) -> list[str]:
    """The quickest beside the built-in choice, however far behind; empty if there is none."""
    others = {name: _behind(t, scout) for name, t in scout.items() if name != builtin}
    return [min(others, key=others.__getitem__)] if others else []
