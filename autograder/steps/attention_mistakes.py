"""What the usual slips in an attention kernel compute, each with the cause it has.

Every answer is a whole wrong result for a case; one that equals what a submission returned names
its mistake. Where two mistakes give the same answer, the more usual one comes first. Must never
decide a verdict: whatever is compared with these is already known to be wrong.
"""

import itertools

import numpy as np

from autograder.steps import memory
from autograder.steps.attention_reference import Problem, attend, causal_mask, repeat, softmax
from autograder.steps.case import Case, Operand

LN_2 = np.log(2.0)
SENTINELS = (-1e2, -1e3, -1e4, -3e4, -65504.0, -1e5, -1e6, -1e9)  # for minus infinity


def hypotheses(case: Case, tiles: set[int]):
    """(cause, wrong answer) for mistakes whose result can be computed."""
    causal = case.size.get("causal", False)
    problem = Problem.of(case.operands, causal, case.size.get("scale"))
    q, k, v = case.operands
    yield from _wrong_scales(problem)
    if causal:
        yield from _wrong_masks(problem)
        yield from _empty_rows(problem, case.expected, tiles)
        for rows, cols in itertools.product(sorted(tiles), repeat=2):
            yield from _wrong_loops(problem, rows, cols)
    for tile in sorted(tiles):
        yield from _wrong_tails(problem, tile)
        yield from _wrong_streams(problem, tile)
    yield from _wrong_normalisers(problem)
    yield from _wrong_heads(problem, q, k, v)
    yield from _misread(problem, q, k, v)
    yield from _misread_tiles(problem, k, v, tiles)
    yield from _output_misplaced(case, q)
    yield from _lost_digits(problem, case)


# --- scores -----------------------------------------------------------------------------------


def _wrong_scales(problem: Problem):
    d = problem.q.shape[3]
    right = problem.scale
    usual = (1.0, 1 / d, d**-0.5, right * d**-0.5, d**0.5, right / d)
    base = (right * LN_2, right / LN_2, LN_2)
    for scale in (*usual, right * right, 1 / right, *base, d**-0.5 * LN_2):
        yield "scale_wrong", attend(problem.but(scale=scale))


def _wrong_masks(problem: Problem):
    nq, nk = problem.seen.shape
    right, scores = nk - nq, problem.scores()
    yield "causal_alignment", attend(problem.but(seen=causal_mask(nq, nk, 0)))
    yield "causal_alignment", attend(problem.but(seen=causal_mask(nq, nk, -right)))
    yield "causal_mask_wrong", attend(problem.but(seen=np.ones((nq, nk), bool)))
    for offset in (right - 1, right + 1, -1, 1):
        yield "causal_mask_wrong", attend(problem.but(seen=causal_mask(nq, nk, offset)))
    for offset in (right, 0, -right):
        keys, queries = np.arange(nk)[None, :], np.arange(nq)[:, None]
        yield "causal_mask_wrong", attend(problem.but(seen=keys >= queries + offset))
        yield "causal_mask_wrong", attend(problem.but(seen=queries <= keys + offset))
    yield "causal_mask_wrong", (softmax(scores) * problem.seen) @ problem.v
    for sentinel in SENTINELS:
        hidden = np.where(problem.seen, scores, sentinel)
        yield "finite_mask_value", _but_empty(problem, softmax(hidden) @ problem.v)
        yield "finite_mask_value", softmax(hidden) @ problem.v
        added = np.where(problem.seen, scores, scores + sentinel)
        yield "finite_mask_value", softmax(added) @ problem.v
    yield "causal_mask_wrong", softmax(np.where(problem.seen, scores, 0.0)) @ problem.v


def _but_empty(problem: Problem, answer: np.ndarray) -> np.ndarray:
    """The answer with zeros, as is right, where a query sees no key."""
    return np.where(problem.seen.any(axis=1)[:, None], answer, 0.0)


