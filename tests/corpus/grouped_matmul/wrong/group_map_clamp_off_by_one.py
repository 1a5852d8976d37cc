"""The rows left for the last group are counted one too few.

step: grouped_matmul
expect: failed
cause: group_map_wrong
"""

import triton
import triton.language as tl


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    width = GROUP * tiles_n
    first = pid // width * GROUP
    height = tl.minimum(tiles_m - first - 1, GROUP)
    place = pid % width
    return first + place % height, place // height


@triton.jit
def product_kernel(
    A,
    B,
    C,
    M,
    N,
    K,
    a0,
    a1,
    b0,
    b1,
    TM: tl.constexpr,
    TN: tl.constexpr,
    TK: tl.constexpr,
    GROUP: tl.constexpr,
):
    tile_m, tile_n = tile_of(tl.program_id(0), tl.cdiv(M, TM), tl.cdiv(N, TN), GROUP)
    m = tile_m * TM + tl.arange(0, TM).to(tl.int64)[:, None]
    n = tile_n * TN + tl.arange(0, TN).to(tl.int64)[None, :]
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for start in range(0, K, TK):
        k = start + tl.arange(0, TK).to(tl.int64)
        a = tl.load(A + m * a0 + k[None, :] * a1, mask=(m < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * b0 + n * b1, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(C + m * N + n, total.to(C.dtype.element_ty), mask=(m < M) & (n < N))


def grouped_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = a.new_empty((M, N))
    programs = triton.cdiv(M, 32) * triton.cdiv(N, 128)
    product_kernel[(programs,)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), TM=32, TN=128, TK=64, GROUP=3
    )
    return c
