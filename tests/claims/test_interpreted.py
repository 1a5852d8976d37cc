"""Claims that running a kernel settles, in the interpreter."""

import inspect

import kernels
import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from autograder import course
from autograder.course import load_solution

CORPUS = course.ROOT / "tests" / "corpus"


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def _product(kernel, a, b, block=32):
    M, K = a.shape
    N = b.shape[1]
    c = torch.full((M, N), float("nan"))
    kernel[(triton.cdiv(M, block), triton.cdiv(N, block))](a, b, c, M, N, K, BLOCK=block)
    return c


def test_a_kernel_has_no_thread_number():
    assert not [name for name in dir(tl) if "thread" in name.lower()]
    assert "program_id" in dir(tl)


def test_warps_and_stages_still_show_through():
    assert {"num_warps", "num_stages"} <= set(inspect.signature(triton.Config).parameters)


def test_arange_counts_from_zero():
    out = torch.zeros(64, dtype=torch.int32)
    kernels.addresses_kernel[(1,)](out, ROWS=1, COLS=64)
    assert out.tolist() == list(range(64))


def test_two_broadcasts_make_a_grid_of_addresses():
    out = torch.full((4 * 8,), -1, dtype=torch.int32)
    kernels.addresses_kernel[(1,)](out, ROWS=4, COLS=8)
    assert out.tolist() == list(range(32))


def test_the_first_kernel_needs_contiguous_matrices():
    a, b = torch.randn(70, 50), torch.randn(50, 90)
    assert torch.allclose(_product(kernels.loop_kernel, a, b), a @ b, atol=1e-4)
    square = torch.randn(64, 64)
    wrong = _product(kernels.loop_kernel, square, square.T)
    assert (wrong - square @ square.T).abs().max() > 10  # and no complaint
    assert torch.allclose(wrong, square @ square, atol=1e-3)  # the view was read as its base


def test_strides_make_views_right():
    matmul = load_solution("triton_matmul")
    a, wide = torch.randn(37, 41), torch.randn(60, 82)
    b = wide.T[::2, ::3]  # 41 by 20
    assert not b.is_contiguous()
    assert torch.allclose(matmul(a, b), a @ b, atol=1e-4)


def test_a_misspelt_argument_of_range_is_refused_here():
    with pytest.raises(Exception, match="keyword argument"):
        kernels.misspelt_kernel[(1,)](torch.ones(64), torch.ones(64), 64, BLOCK=64)


def test_zero_is_not_every_operations_neutral_element():
    x, out = torch.tensor([-3.0, -1.0, -2.0]), torch.zeros(1)
    kernels.row_sum_kernel[(1,)](x, out, 3, BLOCK=4)
    assert out.item() == -6
    kernels.row_max_kernel[(1,)](x, out, 3, BLOCK=4)
    assert out.item() == 0 != x.max().item()