def _empty_rows(problem: Problem, expected: np.ndarray, tiles: set[int]):
    """Right wherever a query sees a key; NaN, or a mean of values, where it sees none."""
    nq, nk = problem.seen.shape
    empty = ~problem.seen.any(axis=1)
    if not empty.any():
        return
    total = problem.v.sum(axis=2, keepdims=True)
    for rows in sorted({1, *tiles}):
        # Queries that share a program with one that sees keys go through its loop.
        block = np.arange(nq) // rows
        looped = empty & np.isin(block, block[~empty])
        for reached, cols in itertools.product((empty, looped), sorted({1, *tiles})):
            counted = -(-nk // cols) * cols
            yield "finite_mask_value", np.where(reached[:, None], total / counted, expected)
            if looped.any():
                # Keys up to the last that the last query of their program sees.
                last = (block[np.argmax(looped)] + 1) * rows + nk - nq
                visited = min(counted, -(-last // cols) * cols)
                mean = problem.v[:, :, :visited].sum(axis=2, keepdims=True) / visited
                yield "finite_mask_value", np.where(looped[:, None], mean, expected)
        for reached in (empty, looped, empty & ~looped):
            yield "empty_row", np.where(reached[:, None], np.nan, expected)


def _wrong_loops(problem: Problem, rows: int, cols: int):
    """Blocks of keys up to the diagonal, with a bound that is off for the blocks of queries."""
    nq, nk = problem.seen.shape
    first = np.arange(nq) // rows * rows  # of each query's block
    for cause, end in (
        ("causal_mask_wrong", (first + nk - nq) // cols * cols),
        ("causal_mask_wrong", first + nk - nq),
        ("causal_mask_wrong", first),
        ("causal_mask_wrong", (first + rows + nk - nq) // cols * cols),
        ("causal_mask_wrong", first // rows * cols + cols + nk - nq),
        ("causal_mask_wrong", first // rows * cols + cols),
        ("causal_alignment", first + rows),
    ):
        visited = -(-end // cols) * cols
        seen = problem.seen & (np.arange(nk)[None, :] < visited[:, None])
        yield cause, attend(problem.but(seen=seen))
    # The diagonal's block of keys not masked at all.
    last = np.minimum(nk, first + rows + nk - nq)
    yield "causal_mask_wrong", attend(problem.but(seen=np.arange(nk)[None, :] < last[:, None]))
    reached = -(-(first + rows + nk - nq) // cols) * cols
    yield "causal_mask_wrong", attend(problem.but(seen=np.arange(nk)[None, :] < reached[:, None]))


def _wrong_tails(problem: Problem, tile: int):
    """The last block of keys: padded keys that count, or keys that do not."""
    nk = problem.k.shape[2]
    padded = -nk % tile
    if padded:
        more = ((0, 0), (0, 0), (0, padded), (0, 0))
        k, v = np.pad(problem.k, more), np.pad(problem.v, more)
        # Under a causal mask the queries at the end, at most, see keys that are not there.
        everywhere = np.pad(problem.seen, ((0, 0), (0, padded)), constant_values=True)
        last = np.pad(problem.seen, ((0, 0), (0, padded)))
        for seen in (everywhere, last):
            yield "padded_keys_counted", attend(problem.but(k=k, v=v, seen=seen))
        for sentinel in SENTINELS:
            scores = np.pad(problem.masked(), ((0, 0), (0, 0), (0, 0), (0, padded)))
            scores[..., nk:] = sentinel
            yield "finite_mask_value", softmax(scores) @ v
        yield "tail_dropped", attend(_cut(problem, nk - nk % tile))
    if nk > tile:
        yield "tail_dropped", attend(_cut(problem, (-(-nk // tile) - 1) * tile))
        yield "k_loop_missing", attend(_cut(problem, tile))
        again = np.arange(nk) % tile
        k, v = problem.k[:, :, again], problem.v[:, :, again]
        yield "pointer_not_advanced", attend(problem.but(k=k))
        yield "pointer_not_advanced", attend(problem.but(v=v))
        yield "pointer_not_advanced", attend(problem.but(k=k, v=v))


def _cut(problem: Problem, keys: int) -> Problem:
    """Only the first keys."""
    return problem.but(seen=problem.seen & (np.arange(problem.seen.shape[1]) < keys))


# --- the online softmax -----------------------------------------------------------------------


def _right(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Factor of what was summed so far, when the maximum goes from old to new."""
    return np.exp(old - new)


def _none(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.ones_like(new)


def _overwritten(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.zeros_like(new)


WRONG_FACTORS = (
    _none,
    lambda old, new: np.exp(new - old),  # turned over
    lambda old, new: np.exp(2 * (old - new)),  # applied twice
    lambda old, new: np.exp2(old - new),  # 2^z of a maximum in units of e^z
    lambda old, new: np.exp((old - new) / LN_2),  # the reverse
)


def _stream(problem, tile, start=-np.inf, running=True, acc_factor=_right, sum_factor=_right):
    """Online softmax in fp32 with one thing changed.

    start                   what the running maximum begins with
    running                 whether the maximum is kept, or is that of the current block only
    acc_factor, sum_factor  (old maximum, new maximum) → factor of the sums so far
    """
    scores = problem.masked().astype(np.float32)
    v = problem.v.astype(np.float32)
    m = np.full((*scores.shape[:3], 1), start, np.float32)
    total = np.zeros_like(m)
    acc = np.zeros(problem.q.shape, np.float32)
    for first in range(0, scores.shape[3], tile):
        part = scores[..., first : first + tile]
        top = part.max(axis=3, keepdims=True)
        new = np.maximum(m, top) if running else top
        base = np.where(np.isneginf(new), np.float32(0), new)
        p = np.exp(part - base)
        total = total * sum_factor(m, base) + p.sum(axis=3, keepdims=True)
        acc = acc * acc_factor(m, base) + p @ v[:, :, first : first + tile]
        m = new
    return _but_empty(problem, (acc / total).astype(np.float64))


def _wrong_streams(problem: Problem, tile: int):
    scores = problem.masked()
    # Where every query scores far from zero, exp alone over- or underflows.
    if scores[np.isfinite(scores)].max(initial=-np.inf) < -80:
        yield "running_max_wrong", _stream(problem, tile, start=0.0)
    for sentinel in SENTINELS:
        if scores.max(axis=3, initial=-np.inf).min() < sentinel:
            yield "finite_mask_value", _stream(problem, tile, start=sentinel)
    if scores[np.isfinite(scores)].max(initial=-np.inf) > 80:
        raw = np.exp(scores.astype(np.float32))
        value = (raw @ problem.v.astype(np.float32)) / raw.sum(axis=3, keepdims=True)
        yield "max_not_subtracted", value.astype(np.float64)
    if scores.shape[3] <= tile:
        return
    yield "running_max_wrong", _stream(problem, tile, running=False)
    for factor in WRONG_FACTORS:
        yield "rescale_missing", _stream(problem, tile, acc_factor=factor)
        yield "rescale_missing", _stream(problem, tile, sum_factor=factor)
        yield "rescale_missing", _stream(problem, tile, acc_factor=factor, sum_factor=factor)
    both = {"acc_factor": _none, "sum_factor": _none}
    yield "running_max_wrong", _stream(problem, tile, running=False, **both)
    yield "accumulator_overwritten", _stream(problem, tile, acc_factor=_overwritten)
    yield "normaliser_wrong", _stream(problem, tile, sum_factor=_overwritten)
    both = {"acc_factor": _overwritten, "sum_factor": _overwritten}
    yield "accumulator_overwritten", _stream(problem, tile, **both)
    blocks = [slice(i, i + tile) for i in range(0, scores.shape[3], tile)]
    yield "normaliser_wrong", sum(softmax(scores[..., b]) @ problem.v[:, :, b] for b in blocks)


def _wrong_normalisers(problem: Problem):
    scores = problem.masked()
    top = scores.max(axis=3, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), 0.0, top)
    powers = np.exp(scores - top)
    total = powers.sum(axis=3, keepdims=True)
    acc = powers @ problem.v
    yield "normaliser_wrong", acc
    yield "normaliser_wrong", _but_empty(problem, acc / np.maximum(total, 1e-300) ** 2)
    yield "normaliser_wrong", _but_empty(problem, acc * total)
    yield "normaliser_wrong", _but_empty(problem, acc / (total + 1))
    yield "normaliser_wrong", acc / problem.k.shape[2]
    columns = powers.sum(axis=2)  # along the wrong axis, where the shapes let it pass
    if columns.shape[2] >= acc.shape[2]:
        yield "normaliser_wrong", acc / columns[:, :, : acc.shape[2], None]


# --- memory -----------------------------------------------------------------------------------


def _wrong_heads(problem: Problem, q: Operand, k: Operand, v: Operand):
    """Heads and batches that read what belongs to others."""
    heads, groups = problem.q.shape[1], k.values.shape[1]
    wide = {o.name: o.values.astype(np.float64) for o in (q, k, v)}
    for axis in (0, 1):
        if problem.q.shape[axis] > 1:
            for names in ("q", "k", "v", "kv", "qkv"):
                first = {n: _first_everywhere(repeat(wide[n], heads), axis) for n in names}
                yield "head_or_batch_offset", attend(problem.but(**first))
    # h // Hkv is head 0 for every query where no head is shared. An offset left out reads it too, and
    # comes first: the cases with shared heads decide between the two.
    head = np.arange(heads)
    shared = (head % groups, np.minimum(head, groups - 1)) if groups != heads else ()
    for of_head in (*shared, head // groups):
        for names in ("kv", "k", "v"):
            yield "gqa_mapping", attend(problem.but(**{n: _heads(wide[n], of_head) for n in names}))
    if problem.q.shape[0] > 1 and problem.q.shape[1] > 1:
        for operands in ((q,), (k,), (v,), (k, v), (q, k, v)):
            swapped = {o.name: repeat(_batch_and_head_swapped(o), heads) for o in operands}
            yield "head_or_batch_offset", attend(problem.but(**swapped))


def _heads(x: np.ndarray, of_head: np.ndarray) -> np.ndarray:
    """The key head that each query head reads, NaN where there is no such head."""
    there = of_head < x.shape[1]
    return np.where(there[:, None, None], x[:, np.where(there, of_head, 0)], np.nan)


def _first_everywhere(x: np.ndarray, axis: int) -> np.ndarray:
    return np.broadcast_to(np.take(x, [0], axis), x.shape)


def _batch_and_head_swapped(operand: Operand) -> np.ndarray:
    strides = memory.strides_of(operand)
    return memory.read(operand, (strides[1], strides[0], *strides[2:]))


def _misread(problem: Problem, q: Operand, k: Operand, v: Operand):
    """Strides of one operand, or of several, that are ignored, exchanged or another tensor's."""
    heads = problem.q.shape[1]
    for cause, look in (
        ("stride_ignored", memory.as_contiguous),
        ("stride_ignored", memory.with_unit_column_stride),
        ("strides_swapped", memory.with_swapped_strides),
    ):
        for operands in ((q,), (k,), (v,), (k, v), (q, k, v)):
            misread = {o.name: repeat(look(o), heads) for o in operands}
            yield cause, attend(problem.but(**misread))
    for operand, other in itertools.permutations((q, k, v), 2):
        as_other = memory.read(operand, memory.strides_of(other))
        yield "stride_ignored", attend(problem.but(**{operand.name: repeat(as_other, heads)}))
    as_q = {o.name: repeat(memory.read(o, memory.strides_of(q)), heads) for o in (k, v)}
    yield "stride_ignored", attend(problem.but(**as_q))


def _misread_tiles(problem: Problem, k: Operand, v: Operand, tiles: set[int]):
    """Strides exchanged within a block of keys, while the pointers advance by the right one."""
    for tile, operand in itertools.product(sorted(tiles), (k, v)):
        *outer, row, column = memory.strides_of(operand)
        misread = np.empty(operand.values.shape)
        for first in range(0, misread.shape[2], tile):
            block = memory.read(operand, (*outer, column, row), first * row)
            misread[:, :, first : first + tile] = block[:, :, : min(tile, misread.shape[2] - first)]
        turned = repeat(misread, problem.q.shape[1])
        yield "strides_swapped", attend(problem.but(**{operand.name: turned}))


def _output_misplaced(case: Case, q: Operand):
    """Right numbers in the wrong places: the output written with other strides than its own."""
    if q.layout == "bnhd":
        yield "stride_ignored", case.expected.transpose(0, 2, 1, 3).reshape(case.shape)
    yield "strides_swapped", case.expected.transpose(0, 1, 3, 2).reshape(case.shape)
    yield "head_or_batch_offset", case.expected.transpose(1, 0, 2, 3).reshape(case.shape)


# --- precision --------------------------------------------------------------------------------


def _lost_digits(problem: Problem, case: Case):
    if case.dtype == "float32":
        cut = {n: _halved(getattr(problem, n)) for n in "qkv"}
        yield "low_precision_input", attend(problem.but(**cut))
        yield "low_precision_output", _halved(case.expected)
    scores = _halved(problem.masked())
    yield "low_precision_accumulator", softmax(scores) @ problem.v
    unscaled = _halved(problem.masked() / problem.scale) * problem.scale
    yield "low_precision_accumulator", softmax(unscaled) @ problem.v


def _halved(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float64)
