"""Attention in float64, as the contract of chapters 12 and 13 states it.

Grader's process only. Must stay a plain transcription of the definition: it is what right means.
"""

from dataclasses import dataclass, replace

import numpy as np

from autograder.steps.case import Operand


@dataclass(frozen=True)
class Problem:
    """One call in float64, with the heads of k and v repeated for the queries that share them.

    q (B, H, Nq, D), k and v (B, H, Nk, D); seen (Nq, Nk): which keys a query attends to.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    seen: np.ndarray
    scale: float

    @classmethod
    def of(cls, operands: tuple[Operand, ...], causal: bool, scale: float | None) -> "Problem":
        """The problem that three operands q, k, v and two options pose."""
        q, k, v = (o.values.astype(np.float64) for o in operands)
        heads = q.shape[1]
        nq, nk, d = q.shape[2], k.shape[2], q.shape[3]
        seen = causal_mask(nq, nk) if causal else np.ones((nq, nk), bool)
        # NumPy's number: wrong answers divide by a scale, which may be 0.
        scale = np.float64(d**-0.5 if scale is None else scale)
        return cls(q, repeat(k, heads), repeat(v, heads), seen, scale)

    def scores(self) -> np.ndarray:
        """scale·q·kᵀ, (B, H, Nq, Nk), nothing masked."""
        return self.scale * (self.q @ self.k.swapaxes(2, 3))

    def masked(self) -> np.ndarray:
        """The scores, with minus infinity where a query does not see a key."""
        return np.where(self.seen, self.scores(), -np.inf)

    def weights(self) -> np.ndarray:
        """Softmax of the masked scores along the keys; zeros where there is no key to see."""
        return softmax(self.masked())

    def but(self, **changes) -> "Problem":
        """The same problem with something changed."""
        return replace(self, **changes)


def attend(problem: Problem) -> np.ndarray:
    """The answer, (B, H, Nq, D)."""
    return problem.weights() @ problem.v


def differentiate(problem: Problem, dout: np.ndarray, groups: int) -> dict[str, np.ndarray]:
    """Gradients of q, k and v, each in its shape, where dout (B, H, Nq, D) is that of the answer.

    With p the weights, dp = dout·vᵀ and ds = p·(dp - Σ p·dp): dv = pᵀ·dout, dq = scale·ds·k,
    dk = scale·dsᵀ·q; `groups` heads of k and v gather what comes from the queries that share them.
    """
    p = problem.weights()
    dp = dout @ problem.v.swapaxes(2, 3)
    ds = p * (dp - (p * dp).sum(axis=3, keepdims=True))
    return {
        "q": problem.scale * ds @ problem.k,
        "k": gather(problem.scale * ds.swapaxes(2, 3) @ problem.q, groups),
        "v": gather(p.swapaxes(2, 3) @ dout, groups),
    }


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the last axis; rows of minus infinity, and rows of no length, give zeros."""
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1.0, total)


def causal_mask(nq: int, nk: int, offset: int | None = None) -> np.ndarray:
    """Query i sees keys up to i + offset. By default the last query sees every key."""
    offset = nk - nq if offset is None else offset
    return np.arange(nk)[None, :] <= np.arange(nq)[:, None] + offset


def gather(x: np.ndarray, groups: int) -> np.ndarray:
    """The transpose of `repeat`: heads that share one of `groups` heads are summed."""
    b, heads, *rest = x.shape
    return x.reshape(b, groups, heads // groups, *rest).sum(axis=2)


def repeat(x: np.ndarray, heads: int) -> np.ndarray:
    """Head h of the result is head h // (heads // Hkv) of x (B, Hkv, N, D)."""
    return np.repeat(x, heads // x.shape[1], axis=1)
