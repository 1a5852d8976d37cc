"""Small kernels that the claims are about. Written for the tests; some are wrong on purpose.

Must hold nothing but kernels: compiling.py and the tests import it, each in their own mode.
"""

import triton
import triton.language as tl


@triton.jit
def loop_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    """A @ b for contiguous matrices: masks on every side, strides taken from the shapes."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        ks = k + tl.arange(0, BLOCK)
        in_a = (rows < M)[:, None] & (ks < K)[None, :]
        in_b = (ks < K)[:, None] & (cols < N)[None, :]
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=in_a, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=in_b, other=0.0)
        acc = tl.dot(a, b, acc)
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=in_c)


@triton.jit
def misspelt_kernel(a_ptr, out_ptr, K, BLOCK: tl.constexpr):
    """A sum of tiles; its loop is told `num_stage`, which is no argument of `range`."""
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(0, K, BLOCK, num_stage=4):
        acc += tl.load(a_ptr + k + i)
    tl.store(out_ptr + i, acc)


@triton.jit
def well_spelt_kernel(a_ptr, out_ptr, K, BLOCK: tl.constexpr):
    """The same without it."""
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        acc += tl.load(a_ptr + k + i)
    tl.store(out_ptr + i, acc)


@triton.jit
def one_dot_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    """One product of tiles, whatever K is."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ks = tl.arange(0, BLOCK)
    in_a = (rows < M)[:, None] & (ks < K)[None, :]
    in_b = (ks < K)[:, None] & (cols < N)[None, :]
    a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=in_a, other=0.0)
    b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=in_b, other=0.0)
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], tl.dot(a, b), mask=in_c)


@triton.jit
def bare_dot_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One `tl.dot` of given sides."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A masked copy."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def tile_copy_kernel(x_ptr, out_ptr, M, N, stride, BLOCK: tl.constexpr):
    """Copies tiles through descriptors."""
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [stride, 1], [BLOCK, BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [stride, 1], [BLOCK, BLOCK])
    corner = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    out.store(corner, x.load(corner))


@triton.jit
def addresses_kernel(out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Writes to each place of a (ROWS, COLS) matrix its own offset."""
    offsets = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + offsets, offsets)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The sum of a row, with zeros in the masked lanes."""
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def row_max_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The maximum of a row, with zeros in the masked lanes."""
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.max(tl.load(x_ptr + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def bare_softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A softmax of rows that does not say what masked lanes hold."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + tl.program_id(0) * n + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def count_kernel(counter_ptr):
    """Every program adds one to the same counter, without an atomic."""
    tl.store(counter_ptr, tl.load(counter_ptr) + 1)


@triton.jit
def lanes_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Stores every lane of a masked load, the masked ones too."""
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n))


@triton.jit
def printing_kernel(x_ptr):
    """Prints one value."""
    print("value", tl.load(x_ptr))


@triton.jit
def breaking_kernel(x_ptr, n):
    """Leaves its loop with `break`."""
    for i in range(n):
        if i == 2:
            break
        tl.store(x_ptr + i, i)


@triton.jit
def listing_kernel(x_ptr):
    """Makes a list by a comprehension."""
    parts = [i * 2 for i in range(3)]
    tl.store(x_ptr, parts[1])


@triton.jit
def retyped_kernel(x_ptr, n):
    """A variable that is an integer at first and a float in the loop."""
    total = 0
    for i in range(n):
        total += tl.load(x_ptr + i)
    tl.store(x_ptr, total)


@triton.jit
def mixed_dot_kernel(a_ptr, c_ptr, BLOCK: tl.constexpr):
    """A dot of a float32 tile and a float16 tile."""
    i = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i[:, None] * BLOCK + i[None, :])
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], tl.dot(a.to(tl.float32), a.to(tl.float16)))


@triton.jit
def narrow_attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, seq_len, head_dim,
                            BLOCK_Q: tl.constexpr, BLOCK_KV: tl.constexpr):  # fmt: skip
    """Attention whose head dimension is a run-time number: shapes must be known earlier."""
    acc = tl.zeros((BLOCK_Q, head_dim), dtype=tl.float32)
    tl.store(o_ptr + tl.arange(0, BLOCK_Q)[:, None], acc)


@triton.jit
def repaired_attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, seq_len, SCALE: tl.constexpr,
                              D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_KV: tl.constexpr):  # fmt: skip
    """Attention of one head that compiles, masks its loads of K and V, and nothing else."""
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    m = tl.full((BLOCK_Q,), -1e9, tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, D), tl.float32)
    for start in range(0, seq_len, BLOCK_KV):
        keys = start + tl.arange(0, BLOCK_KV)
        mask = (keys < seq_len)[:, None]
        k = tl.load(k_ptr + keys[:, None] * D + d[None, :], mask=mask, other=0.0)
        v = tl.load(v_ptr + keys[:, None] * D + d[None, :], mask=mask, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * SCALE
        m_new = tl.maximum(m, tl.max(scores, axis=1))
        p = tl.exp(scores - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc / l[:, None])


@triton.jit
def ones_kernel(x_ptr, n, BLOCK: tl.constexpr):
    """Writes ones."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, 1.0, mask=i < n)
