"""Claims that counting settles: operations, bytes, loads, programs, tiles."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import triton
from torch.utils._python_dispatch import TorchDispatchMode

from autograder import course, targets
from autograder.course import load_solution


@pytest.fixture(scope="module")
def gpus() -> dict[str, dict]:
    """The numbers of chapter 1's page, as its cell has them."""
    page = (course.ROOT / "book" / "01_memory_hierarchy.md").read_text(encoding="utf-8")
    cell = next(cell for cell in page.split("```") if "\nGPUS = {" in cell)
    names = {}
    exec(cell.partition("\n")[2], names)  # noqa: S102 (a cell of our own book)
    return names["GPUS"]


class Counter(TorchDispatchMode):
    """Counts the operations that reach the library."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += 1
        return function(*args, **(kwargs or {}))


def test_attention_is_no_product_of_matrices():
    """A product doubles when an operand doubles. Attention does not: the softmax is no product."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 8, 16)
    attention = F.scaled_dot_product_attention
    assert torch.allclose((2 * q) @ k.mT, 2 * (q @ k.mT), atol=1e-5)
    assert not torch.allclose(attention(2 * q, k, v), 2 * attention(q, k, v), atol=0.1)
    linear = torch.nn.Linear(16, 4)
    assert torch.allclose(linear(v), v @ linear.weight.T + linear.bias, atol=1e-5)


def test_one_token_brings_one_operation_per_byte():
    """A vector times a matrix reads every weight once: 2 operations for 2 bytes of float16."""
    intensity = load_solution("matmul_intensity")(1, 4096, 4096, 2)
    assert 0.99 < intensity < 1


def test_a_model_of_seven_billion_has_225_products_with_weights():
    """Llama's 7B shape: 7 weights in each of 32 layers, and the output; two products of attention."""
    hidden, inner, layers, vocabulary = 4096, 11008, 32, 32000
    weights = [(hidden, hidden)] * 4 + [(hidden, inner)] * 2 + [(inner, hidden)]
    parameters = layers * sum(a * b for a, b in weights) + 2 * hidden * vocabulary
    assert 6.5e9 < parameters < 7e9
    assert layers * len(weights) + 1 == 225
    assert layers * 2 == 64
    assert 225 + 64 < 1000 < layers * 2 * 32  # thousands only if each of the 32 heads counts


def test_there_are_more_than_two_memories(gpus):
    """Registers of an A100: 65,536 of 4 bytes on each multiprocessor, beside 40 MB of L2."""
    a100 = gpus["A100"]
    assert 28e6 < a100["registers_mib"] * 2**20 < 29e6
    assert a100["registers_mib"] > a100["shared_mib"]  # the forgotten memory is the larger one
    assert a100["l2_mib"] == 40


def test_what_an_a100_has_in_memory(gpus):
    """Derived from the data sheets: bus width, transfer rate, clock, multiprocessors."""
    a100 = gpus["A100"]
    assert math.isclose(a100["dram_tb_s"], 2.04, rel_tol=0.01)
    assert math.isclose(a100["shared_tb_s"], 19.5, rel_tol=0.01)
    whole = a100["sms"] * a100["l1_kib"] * 1024 / 1e6
    shared_only = a100["shared_mib"] * 2**20 / 1e6
    assert 20 < whole < 22 and shared_only < 19  # MB


def test_trillions_of_multiply_adds(gpus):
    """A V100: multiprocessors, float32 units of each, clock."""
    v100 = gpus["V100"]
    assert 7e12 < v100["sms"] * v100["fp32_fma"] * v100["clock"] * 1e9 < 8e12


def test_multiprocessors(gpus):
    """As the vendor counts them: all float32 units by the units of one multiprocessor."""
    counted = [gpus[name]["sms"] * gpus[name]["fp32_fma"] for name in ("V100", "A100")]
    assert counted == [5120, 6912]
    assert [gpus[name]["sms"] for name in ("V100", "A100")] == [80, 108]


def _three(a, b):
    M, K, N = len(a), len(b), len(b[0])
    c, products, updates = np.zeros((M, N)), 0, 0
    for i, j, k in itertools.product(range(M), range(N), range(K)):
        c[i, j] += a[i][k] * b[k][j]
        products, updates = products + 1, updates + 1
    return c, products, updates


def _six(a, b, block):
    M, K, N = len(a), len(b), len(b[0])
    c, products, updates = np.zeros((M, N)), 0, 0
    for i, j, k in itertools.product(range(0, M, block), range(0, N, block), range(0, K, block)):
        for ii, jj in itertools.product(range(i, min(i + block, M)), range(j, min(j + block, N))):
            part = 0.0
            for kk in range(k, min(k + block, K)):
                part += a[ii][kk] * b[kk][jj]
                products += 1
            c[ii, jj] += part
            updates += 1
    return c, products, updates


