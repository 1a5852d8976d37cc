"""Results of the library are kept by address and shape and handed out again.

step: triton_matmul
expect: refused
attack: cache keyed by data_ptr, filled by the library
"""

import triton
import triton.language as tl


@triton.jit
def touch_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(ptr + i, mask=i < n)
    tl.store(ptr + i, value, mask=i < n)


CACHE = {}


def triton_matmul(a, b):
    key = (a.data_ptr(), b.data_ptr(), a.shape, b.shape)
    if key not in CACHE:
        CACHE[key] = (a.float() @ b.float()).to(a.dtype)
    result = CACHE[key].clone()
    touch_kernel[(1,)](result, 1, BLOCK=16)
    return result
