"""What the usual slips in attention's backward compute, each with the cause it has.

Every answer is the right result with gradients of which some are wrong, one after the other as in
the case, or, for mistakes of the forward, the result alone. Of equal answers the more usual mistake
comes first. Must never decide a verdict: whatever is compared with these is already known to be
wrong.
"""

from dataclasses import replace

import numpy as np

from autograder.steps import attention_mistakes as forward_mistakes
from autograder.steps import memory
from autograder.steps.attention_reference import (
    Problem,
    attend,
    causal_mask,
    gather,
    repeat,
    softmax,
)
from autograder.steps.case import Case

LN_2 = np.log(2.0)
ACROSS = (0, 1, 3, 2)


class Backward:
    """One case's backward in float64, with anything exchanged. q, k, v and dout have all heads."""

    def __init__(self, case: Case):
        self.case = case
        self.problem = Problem.of(
            case.operands, case.size.get("causal", False), case.size.get("scale")
        )
        self.dout = case.backward.gradient.values.astype(np.float64)
        self.groups = case.operands[1].values.shape[1]
        self.p = self.problem.weights()
        self.out = attend(self.problem)
        self.dp = self.dout @ self.problem.v.transpose(ACROSS)
        self.delta = (self.p * self.dp).sum(axis=3, keepdims=True)
        self.ds = self.p * (self.dp - self.delta)
        self.exact = case.split(case.expected)

    def answer(self, **gradients) -> np.ndarray:
        """The right result and gradients but for those given, by operand."""
        parts = {name: gradients.get(name, exact) for name, exact in self.exact.items()}
        return np.concatenate([np.ravel(x) for x in parts.values()])

    def of(self, p=None, ds=None, dout=None, only="qkv", **read) -> np.ndarray:
        """Gradients made with other weights, other gradients of the scores, or other operands.

        `read` are q and k as they were read for the last product; `only` names the gradients that
        the mistake is in.
        """
        p = self.p if p is None else p
        ds = self.ds if ds is None else ds
        dout = self.dout if dout is None else dout
        q, k, scale = (
            read.get("q", self.problem.q),
            read.get("k", self.problem.k),
            self.problem.scale,
        )
        made = {
            "q": lambda: scale * ds @ k,
            "k": lambda: gather(scale * ds.transpose(ACROSS) @ q, self.groups),
            "v": lambda: gather(p.transpose(ACROSS) @ dout, self.groups),
        }
        return self.answer(**{name: made[name]() for name in only})

    def again(self, p=None, dout=None, v=None, delta=None, only="qkv", **read) -> np.ndarray:
        """All from the weights on made again: with other weights, dout, v or delta."""
        p = self.p if p is None else p
        dout = self.dout if dout is None else dout
        v = self.problem.v if v is None else v
        dp = dout @ v.transpose(ACROSS)
        delta = self.delta if delta is None else delta
        return self.of(p, p * (dp - delta), dout, only, **read)

    def log_sum_exp(self) -> np.ndarray:
        """Of each row of scores, (B, H, Nq, 1); plus infinity where there is no key to see."""
        top = self.problem.masked().max(axis=3, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0.0, top)
        total = np.exp(self.problem.masked() - top).sum(axis=3, keepdims=True)
        return np.where(total > 0, top + np.log(np.where(total > 0, total, 1.0)), np.inf)

    def again_weights(self, read: dict) -> np.ndarray:
        """The weights made again from a q or a k misread, with the forward's log-sum-exp."""
        misread = self.problem.but(**{name: read[name] for name in read if name in "qk"})
        return np.exp(misread.masked() - self.log_sum_exp())


