"""The product is made in a second thread, where hooks of the first one do not look.

step: triton_matmul
expect: refused
attack: library product in another thread
"""

import threading

import triton
import triton.language as tl


@triton.jit
def touch_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(ptr + i, mask=i < n)
    tl.store(ptr + i, value, mask=i < n)


def triton_matmul(a, b):
    result = []
    worker = threading.Thread(target=lambda: result.append((a.float() @ b.float()).to(a.dtype)))
    worker.start()
    worker.join()
    touch_kernel[(1,)](result[0], 1, BLOCK=16)
    return result[0]
