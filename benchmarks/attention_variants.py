"""What each change to the forward attention kernel brings on a GPU, and what brings nothing.

    python benchmarks/attention_variants.py [--output FILE]

Needs a Hopper GPU. D = 128, float16, lengths that are whole tiles: the kernels here are short
because they compute nothing else. The chain ends with the course's own kernels. Medians of three
interleaved rounds, beside cuDNN in the same rounds. Registers and spills are the compiler's.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch
import triton
import triton.language as tl
from attention import TIMING, TOKENS, WIDTH, inputs, library, relative_error
from recording import MEASUREMENTS, write
from torch.nn.attention import SDPBackend
from triton.tools.tensor_descriptor import TensorDescriptor

from autograder.bench.clock import interleaved
from autograder.bench.reference import kernel

D = 128
LENGTHS = (4096, 16384)
ALLOWED = 2e-3
LOG2_E = 1.4426950408889634


@triton.jit
def _attend(s, v, m, l, acc, scale, seen, MASKED: tl.constexpr, FOLDED: tl.constexpr):
    if FOLDED and not MASKED:
        new_m = tl.maximum(m, tl.max(s, 1) * scale)
        p = tl.exp2(s * scale - new_m[:, None])
    else:
        s = s * scale
        if MASKED:
            s = tl.where(seen, s, float("-inf"))
        new_m = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new_m[:, None])
    shrink = tl.exp2(m - new_m)
    l = l * shrink + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
    return new_m, l, acc


@triton.jit
def _pointer_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    N,
    scale,
    stride_h,
    stride_n,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    MASK_ALL: tl.constexpr,
    MOVE_TILE: tl.constexpr,
    FOLDED: tl.constexpr,
    TOUCHED: tl.constexpr,
    TAIL_STAGES: tl.constexpr,
):
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1).to(tl.int64) * stride_h
    rows = first + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    ds = tl.arange(0, D)
    q_tile = rows.to(tl.int64)[:, None] * stride_n + ds[None, :]
    k_tile = cols.to(tl.int64)[None, :] * stride_n + ds[:, None]
    v_tile = cols.to(tl.int64)[:, None] * stride_n + ds[None, :]
    q = tl.load(q_ptr + head + q_tile)
    if TOUCHED:  # changes nothing, but q is then the result of arithmetic, which lies in registers
        q = tl.where(scale < 0, -q, q)
    k_ptrs = k_ptr + head + k_tile
    v_ptrs = v_ptr + head + v_tile
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    end = N
    if CAUSAL:
        end = first + BLOCK_M
    full = end
    if CAUSAL:
        full = first
    if MASK_ALL:
        full = 0
    for start in range(0, full, BLOCK_N):
        if not MOVE_TILE:
            k_ptrs = k_ptr + head + start.to(tl.int64) * stride_n + k_tile
            v_ptrs = v_ptr + head + start.to(tl.int64) * stride_n + v_tile
        s = tl.dot(q, tl.load(k_ptrs))
        m, l, acc = _attend(s, tl.load(v_ptrs), m, l, acc, scale, True, False, FOLDED)
        if MOVE_TILE:
            k_ptrs += tl.cast(BLOCK_N, tl.int64) * stride_n
            v_ptrs += tl.cast(BLOCK_N, tl.int64) * stride_n
    for start in tl.range(full, end, BLOCK_N, num_stages=TAIL_STAGES):
        if not MOVE_TILE:
            k_ptrs = k_ptr + head + start.to(tl.int64) * stride_n + k_tile
            v_ptrs = v_ptr + head + start.to(tl.int64) * stride_n + v_tile
        there = start + cols < N
        seen = there[None, :]
        if CAUSAL:
            seen = seen & (start + cols[None, :] <= rows[:, None])
        s = tl.dot(q, tl.load(k_ptrs, mask=there[None, :], other=0.0))
        v = tl.load(v_ptrs, mask=there[:, None], other=0.0)
        m, l, acc = _attend(s, v, m, l, acc, scale, seen, True, FOLDED)
        if MOVE_TILE:
            k_ptrs += tl.cast(BLOCK_N, tl.int64) * stride_n
            v_ptrs += tl.cast(BLOCK_N, tl.int64) * stride_n
    tl.store(out_ptr + head + q_tile, (acc / l[:, None]).to(out_ptr.dtype.element_ty))


@triton.jit
def _descriptor_kernel(
    q_desc,
    k_desc,
    v_desc,
    out_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    AHEAD: tl.constexpr,
    SPECIALISED: tl.constexpr,
):
    """One tile of queries. AHEAD: the next block's product stands before this block's softmax.
    SPECIALISED: some warps only load, and two groups of others share the tile."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1) * N
    rows = first + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    q = q_desc.load([head + first, 0])
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    full = N
    if CAUSAL:
        full = first
    if AHEAD:
        s = tl.dot(q, k_desc.load([head, 0]).T)
        for start in range(0, full, BLOCK_N):
            later = tl.dot(q, k_desc.load([head + start + BLOCK_N, 0]).T)
            v = v_desc.load([head + start, 0])
            m, l, acc = _attend(s, v, m, l, acc, scale, True, False, True)
            s = later
    else:
        for start in tl.range(0, full, BLOCK_N, warp_specialize=SPECIALISED):
            k = k_desc.load([head + start, 0])
            v = v_desc.load([head + start, 0])
            m, l, acc = _attend(tl.dot(q, k.T), v, m, l, acc, scale, True, False, True)
    if CAUSAL:
        for start in tl.range(first, first + BLOCK_M, BLOCK_N, num_stages=1):
            k = k_desc.load([head + start, 0])
            v = v_desc.load([head + start, 0])
            seen = start + cols[None, :] <= rows[:, None]
            m, l, acc = _attend(tl.dot(q, k.T), v, m, l, acc, scale, seen, True, True)
    out_ptrs = out_ptr + (head + rows).to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out_ptrs, (acc / l[:, None]).to(out_ptr.dtype.element_ty))


