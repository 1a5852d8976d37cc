"""Kernels of attention's forward and backward that chapter 13 does not have, to be compared with it.

Float16, as many queries as keys, and whole tiles: they are short because they compute nothing else. Tiles are
fetched by tensor descriptors, (heads · N, D) each, made by Hopper's copy engine. Must never be graded
or used where a length may be ragged.
"""

import triton
import triton.language as tl

from autograder.bench.reference import kernel

add_keys = kernel("attention", "add_keys")
attend_block = kernel("flash_attention", "attend_block")
store_tile = kernel("flash_attention", "store_tile")


@triton.jit
def _masked_keys(q, k_desc, v_desc, head, first, full, scale, D: tl.constexpr, CAUSAL: tl.constexpr,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """m, l and acc of the queries from `first` on, over the blocks at the diagonal, from `full` on."""
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    if CAUSAL:
        visible = first + 1 + tl.arange(0, BLOCK_M)
        for start in tl.range(full, first + BLOCK_M, BLOCK_N, num_stages=2):
            k = k_desc.load([head + start, 0])
            v = v_desc.load([head + start, 0])
            keys = start + tl.arange(0, BLOCK_N)
            m, l, acc = attend_block(
                tl.dot(q, k.T), v, m, l, acc, keys, visible, scale, MASKED=True
            )
    return m, l, acc


@triton.jit
def two_tiles_forward(q_desc, k_desc, v_desc, out_ptr, lse_ptr, N, scale, D: tl.constexpr,
                      CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """The kernel of chapter 12 for Hopper GPUs, two tiles of queries a program, and the log-sum-exps."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * (2 * BLOCK_M)
    head = tl.program_id(1) * N
    full = N
    if CAUSAL:
        full = first
    q0 = q_desc.load([head + first, 0])
    q1 = q_desc.load([head + first + BLOCK_M, 0])
    m0, l0, acc0 = _masked_keys(
        q0, k_desc, v_desc, head, first, full, scale, D, CAUSAL, BLOCK_M, BLOCK_N
    )
    m1, l1, acc1 = _masked_keys(
        q1, k_desc, v_desc, head, first + BLOCK_M, full, scale, D, CAUSAL, BLOCK_M, BLOCK_N
    )
    for start in range(0, full, BLOCK_N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s0 = tl.dot(q0, k.T)
        s1 = tl.dot(q1, k.T)
        m0, l0, acc0 = attend_block(s0, v, m0, l0, acc0, 0, 0, scale, MASKED=False)
        m1, l1, acc1 = attend_block(s1, v, m1, l1, acc1, 0, 0, scale, MASKED=False)
    out_ptr += head.to(tl.int64) * D
    queries = first + tl.arange(0, BLOCK_M)
    store_tile(out_ptr, queries, l0, acc0, N, D)
    store_tile(out_ptr, queries + BLOCK_M, l1, acc1, N, D)
    tl.store(lse_ptr + head + queries, m0 + tl.log2(l0))
    tl.store(lse_ptr + head + queries + BLOCK_M, m1 + tl.log2(l1))


@triton.jit
def one_tile_forward(q_desc, k_desc, v_desc, out_ptr, lse_ptr, N, scale, D: tl.constexpr,
                     CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """The same with one tile of queries a program."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1) * N
    full = N
    if CAUSAL:
        full = first // BLOCK_N * BLOCK_N
    q = q_desc.load([head + first, 0])
    m, l, acc = _masked_keys(
        q, k_desc, v_desc, head, first, full, scale, D, CAUSAL, BLOCK_M, BLOCK_N
    )
    for start in range(0, full, BLOCK_N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        m, l, acc = attend_block(tl.dot(q, k.T), v, m, l, acc, 0, 0, scale, MASKED=False)
    queries = first + tl.arange(0, BLOCK_M)
    store_tile(out_ptr + head.to(tl.int64) * D, queries, l, acc, N, D)
    tl.store(lse_ptr + head + queries, m + tl.log2(l))


@triton.jit
def _add_queries(q, do, lse, delta, k, v, dk, dv, seen, scale, MASKED: tl.constexpr, DP_FIRST: tl.constexpr):  # fmt: skip
    """add_queries of chapter 13, which also returns ds. DP_FIRST: dp stands before the weights, so
    that the tensor cores have work while powers are computed."""
    s = tl.dot(k, tl.trans(q))
    if DP_FIRST:
        dp = tl.dot(v, tl.trans(do))
    s = s * scale
    if MASKED:
        s = tl.where(seen, s, float("-inf"))
    p = tl.exp2(s - lse[None, :])
    dv = tl.dot(p.to(do.dtype), do, dv)
    if not DP_FIRST:
        dp = tl.dot(v, tl.trans(do))
    ds = (p * (dp - delta[None, :])).to(q.dtype)
    dk = tl.dot(ds, q, dk)
    return dk, dv, ds


@triton.jit
def _add_to_dq(dq_desc, dq_ptr, row, ds, k, DQ: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr):  # fmt: skip
    """Adds this block of keys' part to dq, which other programs add to as well."""
    if DQ != "":
        if DQ != "turned":
            dq = tl.dot(tl.trans(ds), k)
        if DQ == "copy engine":
            dq_desc.atomic_add([row, 0], dq)
        elif DQ == "turned":
            dq_desc.atomic_add([row, 0], tl.trans(tl.dot(tl.trans(k), ds)))
        else:
            rows = row + tl.arange(0, BLOCK_M)
            ptrs = dq_ptr + rows.to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
            tl.atomic_add(ptrs, dq, sem="relaxed")


@triton.jit
def keys_kernel(q_desc, k_desc, v_desc, do_desc, lse_ptr, delta_ptr, dk_desc, dv_desc, dq_desc, dq_ptr,
                N, scale, base_2_scale, D: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr,
                BLOCK_N: tl.constexpr, DQ: tl.constexpr, DP_FIRST: tl.constexpr):  # fmt: skip
    """dk and dv of BLOCK_N keys. DQ: by what dq, in float32 and without the scale, is added up here
    too: "copy engine", "atomics", or "" for not at all."""
    first = tl.program_id(0) * BLOCK_N
    head = tl.program_id(1) * N
    k = k_desc.load([head + first, 0])
    v = v_desc.load([head + first, 0])
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    cols = tl.arange(0, BLOCK_M)
    full = 0
    if CAUSAL:
        keys = first + tl.arange(0, BLOCK_N)
        begin = first // BLOCK_M * BLOCK_M
        full = tl.cdiv(first + BLOCK_N, BLOCK_M) * BLOCK_M
        for start in range(begin, full, BLOCK_M):
            q = q_desc.load([head + start, 0])
            do = do_desc.load([head + start, 0])
            lse = tl.load(lse_ptr + head + start + cols)
            delta = tl.load(delta_ptr + head + start + cols)
            seen = keys[:, None] <= start + cols[None, :]
            dk, dv, ds = _add_queries(
                q, do, lse, delta, k, v, dk, dv, seen, base_2_scale, True, DP_FIRST
            )
            _add_to_dq(dq_desc, dq_ptr, head + start, ds, k, DQ, D, BLOCK_M)
    for start in range(full, N, BLOCK_M):
        q = q_desc.load([head + start, 0])
        do = do_desc.load([head + start, 0])
        lse = tl.load(lse_ptr + head + start + cols)
        delta = tl.load(delta_ptr + head + start + cols)
        dk, dv, ds = _add_queries(
            q, do, lse, delta, k, v, dk, dv, True, base_2_scale, False, DP_FIRST
        )
        _add_to_dq(dq_desc, dq_ptr, head + start, ds, k, DQ, D, BLOCK_M)
    dk_desc.store([head + first, 0], (dk * scale).to(dk_desc.dtype))
    dv_desc.store([head + first, 0], dv.to(dv_desc.dtype))


@triton.jit
def queries_kernel(q_desc, k_desc, v_desc, do_desc, lse_ptr, delta_ptr, dq_desc, N, scale, base_2_scale,
                   D: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """dq of BLOCK_M queries, as query_gradient_kernel of chapter 13."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1) * N
    rows = first + tl.arange(0, BLOCK_M)
    q = q_desc.load([head + first, 0])
    do = do_desc.load([head + first, 0])
    lse = tl.load(lse_ptr + head + rows)
    delta = tl.load(delta_ptr + head + rows)
    dq = tl.zeros((BLOCK_M, D), tl.float32)
    full = N
    if CAUSAL:
        full = first // BLOCK_N * BLOCK_N
        for start in range(full, first + BLOCK_M, BLOCK_N):
            k = k_desc.load([head + start, 0])
            v = v_desc.load([head + start, 0])
            seen = start + tl.arange(0, BLOCK_N)[None, :] <= rows[:, None]
            dq = add_keys(q, do, lse, delta, k, v, dq, seen, base_2_scale, MASKED=True)
    for start in range(0, full, BLOCK_N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        dq = add_keys(q, do, lse, delta, k, v, dq, True, base_2_scale, MASKED=False)
    dq_desc.store([head + first, 0], (dq * scale).to(dq_desc.dtype))