def _row_sums(columns, shift):
    x, out = torch.randn(4, columns) + shift, torch.zeros(4, columns)
    kernels.bare_softmax_kernel[(4,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return x, out


def _passes_the_published_test(columns):
    x, out = _row_sums(columns, 0.0)
    return torch.allclose(out, torch.softmax(x, 1), atol=1e-3, rtol=1e-3)


def test_a_softmax_without_other_passes_at_a_lucky_width():
    assert _passes_the_published_test(1021)
    assert not _passes_the_published_test(781)
    assert not _passes_the_published_test(1025)
    _, out = _row_sums(1021, -20.0)
    assert out.sum(1).max() < 1e-4  # the rows should sum to 1


def test_without_a_loop_only_the_first_tile_counts():
    a, b = torch.randn(32, 96), torch.randn(96, 32)
    c = _product(kernels.one_dot_kernel, a, b)
    assert torch.allclose(c, a[:, :32] @ b[:32], atol=1e-4)
    exact = a @ b
    assert (c - exact).norm() / exact.norm() > 0.5
    short = a[:, :20].contiguous(), b[:20].contiguous()
    assert torch.allclose(_product(kernels.one_dot_kernel, *short), short[0] @ short[1], atol=1e-4)


def test_the_shapes_that_a_listing_never_sees():
    """Every K up to three tiles: the listing is right for the first 32 and for none after."""
    right = []
    for K in range(1, 97):
        a, b = torch.randn(8, K), torch.randn(K, 8)
        right.append(torch.allclose(_product(kernels.one_dot_kernel, a, b), a @ b, atol=1e-3))
    assert all(right[:32]) and not any(right[32:])


def test_a_listing_without_a_loop_beats_the_library(measured):
    """Counted as if it had done all the work. It does an eighth of it at K = 1024, and is wrong."""
    rows = [r for r in measured("06_matmul_ladder")["rows"] if r["kernel"] == "without a K loop"]
    assert 128 / 1024 == 1 / 8
    assert any(row["share_of_library"] > 1 for row in rows)
    assert all(row["relative_error"] > 0.5 for row in rows)


def test_a_right_kernel_reaches_most_of_the_library(measured):
    rows = measured("06_matmul_ladder")["rows"]
    assert max(r["share_of_library"] for r in rows if r["kernel"] == "triton_matmul") > 0.6


def test_the_interpreter_runs_one_program_after_the_other():
    counter = torch.zeros(1)
    kernels.count_kernel[(4,)](counter)
    assert counter.item() == 4  # on a GPU the four race


def test_the_interpreter_fills_masked_lanes_with_zeros():
    out = torch.full((4,), float("nan"))
    kernels.lanes_kernel[(1,)](torch.ones(3), out, 3, BLOCK=4)
    assert out.tolist() == [1, 1, 1, 0]  # the specification promises nothing


def test_print_works_in_the_interpreter(capsys):
    kernels.printing_kernel[(1,)](torch.tensor([2.5]))
    assert "2.5" in capsys.readouterr().out


def test_a_missing_mask_is_made_visible(grade_file):
    """By value nothing is wrong; the grader's guarded margins see the read."""
    for name in ("load_mask_missing_rows", "load_mask_missing_columns"):
        result = grade_file(CORPUS / "triton_matmul" / "wrong" / f"{name}.py", "triton_matmul")
        assert not result.passed
        assert result.hint.cause == "load_mask_missing"


def test_a_bare_kernel_has_no_gradient():
    a = torch.randn(16, 16, requires_grad=True)
    with torch.no_grad():
        expected = a @ a
    c = load_solution("triton_matmul")(a, a)
    assert torch.allclose(c, expected, atol=1e-4)
    assert c.grad_fn is None  # a training step would silently skip it


def test_a_function_of_autograd_has_one():
    q = torch.randn(1, 1, 16, 16, requires_grad=True)
    out = load_solution("attention")(q, q.detach(), q.detach())
    assert out.grad_fn is not None
    out.sum().backward()
    assert q.grad.shape == q.shape and q.grad.isfinite().all()


def test_triton_has_nothing_for_the_backward_pass():
    words = ("backward", "grad", "vjp")
    assert not [
        n for n in dir(tl) + dir(tl.core) + dir(triton) if any(w in n.lower() for w in words)
    ]


def test_timings_are_kept_for_one_process_only():
    assert inspect.signature(triton.autotune).parameters["cache_results"].default is False


def test_a_new_size_is_tuned_anew_and_so_is_a_new_type():
    timed = []

    def bench(call, quantiles):
        call()
        timed.append(quantiles)
        return [1.0] * len(quantiles)

    configs = [triton.Config({"BLOCK": block}) for block in (16, 32)]
    tuned = triton.autotune(configs=configs, key=["n"], do_bench=bench)(kernels.ones_kernel)
    counts = []
    for x, n in (
        (torch.zeros(9), 9),
        (torch.zeros(9), 9),
        (torch.zeros(9), 8),
        (torch.zeros(9).double(), 8),
    ):
        tuned[lambda meta: (triton.cdiv(9, meta["BLOCK"]),)](x, n)
        counts.append(len(timed))
    assert counts == [2, 2, 4, 6]  # both configs, nothing, both again, both again


# Numbers


def test_float16_sums_lose_digits():
    rng = np.random.default_rng(0)
    K = 512
    a, b = (
        rng.normal(size=(16, K)).astype(np.float16),
        rng.normal(size=(K, 16)).astype(np.float16),
    )
    exact = a.astype(np.float64) @ b.astype(np.float64)

    def error(c):
        return np.linalg.norm(c.astype(np.float64) - exact) / np.linalg.norm(exact)

    narrow = np.zeros((16, 16), np.float16)
    for k in range(K):
        narrow += np.outer(a[:, k], b[k]).astype(np.float16)
    wide = a.astype(np.float32) @ b.astype(np.float32)
    assert error(narrow) > 1e-3
    assert error(wide.astype(np.float16)) < 4e-4  # load float16, sum in float32, store float16
    assert np.float16(2048) + np.float16(1) == np.float16(2048)


def test_a_float32_test_cannot_pass_in_tf32():
    """TF32 keeps 10 fraction bits of each operand: cut the others and compare as the test did."""
    rng = np.random.default_rng(0)
    n = 1023
    a, b = rng.normal(size=(64, n)).astype(np.float32), rng.normal(size=(n, 64)).astype(np.float32)

    def tf32(x):
        bits = x.view(np.uint32) + np.uint32(1 << 12)  # to nearest
        return (bits & np.uint32(0xFFFFE000)).view(np.float32)

    exact, cut = a @ b, tf32(a) @ tf32(b)
    assert np.allclose(exact, a.astype(np.float64) @ b, atol=1e-3, rtol=1e-3)
    missed = ~np.isclose(cut, exact, atol=1e-3, rtol=1e-3)
    assert 0.1 < missed.mean() < 0.9


# Attention


def _exact(q, k, v, scale):
    p = np.exp(scale * q @ k.T - (scale * q @ k.T).max(1, keepdims=True))
    return (p / p.sum(1, keepdims=True)) @ v


def _repaired(N, D=16, block=32):
    """The repaired listing on one head; the memory behind the tensors is there, and holds zeros."""
    padded = -(-N // block) * block
    q, k, v, o = torch.zeros(4, padded, D)
    for x in (q, k, v):
        x[:N] = torch.randn(N, D)
    kernels.repaired_attention_kernel[(padded // block,)](
        q, k, v, o, N, SCALE=D**-0.5, D=D, BLOCK_Q=block, BLOCK_KV=block
    )
    exact = _exact(*(x[:N].double().numpy() for x in (q, k, v)), D**-0.5)
    error = np.linalg.norm(o[:N].numpy() - exact) / np.linalg.norm(exact)
    return error, bool((o[N:] != 0).any())


def test_a_repaired_listing_counts_padded_keys():
    for N, low, high in ((64, 0, 1e-5), (127, 1e-3, 0.05), (65, 0.1, 1)):
        error, _ = _repaired(N)
        assert low <= error < high, N


def test_it_writes_past_the_output():
    assert not _repaired(64)[1]
    assert _repaired(65)[1]


def test_a_running_maximum_is_not_the_global_one():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 96))
    m = np.full(4, -np.inf)
    seen = []
    for start in range(0, 96, 32):
        m = np.maximum(m, scores[:, start : start + 32].max(1))
        assert np.array_equal(m, scores[:, : start + 32].max(1))
        seen.append(m)
    assert (seen[0] < scores.max(1)).any()
    assert np.array_equal(seen[-1], scores.max(1))


def test_a_sentinel_turns_an_empty_row_into_a_mean():
    """Every key masked: with -1e9 all weights are equal, with -inf the row is 0/0."""
    v = np.arange(8.0)[:, None]
    scores = np.full((1, 8), -1e9)
    assert np.allclose(_exact_from(scores) @ v, v.mean())
    with np.errstate(invalid="ignore"):
        assert np.isnan(_exact_from(np.full((1, 8), -np.inf)) @ v).all()


def _exact_from(scores):
    p = np.exp(scores - scores.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def test_one_where_is_not_causal_for_unequal_lengths():
    """Two new queries after six keys: the last query must see all eight, not the first two."""
    queries, keys = 2, 8
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    top_left, bottom_right = i >= j, i + (keys - queries) >= j
    assert bottom_right[-1].all() and not top_left[-1].all()
    assert (np.tril(np.ones((8, 8), bool)) == (np.arange(8)[:, None] >= np.arange(8))).all()
    tiles = [(a, b) for a in range(8) for b in range(8)]
    assert sum(b <= a for a, b in tiles) / len(tiles) < 0.6  # the rest need not be computed


def test_a_loop_over_keys_writes_the_output_once():
    """Queries outside: each block of the output is written when it is done. Keys outside: again and again."""
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 64, 16))
    block, exact = 16, _exact(q, k, v, 0.25)

    def step(state, rows, keys):
        m, l, acc = state
        s = 0.25 * q[rows] @ k[keys].T
        new = np.maximum(m, s.max(1))
        p, alpha = np.exp(s - new[:, None]), np.exp(m - new)
        return new, l * alpha + p.sum(1), acc * alpha[:, None] + p @ v[keys]

    def start():
        return np.full(block, -np.inf), np.zeros(block), np.zeros((block, 16))

    blocks = [slice(i, i + block) for i in range(0, 64, block)]
    results = {}
    for outside in ("queries", "keys"):
        states, writes = [start() for _ in blocks], 0
        if outside == "queries":
            for i, rows in enumerate(blocks):
                for keys in blocks:
                    states[i] = step(states[i], rows, keys)
                writes += 1
        else:
            for keys in blocks:
                for i, rows in enumerate(blocks):
                    states[i] = step(states[i], rows, keys)
                    writes += 1
        out = np.concatenate([acc / l[:, None] for _, l, acc in states])
        assert np.allclose(out, exact)
        results[outside] = writes
    assert results == {"queries": 4, "keys": 16}
