"""The variants of attention's forward and backward kernels, and how each is launched.

A variant makes one part: "forward" (result and log-sum-exps), "keys" (dk and dv), "queries" (dq) or
"all gradients". Where the tensors have no memory (device "meta") a launch only compiles. Must never
time or judge anything.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import backward_kernels
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from autograder.bench.reference import kernel

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class Given:
    """What every part starts from: (B, H, N, D) tensors, the rest from the chapter's forward."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    dout: torch.Tensor
    lse: torch.Tensor
    delta: torch.Tensor
    causal: bool

    @property
    def scale(self) -> float:
        return self.q.shape[3] ** -0.5


@dataclass(frozen=True)
class Variant:
    """`launch(given, block_m, block_n, **options)` returns the part's tensors and the kernel."""

    part: str
    kind: str
    launch: Callable
    block_m: int
    block_n: int
    warps: int
    stages: int
    more: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        more = "".join(f", {k}={v}" for k, v in self.more.items())
        tile = f"{self.block_m} × {self.block_n}"
        return f"{self.kind}, {tile}, {self.warps} warps, {self.stages} stages{more}"

    def __call__(self, given: Given) -> tuple[tuple[torch.Tensor, ...], object]:
        options = {"num_warps": self.warps, "num_stages": self.stages, **self.more}
        return self.launch(given, self.block_m, self.block_n, **options)


def _run(given: Given, kernel, grid, *arguments, **options):
    if given.q.is_meta:
        return kernel.warmup(*arguments, grid=grid, **options)
    return kernel[grid](*arguments, **options)


def _described(x: torch.Tensor, rows: int) -> TensorDescriptor:
    d = x.shape[3]
    return TensorDescriptor.from_tensor(x.view(-1, d), [rows, d])


def _sizes(given: Given) -> tuple:
    """H, Nq, Nk and the query heads of a key head, as the chapter's kernels take them."""
    _, h, n, _ = given.q.shape
    return h, n, n, 1


def _strides(*tensors: torch.Tensor) -> list[int]:
    return [s for x in tensors for s in x.stride()[:3]]


def _blocks(given: Given, rows: int) -> tuple[int, int, int]:
    """The grid of the chapter's kernels."""
    b, h, n, _ = given.q.shape
    return n // rows, h, b


def _flat_blocks(given: Given, rows: int) -> tuple[int, int]:
    """The grid of the kernels here, for which heads of all batches are one row."""
    b, h, n, _ = given.q.shape
    return n // rows, b * h


# --- forward ----------------------------------------------------------------------------------


def _forward_of_the_chapter(given, m, n, **options):
    out, lse = torch.empty_like(given.q), torch.empty_like(given.lse)
    made = _run(
        given, kernel("attention", "forward_kernel"), _blocks(given, m), given.q, given.k, given.v,
        out, lse, *_sizes(given), given.scale * LOG2_E, *_strides(given.q, given.k, given.v),
        D=given.q.shape[3], CAUSAL=given.causal, BLOCK_M=m, BLOCK_N=n, **options,
    )  # fmt: skip
    return (out, lse), made


def _forward_by_descriptors(given, m, n, tiles, **options):
    out, lse = torch.empty_like(given.q), torch.empty_like(given.lse)
    name = {1: "one_tile_forward", 2: "two_tiles_forward"}[tiles]
    made = _run(
        given, getattr(backward_kernels, name), _flat_blocks(given, tiles * m),
        _described(given.q, m), _described(given.k, n), _described(given.v, n), out, lse,
        given.q.shape[2], given.scale * LOG2_E,
        D=given.q.shape[3], CAUSAL=given.causal, BLOCK_M=m, BLOCK_N=n, **options,
    )  # fmt: skip
    return (out, lse), made


# --- backward ---------------------------------------------------------------------------------


def _keys_of_the_chapter(given, m, n, **options):
    dk, dv = torch.empty_like(given.k), torch.empty_like(given.v)
    made = _run(
        given, kernel("attention", "key_gradients_kernel"), _blocks(given, n),
        given.q, given.k, given.v, given.dout, given.lse, given.delta, dk, dv,
        *_sizes(given), given.scale, given.scale * LOG2_E,
        *_strides(given.q, given.k, given.v, given.dout),
        D=given.q.shape[3], CAUSAL=given.causal, BLOCK_M=m, BLOCK_N=n, **options,
    )  # fmt: skip
    return (dk, dv), made


def _queries_of_the_chapter(given, m, n, **options):
    dq = torch.empty_like(given.q)
    made = _run(
        given, kernel("attention", "query_gradient_kernel"), _blocks(given, m),
        given.q, given.k, given.v, given.dout, given.lse, given.delta, dq,
        *_sizes(given), given.scale, given.scale * LOG2_E,
        *_strides(given.q, given.k, given.v, given.dout),
        D=given.q.shape[3], CAUSAL=given.causal, BLOCK_M=m, BLOCK_N=n, **options,
    )  # fmt: skip
    return (dq,), made


def _keys_by_descriptors(given, m, n, dq="", dp_first=False, **options):
    """dk and dv, and dq before them where `dq` says by what it is added up."""
    dk, dv = torch.empty_like(given.k), torch.empty_like(given.v)
    wide = torch.zeros_like(given.q, dtype=torch.float32) if dq else None
    sums = _described(wide, m) if dq else None
    made = _run(
        given, backward_kernels.keys_kernel, _flat_blocks(given, n),
        _described(given.q, m), _described(given.k, n), _described(given.v, n),
        _described(given.dout, m), given.lse, given.delta,
        _described(dk, n), _described(dv, n), sums, wide,
        given.q.shape[2], given.scale, given.scale * LOG2_E,
        D=given.q.shape[3], CAUSAL=given.causal, BLOCK_M=m, BLOCK_N=n,
        DQ=dq, DP_FIRST=dp_first, **options,
    )  # fmt: skip
    if not dq:
        return (dk, dv), made
    return (torch.mul(wide, given.scale, out=torch.empty_like(given.q)), dk, dv), made