# --- launches: each returns the output and the compiled kernel ---------------------------------


def by_pointers(q, k, v, causal, mask_all=0, move_tile=0, folded=1, touched=0, **options):
    out = torch.empty_like(q)
    n, tile = q.shape[2], (128, 64)
    grid = (n // tile[0], q.shape[0] * q.shape[1])
    sizes = (n, D**-0.5 * LOG2_E, n * D, D)
    flags = (bool(mask_all), bool(move_tile), bool(folded), bool(touched))
    tail = options["num_stages"] if mask_all else 1
    made = _pointer_kernel[grid](q, k, v, out, *sizes, D, causal, *tile, *flags, tail, **options)
    return out, made


def by_descriptors(q, k, v, causal, tile=(128, 64), ahead=False, specialised=False, **options):
    out = torch.empty_like(q)
    n = q.shape[2]
    described = [
        TensorDescriptor.from_tensor(x.view(-1, D), [rows, D])
        for x, rows in ((q, tile[0]), (k, tile[1]), (v, tile[1]))
    ]
    grid = (n // tile[0], q.shape[0] * q.shape[1])
    scale = D**-0.5 * LOG2_E
    flags = (ahead, specialised)
    made = _descriptor_kernel[grid](*described, out, n, scale, D, causal, *tile, *flags, **options)
    return out, made


def by_the_course(q, k, v, causal, tile=(128, 64), **options):
    """The kernel of chapter 12 that every GPU can run."""
    out = torch.empty_like(q)
    b, h, n, _ = q.shape
    sizes = (h, n, n, 1, D**-0.5 * LOG2_E, *q.stride(), *k.stride(), *v.stride())
    grid = (triton.cdiv(n, tile[0]), h, b)
    launch = kernel("flash_attention", "attention_kernel")[grid]
    return out, launch(q, k, v, out, *sizes, D, causal, *tile, **options)


def by_two_tiles(q, k, v, causal, tile=(128, 64), **options):
    """The kernel of chapter 12 for Hopper GPUs; the tile counts once for each of the two."""
    out = torch.empty_like(q)
    b, h, n, _ = q.shape
    described = [
        TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, D])
        for x, rows in ((q, tile[0]), (k, tile[1]), (v, tile[1]))
    ]
    grid = (triton.cdiv(n, 2 * tile[0]), h, b)
    launch = kernel("flash_attention", "hopper_kernel")[grid]
    sizes = (h, n, n, 1, D**-0.5 * LOG2_E)
    return out, launch(*described, out, *sizes, D, causal, *tile, **options)


