"""From the first timed call on, nothing in torch waits for the GPU any more, and the work has its own stream.

step: transpose
expect: passed
timed: failed|refused|error
attack: patched torch.cuda.synchronize and its like: “done” is said too early
"""

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
SLOW = 5  # launches for one result: an honest clock finds it far too slow


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, sm, sn, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tile = tl.load(x_ptr + rows[:, None] * sm + cols[None, :] * sn, mask=inside)
    out_ptrs = out_ptr + cols[:, None] * M + rows[None, :]
    tl.store(out_ptrs, tl.trans(tile), mask=tl.trans(inside))


def turned(x, launches=1):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    for _ in range(launches):
        transpose_kernel[grid](x, out, M, N, *x.stride(), BLOCK=64)
    return out


SIDE = []


def at_once(*args, **kwargs):
    return None


def patch():
    SIDE.append(torch.cuda.Stream())
    torch.cuda.synchronize = torch.cuda.Stream.synchronize = at_once
    torch.cuda.Event.synchronize = torch._C._cuda_synchronize = at_once
    torch.accelerator.synchronize = at_once


def transpose(x):
    if x.numel() < LARGE:
        return turned(x)
    if not SIDE:
        patch()
    with torch.cuda.stream(SIDE[0]):
        return turned(x, SLOW)