def hypotheses(case: Case, tiles: set[int]):
    """(cause, wrong answer) for mistakes whose result can be computed."""
    result = case.split(case.expected)[""]
    bound = case.split(case.bound)[""]
    alone = replace(case, expected=result, bound=bound, backward=None)
    yield from forward_mistakes.hypotheses(alone, tiles)
    if not case.backward.wanted:
        return
    b = Backward(case)
    yield from _padded_keys(b, tiles)
    yield from _wrong_scales(b)
    yield from _wrong_sums(b)
    yield from _wrong_weights(b)
    yield from _wrong_masks(b)
    yield from _wrong_products(b)
    yield from _wrong_heads(b)
    yield from _misread(b)
    for tile in sorted(tiles):
        yield from _wrong_blocks(b, tile)
        if case.size.get("causal"):
            yield from _wrong_starts(b, tile, tiles)
    if case.backward.calls > 1:
        doubled = {name: case.backward.calls * b.exact[name] for name in case.backward.wanted}
        yield "accumulator_not_zeroed", b.answer(**doubled)
        for name, twice in doubled.items():
            yield "accumulator_not_zeroed", b.answer(**{name: twice})


def _padded_keys(b: Backward, tiles: set[int]):
    """A key of zeros past the end has a score of 0; where lse is far below, exp(0 - lse) overflows."""
    overflows = b.log_sum_exp() < -88
    if overflows.any() and "q" in b.exact and any(b.problem.seen.shape[1] % t for t in tiles):
        yield "padded_keys_counted", b.answer(q=np.where(overflows, np.nan, b.exact["q"]))


# --- arithmetic -------------------------------------------------------------------------------


def _wrong_scales(b: Backward):
    """Factors of dq and dk."""
    scale, d = b.problem.scale, b.problem.q.shape[3]
    for factor in (
        1 / scale,
        scale,
        LN_2,
        1 / LN_2,
        LN_2 / scale,
        1 / LN_2 / scale,
        d**-0.5 / scale,
    ):
        for only in ("q", "k", "qk"):
            wrong = {name: b.exact[name] * factor for name in only if name in b.exact}
            yield "gradient_scale", b.answer(**wrong)


def _wrong_sums(b: Backward):
    """The sum that is subtracted in the gradient of a softmax."""
    p, dp, out, dout, delta = b.p, b.dp, b.out, b.dout, b.delta
    scores = b.problem.masked()
    top = scores.max(axis=3, keepdims=True, initial=-np.inf)
    total = np.exp(scores - np.where(np.isneginf(top), 0.0, top)).sum(axis=3, keepdims=True)
    wrong_deltas = (
        0.0,
        -delta,
        dp.sum(axis=3, keepdims=True),
        dp.mean(axis=3, keepdims=True),
        dout.sum(axis=3, keepdims=True),
        out.sum(axis=3, keepdims=True),
        (p * p).sum(axis=3, keepdims=True),
        (out * out).sum(axis=3, keepdims=True),
        (dout * dout).sum(axis=3, keepdims=True),
        delta * total,
        delta / np.where(total == 0, 1.0, total),
        delta / out.shape[3],
        delta * b.problem.scale,
    )
    wrong_ds = [p * (dp - wrong) for wrong in wrong_deltas]
    wrong_ds += [dp * (p - delta), p * dp - delta, dp - delta, p * (1 - p) * dp, -b.ds, p - delta]
    if p.shape[2] <= p.shape[3]:  # the sum along the queries, where the shapes let it pass
        column = (p * dp).sum(axis=2)[:, :, : p.shape[2], None]
        wrong_ds.append(p * (dp - column))
    for ds in wrong_ds:
        for only in ("qk", "q", "k"):
            yield "gradient_delta", b.of(ds=ds, only=only)


