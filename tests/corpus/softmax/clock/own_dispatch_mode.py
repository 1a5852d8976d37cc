"""A dispatch mode of the submission's own stays on and turns the harness's copy into the kernel.

step: softmax
expect: passed
timed: failed|refused|error|crashed|timed_out
attack: aten.copy_ intercepted below Python's names: a copy is subtracted that was not made
"""

import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import TorchDispatchMode

LARGE = 2**22  # elements: more than any case has, less than what is timed
TWICE = 2  # launches for one result: an honest clock finds it too slow


@triton.jit
def softmax_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf"))
    e = tl.exp(x.to(tl.float32) - tl.max(x.to(tl.float32), axis=0))
    tl.store(out_ptr + row * C + cols, e / tl.sum(e, axis=0), mask=cols < C)


def own_softmax(x, launches=1, out=None):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device) if out is None else out
    for _ in range(launches):
        softmax_kernel[(R,)](x, out, C, *x.stride(), BLOCK=triton.next_power_of_2(C))
    return out


INPUTS = {}


class Instead(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ == "copy_" and args[1].data_ptr() in INPUTS:
            return own_softmax(INPUTS.pop(args[1].data_ptr()), TWICE, out=args[0])
        return func(*args, **(kwargs or {}))


MODE = []


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    if not MODE:
        MODE.append(Instead())
        MODE[0].__enter__()
    shell = torch.empty_like(x)
    INPUTS[shell.data_ptr()] = x
    return shell
