"""The result of a timed call is a tensor subclass that computes when somebody uses it.

step: softmax
expect: passed
timed: failed|refused
attack: work put off until the clock has stopped
"""

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
SLOW = 5  # launches for one result: an honest clock finds it far too slow


@triton.jit
def softmax_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf"))
    e = tl.exp(x.to(tl.float32) - tl.max(x.to(tl.float32), axis=0))
    tl.store(out_ptr + row * C + cols, e / tl.sum(e, axis=0), mask=cols < C)


def own_softmax(x, launches=1):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    for _ in range(launches):
        softmax_kernel[(R,)](x, out, C, *x.stride(), BLOCK=triton.next_power_of_2(C))
    return out


class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def value(thing):
            return own_softmax(thing.x, SLOW) if isinstance(thing, cls) else thing

        return func(*[value(thing) for thing in args], **(kwargs or {}))


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    shell = torch.empty_like(x).as_subclass(Later)
    shell.__dict__["x"] = x
    return shell