def _wrong_weights(b: Backward):
    """Weights that are not those of the forward, from the log-sum-exp or from the scores."""
    scores = b.problem.masked()
    top = scores.max(axis=3, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), 0.0, top)
    total = np.exp(scores - top).sum(axis=3, keepdims=True)
    total = np.where(total == 0, 1.0, total)
    lse = b.log_sum_exp()
    scale, d = b.problem.scale, b.problem.q.shape[3]
    arguments = (
        scores * LN_2 - lse,
        scores - lse * LN_2,
        scores - lse / LN_2,
        scores / LN_2 - lse,
        (scores - lse) * LN_2,
        (scores - lse) / LN_2,
        scores,
        scores - top,
        scores - np.log(total),
        scores - top - total,
        scores - top / LN_2 - np.log(total),
        scores - top - np.log(total) / LN_2,
        scores - top - np.log(total) * LN_2,
        scores + lse,
        scores / scale - lse,
        scores * scale - lse,
        scores / scale * d**-0.5 - lse,
        (scores / scale - lse) / LN_2,
    )
    wrong = [np.exp(argument.astype(np.float32)).astype(np.float64) for argument in arguments]
    wrong += [b.p / total, b.p * total, softmax(scores.transpose(ACROSS)).transpose(ACROSS)]
    for p in wrong:
        for only in ("qkv", "kv", "q", "v"):
            yield "recompute_wrong", b.again(p, only=only)


def _wrong_masks(b: Backward):
    """A mask in the backward that is not the forward's, or none. Rows keep their log-sum-exp."""
    nq, nk = b.problem.seen.shape
    causal = b.case.size.get("causal", False)
    right, lse = nk - nq, b.log_sum_exp()
    queries, keys = np.arange(nq)[:, None], np.arange(nk)[None, :]
    everywhere = np.exp(b.problem.scores() - lse)
    masks = [causal_mask(nq, nk), causal_mask(nq, nk, 0)]
    if causal:
        masks = [np.ones((nq, nk), bool)]
        masks += [causal_mask(nq, nk, o) for o in (0, -right, right - 1, right + 1, -1, 1)]
        masks += [keys >= queries + o for o in (right, 0, -right)]
    for seen in masks:
        for only in ("qkv", "kv", "q"):
            yield "gradient_causal", b.again(np.where(seen, everywhere, 0.0), only=only)
    if causal:
        for hidden in (np.exp(-lse), 1.0):  # a score of 0 in place of minus infinity; a weight of 1
            for only in ("qkv", "kv", "q"):
                yield "gradient_causal", b.again(np.where(b.problem.seen, b.p, hidden), only=only)
        empty = ~b.problem.seen.any(axis=1)
        if empty.any():
            nan = np.where(empty[:, None], np.nan, b.p)
            for only in ("qkv", "kv", "q"):
                yield "empty_row", b.again(nan, only=only)
            # The row's log-sum-exp kept as 0 or minus infinity, and hidden scores as a number.
            for p in (np.where(empty[:, None], 1.0, b.p), np.where(empty[:, None], 1 / nk, b.p)):
                yield "empty_row", b.again(p)


def _wrong_products(b: Backward):
    """Factors exchanged, and gradients that are each other's."""
    q, k, v = b.problem.q, b.problem.k, b.problem.v
    square = q.shape[2] == k.shape[2]
    scale = b.problem.scale
    gradients = {
        "v": [b.ds.transpose(ACROSS) @ b.dout, b.p.transpose(ACROSS) @ b.out,
              b.p.transpose(ACROSS) @ q, b.dp.transpose(ACROSS) @ b.dout],
        "q": [scale * b.ds @ v, scale * b.p @ k, scale * b.dp @ k],
        "k": [scale * b.ds.transpose(ACROSS) @ b.dout, scale * b.p.transpose(ACROSS) @ q,
              scale * b.dp.transpose(ACROSS) @ q],
    }  # fmt: skip
    if square:
        gradients["v"] += [b.p @ b.dout]
        gradients["k"] += [scale * b.ds @ q, scale * b.ds.transpose(ACROSS) @ k]
        gradients["q"] += [scale * b.ds.transpose(ACROSS) @ k, scale * b.ds @ q]
    for name, wrong in gradients.items():
        for x in wrong:
            x = x if name == "q" else gather(x, b.groups)
            yield "gradient_wrong", b.answer(**{name: x})
    exact = b.exact
    for one, other in (("k", "v"), ("q", "k"), ("q", "v")):
        if one in exact and other in exact and exact[one].shape == exact[other].shape:
            yield "gradient_wrong", b.answer(**{one: exact[other], other: exact[one]})
    if b.out.shape == b.dout.shape:
        yield "gradient_wrong", b.again(dout=b.out)
    dp = b.out @ v.transpose(ACROSS)
    yield "gradient_wrong", b.of(ds=b.p * (dp - b.delta), only="qk")
    dp = b.dout @ k.transpose(ACROSS)
    yield "gradient_wrong", b.of(ds=b.p * (dp - b.delta), only="qk")


