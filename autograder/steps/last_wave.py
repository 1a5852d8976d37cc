"""Step `wave_efficiency` of chapter 14: how much of a GPU a number of equal tiles can use."""

import numpy as np

from autograder.steps.calls import CallCase, CallTask, calls_of


def _efficiency(num_tiles: int, num_sms: int) -> float:
    waves = -(-num_tiles // num_sms)
    return num_tiles / (waves * num_sms)


def _case(name: str, *asked: tuple[int, int]) -> CallCase:
    return CallCase(name, {"calls": len(asked)}, calls_of(_efficiency, asked), relative=1e-9)


def _cases(rng: np.random.Generator) -> list[CallCase]:
    def draw(low, high):
        return int(rng.integers(low, high))

    sms = [draw(40, 140) for _ in range(3)]
    return [
        _case("whole waves", *((sm * draw(1, 9), sm) for sm in sms)),
        _case("one tile more than a wave", *((sm * draw(1, 4) + 1, sm) for sm in sms)),
        _case("a part of a last wave", *((sm * draw(2, 30) + draw(5, 35), sm) for sm in sms)),
        _case("fewer tiles than SMs", *((draw(1, sm), sm) for sm in sms), (1, 132)),
    ]


def _with_waves(waves):
    return lambda tiles, sms: tiles / (waves(tiles, sms) * sms)


_MISTAKES = (
    ("grid_floor", _with_waves(lambda tiles, sms: tiles // sms)),
    ("grid_floor", _with_waves(lambda tiles, sms: max(1, tiles // sms))),
    ("waves_wrong", _with_waves(lambda tiles, sms: tiles // sms + 1)),
    ("waves_wrong", _with_waves(lambda tiles, sms: tiles / sms)),
    ("waves_wrong", lambda tiles, sms: tiles / sms),
    ("waves_wrong", lambda tiles, sms: min(1.0, tiles / sms)),
    ("waves_wrong", lambda tiles, sms: -(-tiles // sms) * sms / tiles),
    ("waves_wrong", lambda tiles, sms: (tiles % sms) / sms),
    ("waves_wrong", lambda tiles, sms: (tiles % sms or sms) / sms),
    ("waves_wrong", lambda tiles, sms: -(-tiles // sms)),
    ("waves_wrong", lambda tiles, sms: 1 - _efficiency(tiles, sms)),
    ("waves_wrong", lambda tiles, sms: 100 * _efficiency(tiles, sms)),
    ("waves_wrong", lambda tiles, sms: _efficiency(sms, tiles)),
)

wave_efficiency = CallTask(_cases, _MISTAKES, otherwise="waves_wrong")