@pytest.fixture(scope="module")
def loops():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(10, 13)), rng.normal(size=(13, 7))
    return a @ b, _three(a, b), _six(a, b, 4)


def test_three_loops_are_right(loops):
    exact, three, _ = loops
    assert np.allclose(three[0], exact)


def test_six_loops_are_right_on_ragged_sizes(loops):
    exact, _, six = loops
    assert np.allclose(six[0], exact)


def test_six_loops_multiply_as_often_as_three(loops):
    _, three, six = loops
    assert three[1] == six[1] == 10 * 7 * 13


def test_six_loops_write_c_less_often(loops):
    _, three, six = loops
    assert three[2] == 10 * 7 * 13
    assert six[2] == 10 * 7 * math.ceil(13 / 4)


def test_a_turn_over_tensors_is_several_calls_of_the_library():
    """Per turn: four indexed reads, a product, a sum. Over lists there is none."""
    n = 6
    a, b, c = torch.randn(n, n), torch.randn(n, n), torch.zeros(n, n)
    with Counter() as over_tensors:
        for i, j, k in itertools.product(range(n), repeat=3):
            c[i][j] += a[i][k] * b[k][j]
    a, b, c = a.tolist(), b.tolist(), torch.zeros(n, n).tolist()
    with Counter() as over_lists:
        for i, j, k in itertools.product(range(n), repeat=3):
            c[i][j] += a[i][k] * b[k][j]
    assert over_tensors.calls >= 6 * n**3
    assert over_lists.calls == 0


def test_dispatch_is_what_takes_the_time(measured):
    """One recorded run: the same loops over lists are at least a hundred times faster."""
    ms = {row["what"]: row["ms"] for row in measured("03_python_loops")["rows"]}
    assert ms["three loops over tensors"] > 100 * ms["three loops over lists"]


def test_a_warm_product_is_far_more_than_25_times_faster(measured):
    ms = {row["what"]: row["ms"] for row in measured("03_python_loops")["rows"]}
    warm = ms["library, median of 1000 calls"]
    assert ms["three loops over tensors"] > 10_000 * warm
    assert ms["library, first call"] > 10 * warm  # a first call measures something else


def test_six_loops_over_tensors_were_faster(measured):
    ms = {row["what"]: row["ms"] for row in measured("03_python_loops")["rows"]}
    assert ms["six loops over tensors"] < ms["three loops over tensors"]


def _loads(M, N, K, block):
    """Elements of A and of B that the blocked algorithm loads, counted block by block."""
    of_a = of_b = 0
    for i, j, k in itertools.product(range(0, M, block), range(0, N, block), range(0, K, block)):
        depth = min(block, K - k)
        of_a += min(block, M - i) * depth
        of_b += min(block, N - j) * depth
    return of_a, of_b


def test_without_blocks_every_element_is_loaded_n_times():
    n = 12
    of_a, of_b = _loads(n, n, n, 1)
    assert of_a == of_b == n * n * n  # n*n elements, each n times


def test_a_tile_serves_a_block_of_rows_or_columns():
    """One block of C: each element of its tiles of A takes part in `block` products."""
    block, K = 8, 40
    of_a, _ = _loads(block, block, K, block)
    assert block * block * K / of_a == block


def test_loads_fall_by_the_side_of_the_block():
    for block in (16, 32, 128):
        of_a, of_b = _loads(256, 256, 256, block)
        assert of_a == of_b == 256**3 // block


def test_the_roofline_ends_the_gain_of_blocks():
    """A V100: 15.7 TFLOPS of float32, 0.9 TB/s; a block of side b has b/4 operations per byte."""
    attainable = load_solution("attainable_tflops")
    reach = [attainable(block / 4, 15.7, 0.9) for block in (1, 64, 128)]
    assert reach[0] < 0.23
    assert reach[1] < 15.7  # still bound by memory
    assert 60 < reach[2] / reach[0] < 75


def test_min_covers_every_row_once():
    for M in range(1, 40):
        rows = [r for i in range(0, M, 16) for r in range(i, min(i + 16, M))]
        assert rows == list(range(M))


def test_programs_are_counted_by_rounding_up():
    assert triton.cdiv(16_000, 64) ** 2 == 62_500
    assert triton.cdiv(15_999, 64) ** 2 == 62_500


def test_1023_in_blocks_of_64():
    assert triton.cdiv(1023, 64) == 16 and triton.cdiv(1023, 64) ** 2 == 256
    assert 1023 // 64 == 15  # rounded down, a row of blocks is missing


def test_intensity_depends_on_two_sides_of_the_tile():
    def intensity(bm, bn, bk):
        return 2 * bm * bn * bk / (2 * (bm * bk + bk * bn))

    assert intensity(128, 256, 32) == intensity(128, 256, 64)
    assert intensity(128, 256, 32) > intensity(64, 64, 128)