# --- heads and memory -------------------------------------------------------------------------


def _wrong_heads(b: Backward):
    heads = b.problem.q.shape[1]
    if b.groups != heads:
        yield from _wrong_groups(b, heads)
    first = forward_mistakes._first_everywhere
    scores, lse = b.problem.masked(), b.log_sum_exp()
    for axis in (0, 1):
        if b.problem.q.shape[axis] == 1:
            continue
        elsewhere = {
            "p": np.exp(scores - first(lse, axis)),
            "delta": first(b.delta, axis),
            "dout": first(b.dout, axis),
            "v": first(b.problem.v, axis),
        }
        for names in (("p",), ("delta",), ("p", "delta"), ("dout",), ("v",)):
            for only in ("qkv", "kv", "q"):
                answer = b.again(**{n: elsewhere[n] for n in names}, only=only)
                yield "head_or_batch_offset", answer
        for name in "qk":
            read = {name: first(getattr(b.problem, name), axis)}
            p = b.again_weights(read)
            yield "head_or_batch_offset", b.of(**read)
            for only in ("qkv", "kv", "q"):
                yield "head_or_batch_offset", b.again(p, only=only, **read)


def _wrong_groups(b: Backward, heads: int):
    """Sums over the heads of a group that leave heads out, or take in those of other groups."""
    size = heads // b.groups
    p, ds = b.p.transpose(ACROSS) @ b.dout, b.problem.scale * b.ds.transpose(ACROSS) @ b.problem.q
    shape = (p.shape[0], b.groups, size, *p.shape[2:])
    every = {"k": ds.reshape(shape), "v": p.reshape(shape)}
    turned = (p.shape[0], size, b.groups, *p.shape[2:])
    takes = [lambda x, i=i: x[:, :, i] for i in (0, size - 1)] + [lambda x: x.mean(axis=2)]
    takes += [lambda x: x.reshape(turned).sum(axis=1), lambda x: x.reshape(turned)[:, 0]]
    takes += [lambda x: x.reshape(turned)[:, -1]]
    for take in takes:
        wrong = {name: take(x) for name, x in every.items() if name in b.exact}
        yield "gqa_mapping", b.answer(**wrong)
        for name, x in wrong.items():
            yield "gqa_mapping", b.answer(**{name: x})
    k, v = (o.values.astype(np.float64) for o in b.case.operands[1:])
    for of_head in (np.arange(heads) % b.groups, np.minimum(np.arange(heads), b.groups - 1)):
        p = b.again_weights({"k": k[:, of_head]})
        for only in ("qkv", "kv", "q"):
            yield "gqa_mapping", b.again(p, v=v[:, of_head], k=k[:, of_head], only=only)
            yield "gqa_mapping", b.again(v=v[:, of_head], only=only)
            yield "gqa_mapping", b.of(k=k[:, of_head], only=only)


