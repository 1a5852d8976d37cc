"""The store checks the columns only, so tiles at the bottom write below the result.

step: triton_matmul
expect: failed
cause: store_mask_missing
"""

import triton
import triton.language as tl

BLOCK = 16


@triton.jit
def product(x, y, out, m, n, k, xs0, xs1, ys0, ys1, os0, os1, BLOCK: tl.constexpr):
    j0 = tl.program_id(0) * BLOCK
    i0 = tl.program_id(1) * BLOCK
    lane = tl.arange(0, BLOCK)
    i = (i0 + lane).to(tl.int64)[:, None]
    j = (j0 + lane).to(tl.int64)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, BLOCK):
        p = (start + lane).to(tl.int64)
        x_cols = p[None, :]
        y_rows = p[:, None]
        x_tile = tl.load(x + i * xs0 + x_cols * xs1, mask=(i < m) & (x_cols < k), other=0.0)
        y_tile = tl.load(y + y_rows * ys0 + j * ys1, mask=(y_rows < k) & (j < n), other=0.0)
        acc = tl.dot(x_tile, y_tile, acc)
    tl.store(out + i * os0 + j * os1, acc, mask=j < n)


def triton_matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    out = a.new_empty((m, n))
    product[(triton.cdiv(n, BLOCK), triton.cdiv(m, BLOCK))](
        a,
        b,
        out,
        m,
        n,
        k,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        out.stride(0),
        out.stride(1),
        BLOCK=BLOCK,
    )
    return out