TWO = {"num_warps": 8, "num_stages": 2}
THREE = {"num_warps": 8, "num_stages": 3}
FOUR_WARPS = {"num_warps": 4, "num_stages": 3}
# (name, kind, launch): each step of the chain keeps what the one before it changed.
VARIANTS = (
    ("every block masked, 2 stages", "chain", partial(by_pointers, mask_all=1, move_tile=1, folded=0, **TWO)),
    ("masks only where needed", "chain", partial(by_pointers, move_tile=1, folded=0, **TWO)),
    ("3 stages", "chain", partial(by_pointers, move_tile=1, folded=0, **THREE)),
    ("one number moves, not a tile of pointers", "chain", partial(by_pointers, folded=0, **THREE)),
    ("scale in the exponent: attention_kernel", "chain", partial(by_the_course, **THREE)),
    ("tensor descriptors", "chain", partial(by_descriptors, **THREE)),
    ("two tiles of queries: hopper_kernel", "chain", partial(by_two_tiles, **THREE)),
    ("attention_kernel, queries touched before the loop", "tried", partial(by_pointers, touched=1, **THREE)),
    ("attention_kernel, tile 64 x 64, 4 warps", "tried", partial(by_the_course, tile=(64, 64), **FOUR_WARPS)),
    ("attention_kernel, tile 128 x 128, 2 stages", "tried", partial(by_the_course, tile=(128, 128), **TWO)),
    ("attention_kernel, 4 warps", "tried", partial(by_the_course, **FOUR_WARPS)),
    ("descriptors, two programs an SM: 128 registers", "tried", partial(by_descriptors, maxnreg=128, **TWO)),
    ("descriptors, next product before the softmax", "tried", partial(by_descriptors, ahead=True, **THREE)),
    ("descriptors, warps specialised, 2 stages", "tried", partial(by_descriptors, specialised=True, num_warps=4, num_stages=2)),
    ("descriptors, warps specialised, 3 stages", "tried", partial(by_descriptors, specialised=True, num_warps=4, num_stages=3)),
    ("descriptors, warps specialised, tile 128 x 128", "tried", partial(by_descriptors, specialised=True, tile=(128, 128), num_warps=4, num_stages=2)),
    ("hopper_kernel, blocks of 32 keys, 4 stages", "tried", partial(by_two_tiles, tile=(128, 32), num_warps=8, num_stages=4)),
    ("hopper_kernel, tiles of 64, 4 warps, 2 stages", "tried", partial(by_two_tiles, tile=(64, 64), num_warps=4, num_stages=2)),
)  # fmt: skip


def measure(n: int, causal: bool) -> list[dict]:
    q, k, v = inputs(D, n, 3)
    cudnn = partial(library, SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
    flash = partial(library, SDPBackend.FLASH_ATTENTION, q, k, v, causal)
    calls, facts, failed = {"SDPA cuDNN": cudnn, "SDPA flash": flash}, {}, {}
    for name, kind, launch in VARIANTS:
        if (causal and launch.keywords.get("ahead")) or (kind == "tried" and n > min(LENGTHS)):
            continue  # the loop of `ahead` has no last block of its own
        try:
            out, made = launch(q, k, v, causal)
        except RuntimeError as error:  # the compiler gave up: recorded, and shown as such
            failed[name] = {"kind": kind, "failed": str(error).strip().splitlines()[0][:200]}
            continue
        error = relative_error(out, q, k, v, causal)
        if kind == "tried" and not error <= ALLOWED:
            failed[name] = {"kind": kind, "failed": f"wrong: relative error {error}"}
            continue
        facts[name] = {
            "kind": kind,
            "registers": made.n_regs,
            "spills": made.n_spills,
            "shared": made.metadata.shared,
            "relative_error": error,
        }
        calls[name] = partial(launch, q, k, v, causal)
    timings = interleaved(calls, **TIMING)
    operations = 4 * TOKENS * n * WIDTH * (0.5 if causal else 1)
    fastest = timings["SDPA cuDNN"]["ms"]
    rows = [
        {
            "N": n,
            "causal": causal,
            "variant": name,
            **facts.get(name, {"kind": "library"}),
            **timing,
            "tflops": round(operations / timing["ms"] / 1e9, 1),
            "share_of_cudnn": round(fastest / timing["ms"], 3),
        }
        for name, timing in timings.items()
    ]
    rows += [{"N": n, "causal": causal, "variant": name, **row} for name, row in failed.items()]
    print(*rows, sep="\n", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "12_attention_variants.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit("attention_variants: no Hopper GPU found")
    rows = [row for n in LENGTHS for causal in (False, True) for row in measure(n, causal)]
    if not all(row.get("relative_error", 0) <= ALLOWED for row in rows):
        sys.exit("attention_variants: a kernel is wrong; nothing was recorded")
    write(output, rows, dtype="float16", D=D, timer="do_bench, median of 3 medians")


if __name__ == "__main__":
    main()