def test_a_fixed_grid_does_not_fit_every_config():
    grids = {block: math.ceil(1000 / block) ** 2 for block in (64, 128)}
    assert grids == {64: 256, 128: 64}  # 64 programs of side 64 leave three quarters of C out


# Orders of programs


def _row_by_row(pid, tiles_m, tiles_n):
    return divmod(pid, tiles_n)


def _grouped(pid, tiles_m, tiles_n, group):
    return load_solution("group_major")(pid, tiles_m, tiles_n, group)


def _strips(tiles):
    """Strips of rows of A and of columns of B that a set of tiles needs."""
    rows, columns = zip(*tiles)
    return len(set(rows)) + len(set(columns))


def test_the_grouped_map_is_a_bijection():
    for tiles_m, tiles_n, group in itertools.product(range(1, 14), range(1, 14), range(1, 8)):
        visited = {_grouped(pid, tiles_m, tiles_n, group) for pid in range(tiles_m * tiles_n)}
        assert visited == set(itertools.product(range(tiles_m), range(tiles_n)))


def test_four_programs_need_five_strips_or_four():
    assert _strips(_row_by_row(pid, 4, 4) for pid in range(4)) == 5
    assert _strips(_grouped(pid, 4, 4, 2) for pid in range(4)) == 4


def test_larger_groups_do_not_always_save_more():
    """Waves of 80 programs over 64×64 tiles: the strips of all waves fall and rise again."""

    def strips(group):
        pids = range(64 * 64)
        waves = [pids[i : i + 80] for i in range(0, len(pids), 80)]
        return sum(_strips(_grouped(p, 64, 64, group) for p in wave) for wave in waves)

    needed = [strips(group) for group in (1, 2, 4, 8, 16, 64)]
    assert needed[3] == min(needed)
    assert needed[0] > needed[1] > needed[2] > needed[3] < needed[4] < needed[5]


def test_order_changes_what_is_in_flight_together():
    """The same programs on the same multiprocessors, in another order: fewer strips in a wave."""
    wave = range(80)
    row_by_row = _strips(_row_by_row(pid, 64, 64) for pid in wave)
    assert row_by_row > 3 * _strips(_grouped(pid, 64, 64, 8) for pid in wave)


def test_resident_warps_are_limited_by_registers():
    """What hides waiting are warps, and a kernel with many registers leaves room for few."""
    target = targets.TARGETS["sm_80"]
    light = targets.occupancy(target, 32, 0, 4)
    heavy = targets.occupancy(target, 255, 0, 4)
    assert heavy.programs * 4 <= 8 < light.programs * 4


# Attention


def test_flash_attention_saves_a_factor_not_a_dimension():
    """Elements of one head: the table of scores written and read twice, against requests of K and V
    once for each block of queries."""
    N, d = 8192, 64
    standard = 4 * N * d + 4 * N * N
    traffic = load_solution("attention_traffic")
    flash = {block_q: traffic(N, d, block_q) for block_q in (64, 128, 256)}
    ratios = [round(standard / flash[block_q]) for block_q in (64, 128, 256)]
    assert ratios == [2, 4, 8]
    claimed = N * N // d
    assert claimed < 4 * N * d < min(flash.values())  # less than touching q, k, v and o once


def test_the_table_of_scores_outgrows_the_output():
    N, d = 8192, 64
    assert 2 * N * N == 128 * 2**20  # float16 scores of one head, 128 MiB
    assert 2 * N * d == 1 * 2**20  # its output, 1 MiB
    savings = [n * n / (n * d) for n in (2048, 4096, 8192)]
    assert savings == [32, 64, 128]  # no constant third


def test_flash_attention_does_the_same_operations():
    """Forward: two products for every pair of query and key, whatever the order of the blocks."""
    N, d, block = 256, 64, 32
    whole = 2 * (2 * N * N * d)
    by_blocks = sum(
        2 * (2 * block * block * d) for _ in itertools.product(range(N // block), repeat=2)
    )
    assert by_blocks == whole


def test_each_rank_has_tensors_of_its_own():
    """Two ranks share eight samples: an offset by rank leaves the local four."""
    samples = torch.arange(8)
    local = samples.chunk(2)[1]  # what rank 1 holds
    rank, per_rank = 1, 4
    offsets = rank * per_rank + torch.arange(per_rank)
    assert int(offsets.min()) >= len(local)  # every one of them lies past the end


def test_kernels_have_some_thirty_lines():
    source = (course.ROOT / "solutions" / "06_triton_matmul.py").read_text()
    body = source.split("def matmul_kernel(")[1].split("\n\n\n")[0]
    lines = [x for x in body.splitlines() if x.strip() and not x.strip().startswith("#")]
    assert 20 <= len(lines) <= 55
