"""From evidence to the likely mistake: which cases fail, where, and what the wrong answer equals.

Rules are tried in order; each looks at all the evidence of a step and names a cause or passes.
The verdict stands before the diagnosis begins: nothing here can turn a pass into a fail or back.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable

import numpy as np

from autograder import causes, course
from autograder.account import Violation
from autograder.result import Hint
from autograder.steps.case import Case
from autograder.verdict import Evidence

USUAL_TILES = {16, 32, 64, 128}
# Where the verdict tells the cause itself; the first that occurs names the step's.
PLAIN = (
    "not_implemented", "library_call", "timed_out", "crashed", "wrong_dtype", "nothing_returned",
    "wrong_shape", "gradient_missing", "input_modified",
)  # fmt: skip

# What cases of one kind point to if only these fail; the first that occurs names the cause.
BY_FOCUS = {
    "scale": "scale_wrong",
    "causal": "causal_mask_wrong",
    "alignment": "causal_alignment",
    "empty": "empty_row",
    "gqa": "gqa_mapping",
    "heads": "head_or_batch_offset",
    "cancellation": "variance_wrong",
    "eps": "variance_wrong",
    "dout": "gradient_layout",
    "again": "accumulator_not_zeroed",
}

# What an exception's words say, where they say more than that it was raised.
ERRORS = (
    (r"power of (2|two)", "does_not_compile"),
    (r"Expected dtype .*fp32.* but got (fp16|bf16)", "exp_needs_float32"),
    (r"not (supported|allowed) (in|inside) .*(kernel|jit)", "does_not_compile"),
    (r"'builtin_function_or_method' object has no attribute 'scalar'", "grid_missing"),
    (r"'int' object is not iterable", "grid_missing"),
    (r"'function' object is not subscriptable", "jit_missing"),
    (r"'NoneType' object has no attribute 'to_tensor'", "not_in_interpreter"),
    (r"unsupported operand .*'NoneType'", "not_in_interpreter"),
)


def diagnose(evidence: list[Evidence], step: course.Step) -> Hint | None:
    """The hint for a step, or None when nothing failed."""
    failed = [e for e in evidence if e.failed]
    if not failed:
        return None
    for rule in RULES if step.task.kernel else LOOP_RULES:
        cause = rule(evidence, failed, step)
        if cause:
            break
    else:
        cause = step.task.otherwise
    scope = _scope(evidence, failed) if step.task.kernel else except_in(evidence, failed)
    return hint_for(cause, step, scope, _where(failed, cause))


def hint_for(cause: str, step: course.Step, seen: str = "", where: str = "") -> Hint:
    """The hint for a known cause; `seen` and `where` are sentences, or empty."""
    known = causes.CAUSES[cause]
    advice = known.advice if step.task.kernel else known.plain or known.advice
    read = causes.reading(cause, step.chapter, step.folder)
    text = " ".join(filter(None, (seen, where, advice)))
    return Hint(cause, text, read, [seen, where, f"{advice} Read `{read}`."])


# --- rules ------------------------------------------------------------------------------------


def _plain(evidence, failed, step) -> str:
    told = {e.cause for e in failed}
    return next((cause for cause in PLAIN if cause in told), "")


def _raised(evidence, failed, step) -> str:
    for e in failed:
        if e.check.status == "error":
            return next((c for words, c in ERRORS if re.search(words, e.check.message)), "crashed")
    return ""


def _only_extreme_scores(evidence, failed, step) -> str:
    """Attention that is right but for scores far from zero.

    Many mistakes end in zeros or NaN there: which of these cases fail says more than what came out.
    """
    focuses = {e.case.focus for e in failed}
    if not focuses <= {"large", "below", "far below"} or all(map(_only_gradients_wrong, failed)):
        return ""
    if focuses == {"far below"}:
        return "finite_mask_value"
    if not {"large", "below"} <= focuses:
        return "running_max_wrong"
    # The powers of such scores overflow or vanish. Numbers that are only a little off tell of digits.
    return "max_not_subtracted" if any(map(_powers_lost, _with_wrong_values(failed))) else ""


def _powers_lost(e: Evidence) -> bool:
    wrong = e.actual[e.wrong]
    return not (np.isfinite(wrong) & (wrong != 0)).all()


def _same_as_a_known_mistake(evidence, failed, step) -> str:
    """The cause whose computed wrong answer equals what came out, in the most cases."""
    return _most_votes(failed, step, _telling_numbers)


def _nan_as_a_known_mistake(evidence, failed, step) -> str:
    """As above, where nothing but NaN is wrong: weaker, since many mistakes end in NaN."""
    return _most_votes(failed, step, _telling_nan)


def _most_votes(failed, step, telling) -> str:
    votes: Counter[str] = Counter()
    for e in _with_wrong_values(failed):
        told_apart = step.task.kernel and e.unwritten.any()  # by the rules on holes
        if not told_apart and e.case.focus != "int64":
            answers = step.task.hypotheses(e.case, tiles_of(e))
            with np.errstate(all="ignore"):  # wrong answers overflow and divide by zero
                found = [c for c, a in answers if _equal(e, a) and telling(e, a)]
            votes.update(list(dict.fromkeys(found)))  # in order: of equals, the first wins
    return votes.most_common(1)[0][0] if votes else ""


def _shared_out_wrongly(evidence, failed, step) -> str:
    """As above, for wrong answers that depend on the grid, tiles left out among them."""
    if step.task.by_launch is None:
        return ""
    votes: Counter[str] = Counter()
    for e in _with_wrong_values(failed):
        if e.violations or e.outcome.account.unfilled:  # its NaN is not unwritten memory
            continue
        answers = (found for launch in e.launches for found in step.task.by_launch(e.case, launch))
        with np.errstate(all="ignore"):  # wrong answers divide by zero
            causes_found = [cause for cause, answer in answers if _same_holes(e, answer)]
        votes.update(list(dict.fromkeys(causes_found)))  # of equal votes the first named wins
    return votes.most_common(1)[0][0] if votes else ""


def _not_written(evidence, failed, step) -> str:
    """Which part of the output no store reached, compared with what the usual slips leave out."""
    holes = [e for e in _with_wrong_values(failed) if e.unwritten.any()]
    if not holes or any(v.access == "store" for e in failed for v in e.violations):
        return ""
    if any(map(_whole_heads_missing, holes)):
        return "head_or_batch_offset"
    launched = [e for e in holes if _programs(e)]
    if launched and all(e.hole.all() or _one_tile(e) for e in launched):
        return "output_not_written"
    votes: Counter[str] = Counter()
    for e in holes:
        counts = {_programs(e), *(math.prod(launch.grid) for launch in e.launches)}
        votes.update(
            {
                cause
                for cause, count, hole in _holes(e)
                if count in counts and np.array_equal(hole, e.hole)
            }
        )
    return votes.most_common(1)[0][0] if votes else "output_not_written"


def _output_read(evidence, failed, step) -> str:
    """The kernel reads the memory it writes, so that the sum starts with what lay there."""
    for e in _with_wrong_values(failed):
        unset = np.isnan(e.actual[e.wrong]).all() and not e.violations
        if unset and any(set(launch.loads) & set(launch.stores) for launch in e.launches):
            return "accumulator_not_zeroed"
    return ""


def _beyond_32_bits(evidence, failed, step) -> str:
    return "offset_overflow" if all(e.case.focus == "int64" for e in failed) else ""


def _stray_store(evidence, failed, step) -> str:
    stray = [e for e in failed if any(v.access != "load" for v in e.violations)]
    if not stray:
        return ""
    if _only_layouts(stray):
        return "stride_ignored"  # the output's row stride, taken from an input
    if any(_far_away(v) for e in stray for v in e.violations):
        return "wild_address"
    # Where all sizes are whole tiles no mask is needed: the addresses themselves are wrong.
    return "strides_swapped" if any(_whole_tiles(e) for e in stray) else "store_mask_missing"


def _stray_load(evidence, failed, step) -> str:
    """Along K or along an output axis: a case that is ragged in one dimension only tells."""
    loads = [e for e in failed if any(v.access == "load" for v in e.violations)]
    if not loads:
        return ""
    focuses = {e.case.focus for e in loads}
    if len(focuses) == 1 and focuses <= BY_FOCUS.keys():
        return BY_FOCUS[focuses.pop()]
    if any(map(_whole_tiles, loads)) or _only_layouts(loads):
        return "stride_ignored"
    if "K" in focuses and not focuses & {"M", "N"}:
        return "k_tail_unmasked"
    if focuses & {"M", "N", "MN", "MNK"}:
        return "load_mask_missing"
    return "k_tail_unmasked" if any("K" in f for f in focuses) else "load_mask_missing"


def _undefined_lanes(evidence, failed, step) -> str:
    for e in _with_wrong_values(failed):
        if e.outcome.account.unfilled and (np.isnan(e.actual) & ~e.unwritten).any():
            return "masked_other_wrong"
    return ""


def _rounding(evidence, failed, step) -> str:
    """Errors in the last digits: too few bits somewhere."""
    wrong = _with_wrong_values(failed)
    if len(wrong) < len(failed) or not all(map(_small, wrong)):
        return ""
    if step.task.otherwise == "rounding_wrong":
        return "rounding_wrong"  # the step is about how many bits stay
    halves = any("float16" in str(e.case.size.get("dtype")) for e in wrong)
    return "low_precision_accumulator" if halves else "low_precision_input"


def _only_some_cases(evidence, failed, step) -> str:
    """Which kind of case fails tells the rest."""
    focuses = {e.case.focus for e in failed}
    if focuses <= BY_FOCUS.keys():
        return next(cause for focus, cause in BY_FOCUS.items() if focus in focuses)
    if all(f.startswith("strides") for f in focuses):
        return "stride_ignored"
    if any("K" in f for f in focuses) and not focuses & {"", "rectangular", "M", "N"}:
        return "k_tail_unmasked"
    if "" not in focuses and focuses & {"rectangular", "M", "N"}:
        return "tile_dimensions_confused"
    return ""


def _tuning(evidence, failed, step) -> str:
    """Right with every config alone, and wrong when tuned: what tuning or a second call adds."""
    kinds = {e.tuning for e in failed}
    if "config" in kinds:
        return ""
    return "autotune_in_place" if kinds & {"tuning", "again"} else "autotune_key"


def _grid_of_a_config(evidence, failed, step) -> str:
    """Fewer programs than the config's tiles ask for, and not by rounding down."""
    for e in failed:
        if e.tuner is None or e.tuner.configs < 2 or e.unwritten is None or not e.unwritten.any():
            continue
        if e.hole.ndim > 2:
            continue  # tiles of heads are counted elsewhere
        rows, cols = np.atleast_2d(e.hole).shape
        bm, bn = (_named_tiles(e, name) for name in "MN")
        for tall, wide in itertools.product(bm, bn):
            up = (-(-rows // tall), -(-cols // wide))
            down = (rows // tall, cols // wide)
            counts = {a * b for a in (up[0], down[0]) for b in (up[1], down[1])}
            if _programs(e) not in counts and _programs(e) < up[0] * up[1]:
                return "autotune_grid"
    return ""


def _named_tiles(e: Evidence, dimension: str) -> set[int]:
    """Tile sizes by the constexpr's name (BLOCK_M, BN), or all where names tell nothing."""
    named = {
        value
        for launch in e.launches
        for name, value in launch.constexprs.items()
        if name.upper().startswith(("B", "TILE")) and name.upper().endswith(dimension)
    }
    return named or tiles_of(e)


def _group_not_clamped(evidence, failed, step) -> str:
    """Programs are numbered in groups, and whole tiles are missing where the last group is short.

    For steps without wrong answers by launch; in others those have been compared already.
    """
    if step.task.by_launch is not None:
        return ""
    holes = [e for e in _with_wrong_values(failed) if e.unwritten.any()]
    return "group_not_clamped" if holes and all(map(_last_group_short, holes)) else ""


def _last_group_short(e: Evidence) -> bool:
    groups = {
        value
        for launch in e.launches
        for name, value in launch.constexprs.items()
        if "GROUP" in name.upper() and value > 0
    }
    if not groups or e.hole.ndim > 2:
        return False
    rows, cols = np.atleast_2d(e.hole).shape
    for bm, bn in itertools.product(_named_tiles(e, "M"), _named_tiles(e, "N")):
        tall, wide = -(-rows // bm), -(-cols // bn)
        if any(tall % group for group in groups) and _programs(e) == tall * wide:
            return _whole_tiles_missing(e, bm, bn)
    return False


def _whole_tiles_missing(e: Evidence, bm: int, bn: int) -> bool:
    hole = np.atleast_2d(e.hole)
    rows, cols = np.indices(hole.shape)
    first = hole[rows // bm * bm, cols // bn * bn]  # of each element's tile
    return bool((hole == first).all())


def _only_some_configs(evidence, failed, step) -> str:
    """Right with one config, wrong with another where no size is ragged: a number stands fixed."""
    alone = [e for e in failed if e.tuner and e.tuning == "config"]
    wrong = {e.tuner.chosen for e in alone}
    right = {e.tuner.chosen for e in evidence if e.tuner and e.tuning == "config"} - wrong
    plain = any(e.case.focus in ("", "rectangular") for e in alone)
    return "tile_dimensions_confused" if right and plain else ""


def _races(evidence, failed, step) -> str:
    """Stray stores land on other programs' elements as well: they come first."""
    raced = any(e.outcome.account and e.outcome.account.races for e in failed)
    return "race" if raced and not any(e.violations for e in failed) else ""


def _hints(evidence, failed, step) -> str:
    untrue = any(e.outcome.account and e.outcome.account.hints for e in failed)
    return "hint_untrue" if untrue else ""


RULES: tuple[Callable[[list[Evidence], list[Evidence], course.Step], str], ...] = (
    _plain,
    _raised,
    _tuning,
    _races,
    _shared_out_wrongly,
    _only_extreme_scores,
    _same_as_a_known_mistake,
    _grid_of_a_config,
    _group_not_clamped,
    _only_some_configs,
    _output_read,
    _not_written,
    _beyond_32_bits,
    _stray_store,
    _stray_load,
    _undefined_lanes,
    _hints,
    _nan_as_a_known_mistake,
    _rounding,
    _only_some_cases,
)

# Those for steps without a kernel: there are no launches, tiles and addresses to look at.
LOOP_RULES = (
    _plain,
    _raised,
    _same_as_a_known_mistake,
    _nan_as_a_known_mistake,
    _rounding,
)


# --- looking at evidence ----------------------------------------------------------------------


def tiles_of(evidence: Evidence) -> set[int]:
    """Tile sizes of the kernels that ran: their constexpr powers of two, or the usual ones."""
    values = {
        value
        for launch in evidence.launches
        for value in launch.constexprs.values()
        if 2 <= value <= 4096 and value & (value - 1) == 0
    }
    return values or USUAL_TILES


def _equal(e: Evidence, answer: np.ndarray) -> bool:
    """Whether what came out is this wrong answer, NaN for NaN, up to rounding."""
    actual, bound = (_like(answer, e, x) for x in (e.actual, e.case.bound))
    if answer.shape != actual.shape:
        return False
    precision = {"float16": 2.0**-9, "bfloat16": 2.0**-6}.get(e.case.dtype, 2.0**-18)
    with np.errstate(invalid="ignore", over="ignore"):
        slack = 4 * bound + precision * np.abs(answer)
        close = np.isfinite(answer) & (np.abs(answer - actual) <= slack)
    both_nan = np.isnan(answer) & np.isnan(actual)
    return bool((close | both_nan | (answer == actual)).all())


def _like(answer: np.ndarray, e: Evidence, whole: np.ndarray) -> np.ndarray:
    """What of a result with gradients an answer is to be compared with: all, or the result."""
    alone = e.case.backward is not None and answer.shape == e.case.shape
    return e.case.split(whole)[""] if alone else whole


def _telling_numbers(e: Evidence, answer: np.ndarray) -> bool:
    """Whether an answer is clearly wrong by a number. NaN agrees with too much to tell."""
    with np.errstate(invalid="ignore"):
        expected, bound = (_like(answer, e, x) for x in (e.case.expected, e.case.bound))
        return bool((np.abs(answer - expected) > 8 * bound).any())


def _telling_nan(e: Evidence, answer: np.ndarray) -> bool:
    return bool(np.isnan(answer).any())


def _same_holes(e: Evidence, answer: np.ndarray) -> bool:
    """Whether the answer is NaN in the same places, and right or equally wrong elsewhere.

    One that is right everywhere explains nothing, however close it is to what came out.
    """
    holes = np.isnan(answer)
    if not np.array_equal(holes, np.isnan(e.actual)):
        return False
    if holes.any() and not (e.wrong & ~holes).any():
        return True
    return _telling_numbers(e, answer) and _equal(e, answer)


def _only_gradients_wrong(e: Evidence) -> bool:
    return e.case.backward is not None and "" not in e.wrong_parts


def _with_wrong_values(failed: list[Evidence]) -> list[Evidence]:
    return [e for e in failed if e.wrong is not None and e.wrong.any()]


def _holes(e: Evidence):
    """(cause, programs launched, elements left unwritten) for the usual slips in the grid."""
    if e.hole.ndim > 2:
        yield from _holes_in_heads(e)
        return
    rows, cols = np.atleast_2d(e.hole).shape
    if e.hole.ndim == 1:
        for tile in tiles_of(e):
            yield "grid_floor", cols // tile, _all_but(e, 1, cols // tile * tile)
        return
    for bm, bn in itertools.product(tiles_of(e), repeat=2):
        tall, wide = -(-rows // bm), -(-cols // bn)
        for down, across in ((rows // bm, wide), (tall, cols // bn), (rows // bm, cols // bn)):
            hole = _all_but(e, down * bm, across * bn)
            yield "grid_floor", down * across, hole
            yield "output_not_written", tall * wide, hole  # the program is there and stores nothing
        yield "grid_swapped", tall * wide, _all_but(e, wide * bm, tall * bn)
        if bm != bn:
            for axis in (0, 1):
                hole = _outside_strips(e, rows, cols, bm, bn, axis)
                yield "tile_dimensions_confused", tall * wide, hole


def _holes_in_heads(e: Evidence):
    """As `_holes`, for blocks of rows in each head of (B, H, N, D), or of (B, H, N)."""
    outer, rows = e.hole.shape[:2], e.hole.shape[2]
    for tile in tiles_of(e):
        hole = np.zeros(e.hole.shape, bool)
        hole[:, :, rows // tile * tile :] = True
        yield "grid_floor", rows // tile * math.prod(outer), hole
        yield "grid_floor", max(rows // tile, 1) * math.prod(outer), hole


def _whole_heads_missing(e: Evidence) -> bool:
    """Whether some heads of (B, H, N, D) were written in full and the others not at all."""
    if e.hole.ndim != 4 or not e.hole.any() or e.hole.all():
        return False
    by_head = e.hole.reshape(*e.hole.shape[:2], -1)
    return bool((by_head.all(axis=2) | ~by_head.any(axis=2)).all())


def _all_but(e: Evidence, rows: int, cols: int) -> np.ndarray:
    hole = np.ones(np.atleast_2d(e.hole).shape, bool)
    hole[:rows, :cols] = False
    return hole.reshape(e.hole.shape)


def _outside_strips(e: Evidence, rows: int, cols: int, bm: int, bn: int, axis: int) -> np.ndarray:
    """What is left out when the tiles along an axis are placed by the other tile size."""
    length, size, step = (rows, bm, bn) if axis == 0 else (cols, bn, bm)
    programs = -(-length // size)
    covered = np.zeros(length, bool)
    for i in range(programs):
        covered[i * step : i * step + size] = True
    hole = ~covered
    shape = np.atleast_2d(e.hole).shape
    full = np.broadcast_to(hole[:, None] if axis == 0 else hole[None, :], shape)
    return full.reshape(e.hole.shape)


def _one_tile(e: Evidence) -> bool:
    """Whether only the first tile was written, although there are more."""
    written = ~np.atleast_2d(e.hole)
    written = written.reshape(-1, written.shape[-1])
    rows, cols = int(written.any(axis=1).sum()), int(written.any(axis=0).sum())
    tiles = tiles_of(e)
    sides = [side for side, length in zip((rows, cols), written.shape) if side < length]
    return bool(written[:rows, :cols].all()) and all(side in tiles for side in sides)


def _programs(e: Evidence) -> int:
    return sum(math.prod(launch.grid) for launch in e.launches)


def _whole_tiles(e: Evidence) -> bool:
    sizes = [v for v in e.case.size.values() if isinstance(v, int)]
    return all(n % max(tiles_of(e)) == 0 for n in sizes)


def _only_layouts(evidence: list[Evidence]) -> bool:
    """Whether contiguous operands are all right, so that only strides can be wrong."""
    return all(e.case.focus.startswith(("strides", "int64")) for e in evidence)


def _far_away(violation: Violation) -> bool:
    """Further off than any mistake of a mask or a stride leads."""
    return abs(violation.elements_off) > 2**31


def _small(e: Evidence) -> bool:
    largest = np.abs(e.actual - e.case.expected).max()
    return bool(largest < 0.02 * np.abs(e.case.expected).max())


# --- words ------------------------------------------------------------------------------------

PAST_THE_END = {
    "store_mask_missing": "written",
    "load_mask_missing": "read",
    "k_tail_unmasked": "read",
}


def _scope(evidence: list[Evidence], failed: list[Evidence]) -> str:
    """ "Your kernel is right except when K is not a multiple of 32." where the cases say so."""
    alone = {e.tuner.chosen for e in failed if e.tuner and e.tuning == "config"}
    if alone and any(e.tuner and e.tuner.chosen not in alone for e in evidence if not e.failed):
        return "Your kernel is right with its other configs."
    if all(e.tuning != "config" for e in failed):
        return "Your kernel is right with every config by itself, but not when it is tuned."
    if any(e.case.focus == "" for e in failed):
        return ""
    focuses = {e.case.focus for e in failed}
    ragged = [d for d in "MNK" if d in focuses]
    names = _dimension_names(failed[0].case)
    if ragged and all(any(_is_ragged(e, names[d]) for d in ragged) for e in failed):
        tile = _tile_along(names[ragged[0]], failed) if len(ragged) == 1 else "its tile"
        either = " or ".join(names[d] for d in ragged)
        return f"Your kernel is right except when {either} is not a multiple of {tile}."
    return f"Your kernel is right except in: {_quoted(failed)}."


def except_in(evidence: list[Evidence], failed: list[Evidence]) -> str:
    """ "Your function is right except in: “ragged K”." or nothing where the first, plain case fails."""
    if evidence[0].failed:
        return ""
    return f"Your function is right except in: {_quoted(failed)}."


def _quoted(failed: list[Evidence]) -> str:
    quoted = ", ".join(f"“{e.case.name}”" for e in failed[:4])
    return f"{quoted} and {len(failed) - 4} more" if len(failed) > 4 else quoted


def _is_ragged(e: Evidence, name: str) -> bool:
    return e.case.size[name] % max(tiles_of(e)) != 0


def _dimension_names(case: Case) -> dict[str, str]:
    """What the step calls its dimensions: {"M": "R", "N": "C"} for `scale_rows`."""
    names = [name for name, value in case.size.items() if isinstance(value, int)]
    return dict(zip("MNK", names if len(names) > 1 else names * 2))


def _tile_along(name: str, failed: list[Evidence]) -> str:
    """The tile's size along a dimension, if the kernel's constexpr names or values tell it."""
    sizes = {
        value
        for e in failed
        for launch in e.launches
        for constexpr, value in launch.constexprs.items()
        if constexpr.upper().endswith(name)
    } or tiles_of(failed[0])
    return str(sizes.pop()) if len(sizes) == 1 else "its tile"


def _where(failed: list[Evidence], cause: str) -> str:
    """Which line to look at, and what happened there, for the causes where a line is known."""
    if cause in PAST_THE_END:
        verb = PAST_THE_END[cause]
        for e in failed:
            for violation in e.violations[:1]:
                if (violation.access == "load") == (verb == "read"):
                    tile = f"The last tile of `{violation.argument}`"
                    return f"{tile} is {verb} past its end, {e.place}."
    place = next((e.place for e in failed if e.place), "")
    return f"Look at {place}." if place else ""
