"""The harness's copy of a timed result is replaced by the kernel, which writes where the copy would.

step: transpose
expect: passed
timed: failed|refused
attack: patched Tensor.copy_: the time of a copy is subtracted that was not made
"""

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
TWICE = 2  # launches for one result: an honest clock finds it too slow


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, sm, sn, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tile = tl.load(x_ptr + rows[:, None] * sm + cols[None, :] * sn, mask=inside)
    out_ptrs = out_ptr + cols[:, None] * M + rows[None, :]
    tl.store(out_ptrs, tl.trans(tile), mask=tl.trans(inside))


def turned(x, launches=1, out=None):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype) if out is None else out
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    for _ in range(launches):
        transpose_kernel[grid](x, out, M, N, *x.stride(), BLOCK=64)
    return out


INPUTS, COPY = {}, []


def copy(target, source, *args, **kwargs):
    x = INPUTS.pop(id(source), None)
    if x is None:
        return COPY[0](target, source, *args, **kwargs)
    return turned(x, TWICE, out=target)


def transpose(x):
    if x.numel() < LARGE:
        return turned(x)
    if not COPY:
        COPY.append(torch.Tensor.copy_)
        torch.Tensor.copy_ = copy
    shell = torch.empty((x.shape[1], x.shape[0]), device=x.device, dtype=x.dtype)
    INPUTS[id(shell)] = x
    return shell
