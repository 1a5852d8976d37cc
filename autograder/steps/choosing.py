"""Steps of chapter 10 in plain Python: `busiest_sm_loads`, `prune_configs`, `regret`, `bucket`.

Which configs of a kernel are worth a measurement, and what it costs to leave one out. The limits of a
GPU come from targets.py; must never depend on the GPU of the machine that grades.
"""

import math
from collections.abc import Callable

import numpy as np

from autograder.steps.calls import Call, CallCase, CallTask, Chosen, Configs, calls_of
from autograder.steps.resources import shared_memory_bytes
from autograder.targets import TARGETS

MOST_REGISTERS = 128  # of a thread, for its part of the accumulator
SLACK = 2  # times the least loads
SMALLEST, LARGEST = 16, 4096  # buckets
# Multiprocessors of one GPU of each architecture, from its maker's data sheet.
MULTIPROCESSORS = {"sm_75": 40, "sm_80": 108, "sm_86": 82, "sm_90": 132}  # T4, A100, RTX 3090, H200


def _up(value: int, unit: int) -> int:
    return -(-value // unit)


# --- busiest_sm_loads -------------------------------------------------------------------------


def busiest_sm_loads(M: int, N: int, block_m: int, block_n: int, sms: int) -> int:
    """Elements of A and B that the multiprocessor with the most programs loads, for each k."""
    return _up(_up(M, block_m) * _up(N, block_n), sms) * (block_m + block_n)


def _loads_gone_wrong(rounds=_up, tiles=_up, loads: Callable = lambda bm, bn: bm + bn):
    """`rounds(programs, sms)`, `tiles(size, block)`, `loads(bm, bn)` of one program."""

    def wrong(M, N, block_m, block_n, sms):
        return rounds(tiles(M, block_m) * tiles(N, block_n), sms) * loads(block_m, block_n)

    return wrong


def _floor(value: int, unit: int) -> int:
    return value // unit


def _one_more(value: int, unit: int) -> int:
    return value // unit + 1


def _rounds_along_each_side(M, N, block_m, block_n, sms):
    """As if the multiprocessors could only share out rows of tiles, or columns of them."""
    return _up(_up(M, block_m), sms) * _up(N, block_n) * (block_m + block_n)


def _loads_cases(rng: np.random.Generator) -> list[CallCase]:
    def case(name, *arguments):
        names = ("M", "N", "block_m", "block_n", "sms")
        return CallCase(name, dict(zip(names, arguments[0])), calls_of(busiest_sm_loads, arguments))

    def anything():
        block_m, block_n = (int(b) for b in rng.choice((16, 32, 64, 128, 256), 2))
        M, N = (int(s) for s in rng.integers(1, 5000, 2))
        return M, N, block_m, block_n, int(rng.integers(2, 150))

    sms = int(rng.integers(3, 20))
    return [
        case("whole tiles and whole rounds", (64 * sms, 512, 64, 128, sms), (256 * 3, 32 * sms, 256, 32, sms)),
        case("last round not full", (3072, 3072, 128, 256, 132), (3072, 2048, 64, 256, 82)),
        case("ragged M and N", (129, 4097, 128, 64, 40), (1000, 300, 64, 128, 7)),
        case("fewer programs than SMs", (8, 4096, 16, 64, 132), (128, 512, 64, 32, 108)),
        case("one program more than SMs", (64 * (sms + 1), 32, 64, 32, sms), (16, 128 * (sms + 1), 16, 128, sms)),
        case("nothing to do", (0, 4096, 64, 128, 132), (4096, 0, 32, 64, 40)),
        case("any matrix", *(anything() for _ in range(8))),
    ]  # fmt: skip


busiest_sm_loads_task = CallTask(
    _loads_cases,
    (
        ("rounds_miscounted", _loads_gone_wrong(rounds=_floor)),
        ("rounds_miscounted", _loads_gone_wrong(rounds=_one_more)),
        ("rounds_miscounted", _loads_gone_wrong(rounds=lambda programs, sms: programs)),
        ("rounds_miscounted", _loads_gone_wrong(rounds=lambda programs, sms: max(1, programs // sms))),
        ("rounds_miscounted", _loads_gone_wrong(rounds=lambda programs, sms: max(1, _up(programs, sms)))),
        ("rounds_miscounted", _loads_gone_wrong(rounds=lambda programs, sms: min(programs, sms))),
        ("rounds_miscounted", _rounds_along_each_side),
        ("grid_floor", _loads_gone_wrong(tiles=_floor)),
        ("grid_floor", _loads_gone_wrong(tiles=_one_more)),
        ("tile_dimensions_confused", lambda M, N, bm, bn, sms: busiest_sm_loads(N, M, bm, bn, sms)),
        ("operand_missing", _loads_gone_wrong(loads=lambda bm, bn: bm)),
        ("operand_missing", _loads_gone_wrong(loads=lambda bm, bn: bn)),
        ("operand_missing", _loads_gone_wrong(loads=lambda bm, bn: bm * bn)),
        ("operand_missing", _loads_gone_wrong(loads=lambda bm, bn: bm + bn + bm * bn)),
        ("operand_missing", _loads_gone_wrong(loads=lambda bm, bn: 2 * bm)),
        ("operand_missing", _loads_gone_wrong(loads=lambda bm, bn: 2 * bn)),
    ),
    otherwise="rounds_miscounted",
)  # fmt: skip


# --- prune_configs ----------------------------------------------------------------------------


def _shared(entry: dict, itemsize: int) -> int:
    """Bytes of shared memory for the operands of a pipelined loop."""
    blocks = entry["BLOCK_M"], entry["BLOCK_N"], entry["BLOCK_K"]
    return shared_memory_bytes(*blocks, itemsize, entry["num_stages"])


def _registers(entry: dict) -> int:
    """Registers of a thread for its part of the fp32 accumulator."""
    return entry["BLOCK_M"] * entry["BLOCK_N"] // (32 * entry["num_warps"])


def _loads(entry: dict, named_args: dict, sms: int) -> int:
    blocks = entry["BLOCK_M"], entry["BLOCK_N"]
    return busiest_sm_loads(named_args["M"], named_args["N"], *blocks, sms)


def _pruned(
    configs: Configs,
    named_args: dict,
    gpu: dict,
    *,
    shared: Callable = _shared,
    starts: Callable = lambda bytes_, limit: bytes_ <= limit,
    registers: Callable = _registers,
    roomy: Callable = lambda registers: registers <= MOST_REGISTERS,
    loads: Callable = _loads,
    near: Callable = lambda loads, least: loads <= SLACK * least,
    fallback: Callable = lambda fit, every: fit,
    least_of_all: bool = False,
) -> list[Chosen]:
    """What `prune_configs` keeps, as it should be or with something changed.

    `fallback` is what stays where no config passes the rule about registers. With `least_of_all` the
    least loads are those of the whole list, not of the configs that are left.
    """
    entries, itemsize = configs.entries, named_args["a_ptr"].dtype.itemsize
    fit = [i for i, e in enumerate(entries) if starts(shared(e, itemsize), gpu["max_shared_mem"])]
    left = [i for i in fit if roomy(registers(entries[i]))] or fallback(fit, range(len(entries)))
    needed = [loads(e, named_args, gpu["multiprocessor_count"]) for e in entries]
    least = min(needed if least_of_all else [needed[i] for i in left], default=0)
    return [Chosen(i) for i in left if near(needed[i], least)]


def _changed(**change):
    return lambda configs, named_args, gpu: _pruned(configs, named_args, gpu, **change)


def _one_after_the_other(configs, named_args, gpu):
    """Loads are compared first, so that the config with the least may not be able to run."""
    needed = [_loads(e, named_args, gpu["multiprocessor_count"]) for e in configs.entries]
    near = [i for i, n in enumerate(needed) if n <= SLACK * min(needed)]
    few = Configs(tuple(configs.entries[i] for i in near))
    unlimited = {"loads": lambda *_: 0}
    return [Chosen(near[c.index]) for c in _pruned(few, named_args, gpu, **unlimited)]


def _never_empty(configs, named_args, gpu):
    found = _pruned(configs, named_args, gpu)
    return found or [Chosen(i) for i in range(len(configs.entries))]


def _with_c(entry: dict, itemsize: int) -> int:
    return _shared(entry, itemsize) + entry["BLOCK_M"] * entry["BLOCK_N"] * itemsize


_PRUNING_MISTAKES = (
    # First: an empty answer, where it is wrong, says this before it says anything else.
    ("nothing_left", _changed(fallback=lambda fit, every: [])),
    ("nothing_left", _changed(fallback=lambda fit, every: every)),
    ("nothing_left", _never_empty),
    # Shared memory: what is counted, in which unit, and the limit itself.
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared(e, 2))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared(e, 4))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared(e, 1))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared({**e, "num_stages": 1}, size))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared({**e, "num_stages": e["num_stages"] - 1}, size))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared({**e, "BLOCK_N": 0}, size))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: _shared({**e, "BLOCK_M": 0}, size))),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: e["BLOCK_M"] * e["BLOCK_N"] * size * e["num_stages"])),
    ("shared_memory_misjudged", _changed(shared=_with_c)),
    ("shared_memory_misjudged", _changed(shared=lambda e, size: 0)),
    ("shared_memory_misjudged", _changed(starts=lambda bytes_, limit: bytes_ < limit)),
    # Registers: whose they are, and the limit.
    ("registers_misjudged", _changed(registers=lambda e: 0)),
    ("registers_misjudged", _changed(registers=lambda e: e["BLOCK_M"] * e["BLOCK_N"] // 32)),
    ("registers_misjudged", _changed(registers=lambda e: e["BLOCK_M"] * e["BLOCK_N"] // e["num_warps"])),
    ("registers_misjudged", _changed(registers=lambda e: e["BLOCK_M"] * e["BLOCK_N"] // 128)),
    ("registers_misjudged", _changed(registers=lambda e: e["BLOCK_M"] * e["BLOCK_N"])),
    ("registers_misjudged", _changed(roomy=lambda registers: registers < MOST_REGISTERS)),
    # Loads: with what they are compared.
    ("loads_misjudged", _changed(least_of_all=True)),
    ("loads_misjudged", _one_after_the_other),
    ("loads_misjudged", _changed(near=lambda loads, least: True)),
    ("loads_misjudged", _changed(near=lambda loads, least: loads < SLACK * least)),
    ("loads_misjudged", _changed(near=lambda loads, least: loads <= least)),
    ("loads_misjudged", _changed(near=lambda loads, least: loads >= SLACK * least)),
    ("loads_misjudged", _changed(loads=lambda e, args, sms: _loads(e, args, 1))),
    ("loads_misjudged", _changed(loads=lambda e, args, sms: _loads(e, {"M": args["N"], "N": args["M"]}, sms))),
)  # fmt: skip


def _gpu(target: str) -> dict:
    """The two limits under the names that Triton's driver gives them."""
    return {
        "max_shared_mem": TARGETS[target].shared_block,
        "multiprocessor_count": MULTIPROCESSORS[target],
    }


def _entry(block_m, block_n, block_k, num_warps, num_stages) -> dict:
    return {
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": block_k,
        "GROUP_M": 8,
        "num_warps": num_warps,
        "num_stages": num_stages,
    }


def _pruning(name: str, target: str, sizes: tuple, dtype: str, *tiles: tuple) -> CallCase:
    """One list of configs for one product, M by N by K."""
    configs, gpu = Configs(tuple(_entry(*tile) for tile in tiles)), _gpu(target)
    tensors = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), np.zeros(1, dtype))
    named_args = {**tensors, **dict(zip("MNK", sizes))}
    call = Call((configs, named_args), _pruned(configs, named_args, gpu), {"gpu": gpu})
    size = {**dict(zip("MNK", sizes)), "dtype": dtype}
    return CallCase(name, size, (call,), remark=lambda came: _differing(came[0], call))


def _differing(came: list, call: Call) -> str:
    """What the first config that is judged otherwise needs, and what there is."""
    kept, right = {c.index for c in came}, {c.index for c in call.expected}
    if kept == right:
        return "" if came == call.expected else "The configs keep the order of the list."
    (configs, named_args), gpu = call.arguments, call.named["gpu"]
    index = min(kept ^ right)
    entry = configs.entries[index]
    named = ", ".join(f"{name}={value}" for name, value in entry.items() if name != "GROUP_M")
    needed = [_loads(e, named_args, gpu["multiprocessor_count"]) for e in configs.entries]
    left = [needed[c.index] for c in call.expected]
    return (
        f"configs[{index}] ({named}) should {'stay' if index in right else 'go'}: it needs "
        f"{_shared(entry, named_args['a_ptr'].dtype.itemsize):,} of {gpu['max_shared_mem']:,} bytes and "
        f"{_registers(entry)} registers of a thread for the accumulator, and its busiest SM loads "
        f"{needed[index]:,} elements for each k"
        + (f"; the least of the configs that stay is {min(left):,}." if left else ".")
    )


def _pruning_cases(rng: np.random.Generator) -> list[CallCase]:
    def draw(*choices):
        return choices[int(rng.integers(len(choices)))]

    def anything():
        return (
            *(int(b) for b in rng.choice((16, 32, 64, 128, 256), 2)),
            draw(32, 64, 128),
            draw(4, 8),
            draw(2, 3, 4, 5),
        )

    def different(count: int) -> list[tuple]:
        """Equal configs could not be told apart in what comes back."""
        drawn = {}
        while len(drawn) < count:
            drawn[anything()] = None
        return list(drawn)

    half, single = "float16", "float32"
    large = (4096, 4096, 4096)
    # Where a case is about one rule, the others let all its configs pass.
    return [
        _pruning("all are worth it", "sm_90", large, half, (128, 256, 64, 8, 3), (128, 128, 32, 8, 4), (256, 128, 64, 8, 3)),
        _pruning(
            "too much shared memory", "sm_80", large, half,
            (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 32, 8, 4), (128, 128, 64, 8, 5),
            (128, 128, 64, 4, 6), (256, 128, 128, 8, 2),
        ),
        _pruning(
            "exactly the shared memory there is", "sm_75", (2048, 4096, 512), half,
            (128, 128, 32, 4, 4), (128, 128, 64, 8, 2), (128, 128, 32, 8, 5), (256, 128, 32, 8, 2),
        ),
        _pruning(
            "float32 takes twice the bytes", "sm_90", large, single,
            (128, 256, 64, 8, 2), (128, 256, 64, 8, 3), (128, 256, 32, 8, 3), (128, 128, 64, 8, 4), (256, 128, 32, 8, 5),
        ),
        _pruning(
            "accumulators that do not fit the registers", "sm_90", large, half,
            (128, 256, 32, 4, 3), (128, 256, 32, 8, 3), (256, 256, 32, 8, 3), (128, 128, 32, 4, 3), (256, 256, 32, 16, 3),
            (128, 128, 64, 2, 3),
        ),
        _pruning(
            "every accumulator is large", "sm_90", large, half,
            (256, 256, 64, 8, 2), (128, 256, 64, 4, 3), (256, 256, 64, 8, 4), (256, 128, 64, 4, 3),
        ),
        _pruning("none can start", "sm_75", large, single, (128, 128, 64, 8, 3), (128, 64, 64, 4, 4), (256, 256, 64, 8, 4)),
        _pruning(
            "small tiles for a large matrix", "sm_90", large, half,
            (64, 64, 64, 4, 4), (128, 256, 64, 8, 3), (16, 64, 128, 4, 4), (64, 256, 64, 8, 4), (32, 256, 64, 8, 4),
            (128, 32, 64, 4, 4), (128, 128, 64, 8, 3),
        ),
        _pruning(
            "twice the least", "sm_90", (1024, 2048, 512), half,
            (128, 128, 64, 8, 3), (64, 64, 64, 4, 4), (256, 256, 32, 16, 2), (128, 64, 64, 4, 3), (32, 128, 64, 4, 3),
        ),
        _pruning(
            "the best tile cannot start", "sm_86", large, half,
            (256, 256, 64, 16, 3), (128, 64, 32, 4, 4), (64, 32, 64, 4, 4), (64, 64, 64, 4, 4), (16, 64, 64, 4, 4),
        ),
        _pruning(
            "few rows", "sm_90", (8, 4096, 4096), half,
            (16, 32, 128, 4, 4), (16, 64, 128, 4, 4), (64, 64, 64, 4, 4), (16, 128, 128, 4, 4), (128, 256, 64, 8, 3),
            (32, 32, 128, 4, 4),
        ),
        _pruning(
            "few columns", "sm_80", (4096, 24, 1024), half,
            (32, 16, 128, 4, 4), (64, 32, 128, 4, 4), (128, 32, 64, 4, 3), (32, 128, 64, 4, 3), (256, 64, 32, 8, 3),
        ),
        *(
            _pruning(
                f"any configs, {number}", draw("sm_80", "sm_86", "sm_90"),
                tuple(int(s) for s in rng.integers(1, 5000, 3)), draw(half, half, single),
                *different(8),
            )
            for number in (1, 2)
        ),
    ]  # fmt: skip


prune_configs_task = CallTask(_pruning_cases, _PRUNING_MISTAKES)


# --- regret -----------------------------------------------------------------------------------


def regret(times: list, kept: list[int]) -> float:
    """How much longer the best kept config takes than the best of all, as a share of the latter."""
    best = min(t for t in times if t is not None)
    return min((times[i] for i in kept if times[i] is not None), default=math.inf) / best - 1.0


def _regret_gone_wrong(formula: Callable, of_all: Callable = min, of_kept: Callable = min):
    """`formula(left, best)`, with other ways to sum up the times that there are."""

    def wrong(times, kept):
        there = [times[i] for i in kept if times[i] is not None]
        left = of_kept(there) if there else math.inf
        return float(formula(left, of_all([t for t in times if t is not None])))

    return wrong


def _share(left: float, best: float) -> float:
    return left / best - 1.0


def _mean(values: list) -> float:
    return sum(values) / len(values)


def _counted_as(missing: float):
    """What did not run has this time."""

    def wrong(times, kept):
        times = [missing if t is None else t for t in times]
        return _share(min((times[i] for i in kept), default=math.inf), min(times))

    return wrong


def _kept_as_zero(times, kept):
    """What did not run takes 0 ms, but only among the kept."""
    best = min(t for t in times if t is not None)
    return _share(min((times[i] or 0.0 for i in kept), default=math.inf), best)


def _none_is_nothing(value: float):
    """The regret of keeping nothing that runs."""

    def wrong(times, kept):
        found = regret(times, kept)
        return found if found < math.inf else value

    return wrong


def _without_last(times, kept):
    """`kept` taken for a number of configs, the first of the list."""
    return regret(times, list(range(len(kept))))


def _regret_cases(rng: np.random.Generator) -> list[CallCase]:
    def drawn(count: int) -> list:
        return [round(float(t), 4) for t in rng.uniform(0.1, 2.0, count)]

    def case(name, *arguments):
        calls = calls_of(regret, arguments)
        return CallCase(name, {"configs": len(arguments[0][0])}, calls, relative=1e-9)

    times, holes = drawn(6), drawn(6)
    worst, best = times.index(max(times)), times.index(min(times))
    others = [i for i in range(6) if i != best]
    hole = int(rng.integers(6))
    holes[hole] = None
    first = hole - 1 if hole else 1
    return [
        case("some are left", (times, others), (drawn(5), [1, 3, 4]), ([0.75, 0.5, 1.0, 0.625], [0, 2, 3])),
        case("the best is left", (times, [best, worst]), (drawn(4), [0, 1, 2, 3])),
        case("one is left", (times, [worst]), ([0.2, 0.8, 0.4], [2])),
        case("some did not run", (holes, sorted({hole, first})), ([None, 0.5, None, 0.25, 0.75], [0, 1, 4])),
        case("none of those left ran", (holes, [hole]), ([None, 0.5, None], [0, 2])),
        case("none is left", (times, []), (holes, [])),
        case("in any order", (times, others[::-1]), ([0.3, 0.1, 0.2], [2, 0])),
    ]  # fmt: skip


regret_task = CallTask(
    _regret_cases,
    (
        ("nothing_left", _none_is_nothing(0.0)),
        ("nothing_left", _none_is_nothing(1.0)),
        ("nothing_left", _none_is_nothing(-1.0)),
        ("missing_times", _counted_as(0.0)),
        ("missing_times", _counted_as(1.0)),
        ("missing_times", _kept_as_zero),
        ("regret_miscounted", _regret_gone_wrong(lambda left, best: 1.0 - best / left)),
        ("regret_miscounted", _regret_gone_wrong(lambda left, best: best / left)),
        ("regret_miscounted", _regret_gone_wrong(lambda left, best: left / best)),
        ("regret_miscounted", _regret_gone_wrong(lambda left, best: left - best)),
        ("regret_miscounted", _regret_gone_wrong(lambda left, best: best / left - 1.0)),
        ("regret_miscounted", _regret_gone_wrong(lambda left, best: 100 * _share(left, best))),
        ("regret_miscounted", _regret_gone_wrong(_share, of_kept=_mean)),
        ("regret_miscounted", _regret_gone_wrong(_share, of_all=_mean)),
        ("regret_miscounted", _regret_gone_wrong(_share, _mean, _mean)),
        ("regret_miscounted", _regret_gone_wrong(_share, of_kept=max)),
        ("regret_miscounted", _regret_gone_wrong(_share, max, max)),
        ("regret_miscounted", _regret_gone_wrong(_share, of_kept=lambda there: there[0])),
        ("regret_miscounted", _without_last),
    ),
    otherwise="regret_miscounted",
)  # fmt: skip


# --- bucket -----------------------------------------------------------------------------------


def bucket(M: int) -> int:
    """The least power of two that is not below M, from 16 to 4096."""
    return min(max(1 << max(M - 1, 0).bit_length(), SMALLEST), LARGEST)


def _power_above(M: int) -> int:
    return min(max(1 << M.bit_length(), SMALLEST), LARGEST)


def _power_below(M: int) -> int:
    return min(max(1 << max(M.bit_length() - 1, 0), SMALLEST), LARGEST)


def _nearest_power(M: int) -> int:
    below, above = 1 << max(M.bit_length() - 1, 0), bucket(M)
    return min(max(below if M - below < above - M else above, SMALLEST), LARGEST)


def _multiple(M: int) -> int:
    return min(max(_up(M, SMALLEST) * SMALLEST, SMALLEST), LARGEST)


def _bucket_cases(rng: np.random.Generator) -> list[CallCase]:
    def case(name, *numbers):
        return CallCase(
            name, {"M": int(numbers[0])}, calls_of(bucket, [(int(n),) for n in numbers])
        )

    powers = 2 ** rng.integers(5, 12, 3)
    return [
        case("between two powers", *(powers - rng.integers(1, 8, 3)), 100, 1000),
        case("a power of two", *powers, 32, 2048),
        case("one more than a power", *(powers + 1), 17, 2049),
        case("few rows", 1, 3, 15, 16, 9),
        case("no rows", 0),
        case("many rows", 4095, 4096, 4097, 6000, 100_000),
        case("any number", *rng.integers(17, 4096, 8)),
    ]


bucket_task = CallTask(
    _bucket_cases,
    tuple(
        ("bucket_wrong", wrong)
        for wrong in (
            _power_above,
            _power_below,
            _nearest_power,
            _multiple,
            lambda M: min(1 << max(M - 1, 0).bit_length(), LARGEST),  # no least
            lambda M: max(1 << max(M - 1, 0).bit_length(), SMALLEST),  # no largest
            lambda M: bucket(M).bit_length() - 1,  # the exponent
        )
    ),
    otherwise="bucket_wrong",
)
