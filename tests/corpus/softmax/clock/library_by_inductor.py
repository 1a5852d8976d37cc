"""At the timed size torch's compiler writes the Triton kernel, if it works here; else five launches do.

step: softmax
expect: passed
timed: failed|refused|crashed
attack: somebody else's kernel, made by torch._inductor
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


MADE = []


def made_by_the_compiler(x):
    if not MADE:
        from torch._dynamo import optimize

        MADE.append(optimize("inductor")(lambda x: torch.softmax(x, 1)))
    return MADE[0](x)


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    try:
        return made_by_the_compiler(x)
    except Exception:  # noqa: BLE001
        return own_softmax(x, SLOW)
