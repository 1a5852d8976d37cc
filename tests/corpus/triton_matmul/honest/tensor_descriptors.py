"""Device descriptors need aligned rows, so the inputs are first copied into padded tensors.

step: triton_matmul
expect: passed
"""

import torch
import triton
import triton.language as tl


def aligned(t):
    """A copy with rows of a multiple of 16 elements; the extra columns lie outside the view."""
    rows, columns = t.shape
    padded = t.new_zeros((rows, triton.cdiv(columns, 16) * 16))
    padded[:, :columns] = t
    return padded[:, :columns]


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_a,
    stride_b,
    stride_c,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), acc)
    c_desc.store([row, col], acc.to(c_ptr.dtype.element_ty))


def scratch(size, alignment, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


def triton_matmul(a, b):
    triton.set_allocator(scratch)
    (M, K), N = a.shape, b.shape[1]
    a, b = aligned(a), aligned(b)
    c = aligned(torch.zeros((M, N), device=a.device, dtype=a.dtype))
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=32, BLOCK_N=32, BLOCK_K=32
    )
    return c.contiguous()