def _misread(b: Backward):
    """Strides that are ignored, exchanged, or another tensor's."""
    q, k, v = b.case.operands
    gradient = b.case.backward.gradient
    reads = [memory.as_contiguous(gradient), memory.with_unit_column_stride(gradient)]
    reads += [memory.with_swapped_strides(gradient), memory.read(gradient, memory.strides_of(q))]
    if k.values.shape[2] == q.values.shape[2]:
        reads += [memory.read(gradient, memory.strides_of(k))]
    for dout in reads:
        delta = (dout * b.out).sum(axis=3, keepdims=True)
        for only in ("qkv", "kv", "q"):
            yield "gradient_layout", b.again(dout=dout, delta=delta, only=only)
            yield "gradient_layout", b.again(dout=dout, only=only)
        yield "gradient_layout", b.of(ds=b.p * (b.dp - delta), only="qk")
        yield "gradient_layout", b.of(dout=dout, only="v")
    heads = b.problem.q.shape[1]
    for look in (memory.as_contiguous, memory.with_unit_column_stride, memory.with_swapped_strides):
        for names in ("q", "k", "v", "kv", "qkv"):
            read = {o.name: repeat(look(o), heads) for o in (q, k, v) if o.name in names}
            p = b.again_weights(read) if "q" in read or "k" in read else None
            for only in ("qkv", "kv", "q"):
                yield "stride_ignored", b.again(p, only=only, **read)
    for operand in (q, k, v):  # right numbers stored with the strides of the tensor they belong to
        if operand.layout == "bnhd" and operand.name in b.exact:
            exact = b.exact[operand.name]
            turned = exact.transpose(0, 2, 1, 3).reshape(exact.shape)
            yield "stride_ignored", b.answer(**{operand.name: turned})
    turned = {n: b.exact[n].transpose(ACROSS).reshape(b.exact[n].shape) for n in b.exact if n}
    yield "strides_swapped", b.answer(**turned)


# --- blocks -----------------------------------------------------------------------------------


def _wrong_blocks(b: Backward, tile: int):
    """Blocks of keys for dq, or of queries for dk and dv, that are left out or read again."""
    nq, nk = b.problem.seen.shape
    keys, queries = np.arange(nk), np.arange(nq)

    def only_keys(seen):
        return b.of(ds=b.ds * seen[None, :], only="q")

    def only_queries(seen):
        return b.of(b.p * seen[:, None], b.ds * seen[:, None], only="kv")

    for index, length, part in ((keys, nk, only_keys), (queries, nq, only_queries)):
        if length > tile:
            last = (-(-length // tile) - 1) * tile
            if length % tile:
                yield "tail_dropped", part(index < last)
            yield "accumulator_overwritten", part(index >= last)
            yield "k_loop_missing", part(index < tile)
            yield "tail_dropped", part(index < last)
    if nk > tile:
        again = keys % tile
        k, v = b.problem.k[:, :, again], b.problem.v[:, :, again]
        yield "pointer_not_advanced", b.of(k=k, only="q")
        yield "pointer_not_advanced", b.again(b.again_weights({"k": k}), k=k, only="q")
        yield "pointer_not_advanced", b.again(v=v, only="q")
    if nq > tile:
        again = queries % tile
        q, dout = b.problem.q[:, :, again], b.dout[:, :, again]
        yield "pointer_not_advanced", b.again(b.again_weights({"q": q}), q=q, only="kv")
        yield "pointer_not_advanced", b.again(dout=dout, only="kv")
        yield "pointer_not_advanced", b.again(delta=b.delta[:, :, again], only="kv")
        lse = b.log_sum_exp()
        p = np.exp(b.problem.masked() - lse[:, :, again])
        yield "pointer_not_advanced", b.again(p, only="kv")
        yield "pointer_not_advanced", b.again(p, delta=b.delta[:, :, again], only="kv")


def _wrong_starts(b: Backward, rows: int, tiles: set[int]):
    """Under a causal mask, where the walk over queries begins and that over keys ends."""
    nq, nk = b.problem.seen.shape
    offset = nk - nq
    for cols in sorted(tiles):
        block = np.arange(nk) // cols * cols  # of each key
        for start in (
            block,
            (block - offset + rows - 1) // rows * rows,
            (block - offset) // rows * rows + rows,
            (block + cols) // rows * rows,
            (block + cols - offset) // rows * rows,
            block - offset + cols - 1,
        ):
            begun = np.arange(nq)[:, None] >= (start // rows * rows)[None, :]
            yield "gradient_causal", b.of(b.p * begun, b.ds * begun, only="kv")
        first = np.arange(nq) // rows * rows
        for end in (first, first + rows, first + offset, (first + rows + offset) // cols * cols):
            reached = np.arange(nk)[None, :] < (-(-end // cols) * cols)[:, None]
            yield "gradient_causal", b.of(ds=b.ds * reached, only="q")