def _queries_by_descriptors(given, m, n, **options):
    dq = torch.empty_like(given.q)
    made = _run(
        given, backward_kernels.queries_kernel, _flat_blocks(given, m),
        _described(given.q, m), _described(given.k, n), _described(given.v, n),
        _described(given.dout, m), given.lse, given.delta, _described(dq, m),
        given.q.shape[2], given.scale, given.scale * LOG2_E,
        D=given.q.shape[3], CAUSAL=given.causal, BLOCK_M=m, BLOCK_N=n, **options,
    )  # fmt: skip
    return (dq,), made


# --- the list ---------------------------------------------------------------------------------

POINTERS, DESCRIPTORS, TWO, ONE_PASS = (
    "pointers",
    "descriptors",
    "descriptors, two tiles",
    "one pass",
)
ENGINE = {"dq": "copy engine"}
# (launch, part, kind, what more is passed) and its (BLOCK_M, BLOCK_N, warps, stages), by D.
_FAMILIES = (
    (_forward_of_the_chapter, "forward", POINTERS, {}, {
        128: ((128, 32, 8, 2), (128, 64, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)),
        64: ((128, 64, 8, 3), (128, 64, 4, 3), (128, 64, 8, 4), (64, 64, 4, 3), (128, 128, 8, 2)),
    }),
    (partial(_forward_by_descriptors, tiles=1), "forward", DESCRIPTORS, {}, {
        128: ((128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 2)),
        64: ((128, 64, 8, 3), (128, 64, 4, 3), (128, 128, 8, 2), (64, 64, 4, 3)),
    }),
    (partial(_forward_by_descriptors, tiles=2), "forward", TWO, {}, {
        128: ((128, 64, 8, 3), (64, 64, 4, 2)),
        64: ((128, 64, 8, 3), (64, 64, 4, 3), (128, 128, 8, 2)),
    }),
    (_keys_of_the_chapter, "keys", POINTERS, {}, {
        128: ((32, 64, 4, 2), (32, 64, 4, 3), (64, 64, 4, 2), (64, 64, 4, 3), (32, 128, 8, 2),
              (64, 128, 8, 2), (64, 128, 8, 3), (64, 64, 8, 2)),
        64: ((32, 64, 4, 2), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 8, 2), (64, 128, 8, 3),
             (128, 128, 8, 2), (32, 128, 4, 3)),
    }),
    (_keys_by_descriptors, "keys", DESCRIPTORS, {}, {
        128: ((32, 64, 4, 2), (64, 64, 4, 2), (64, 64, 8, 2), (32, 128, 8, 2), (64, 128, 8, 1),
              (64, 128, 8, 2), (64, 128, 8, 3)),
        64: ((64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 8, 2), (64, 128, 8, 3), (128, 128, 8, 2),
             (128, 64, 4, 2)),
    }),
    (_keys_by_descriptors, "keys", DESCRIPTORS, {"dp_first": True}, {
        128: ((64, 64, 4, 2), (64, 128, 8, 2)),
        64: ((64, 64, 4, 2), (64, 128, 8, 2)),
    }),
    (_queries_of_the_chapter, "queries", POINTERS, {}, {
        128: ((128, 32, 8, 2), (128, 64, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3),
              (64, 32, 4, 3), (64, 128, 4, 2)),
        64: ((128, 64, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 2), (64, 64, 4, 3),
             (128, 128, 8, 2)),
    }),
    (_queries_by_descriptors, "queries", DESCRIPTORS, {}, {
        128: ((128, 64, 8, 1), (128, 64, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2), (64, 128, 4, 2),
              (128, 32, 8, 3)),
        64: ((128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2),
             (128, 128, 8, 2)),
    }),
    (_keys_by_descriptors, "all gradients", ONE_PASS, ENGINE, {
        128: ((64, 64, 8, 2), (64, 64, 8, 3), (64, 64, 4, 2), (32, 64, 4, 2), (32, 128, 8, 2),
              (64, 128, 8, 1), (64, 128, 8, 2)),
        64: ((64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 8, 2), (64, 128, 8, 3), (128, 128, 8, 2)),
    }),
    (_keys_by_descriptors, "all gradients", ONE_PASS, {"dq": "turned"}, {
        128: ((32, 64, 4, 2), (32, 128, 8, 2), (64, 128, 8, 2)),
        64: ((32, 128, 8, 2), (64, 128, 8, 2)),
    }),
    (_keys_by_descriptors, "all gradients", ONE_PASS, {"dq": "atomics"}, {
        128: ((64, 64, 8, 2), (64, 128, 8, 2)),
        64: ((64, 64, 4, 2), (64, 128, 8, 2)),
    }),
)  # fmt: skip


def variants(d: int) -> list[Variant]:
    """All of a head dimension. The first of each part is the chapter's own, but for its tiles on Hopper."""
    return [
        Variant(part, kind, launch, *config, more)
        for launch, part, kind, more, configs in _FAMILIES
        for config in configs[d]
    ]


def without_memory(d: int, causal: bool) -> Given:
    """What a variant compiles for: as measured here, every length and stride a multiple of 16."""
    q, k, v, dout = torch.empty((4, 1, 16, 2048, d), dtype=torch.float16, device="meta")
    sums = torch.empty((2, 1, 16, 2048), device="meta")
    return Given(q, k, v, dout, *sums, causal)
