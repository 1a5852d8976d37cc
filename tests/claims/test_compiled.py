"""Claims that the compiler settles, for GPUs that need not be here: sm_75 a T4, sm_80 an A100, sm_90 an H100."""

import pytest

V100_LIKE, A100, H100 = 75, 80, 90


def _loop(target, dtype="fp16", block=64, **options):
    return {
        "kernel": "loop_kernel", "target": target, "dtype": dtype, "constants": {"BLOCK": block},
        "aligned": True, "options": options,
    }  # fmt: skip


def test_a_dot_is_no_single_instruction(compiled):
    old, new = compiled(_loop(V100_LIKE, "fp32"), _loop(A100, "fp32"))
    assert old["tensor_core"] == 0 and old["fma"] > 1000
    assert new["tensor_core"] > 10


def test_stages_are_the_depth_of_the_pipeline(compiled):
    """Each stage more is one more pair of tiles in shared memory: 2 · 64 · 64 values of 2 bytes."""
    one, two, three, four = compiled(*(_loop(A100, num_stages=s) for s in (1, 2, 3, 4)))
    pair = 2 * 64 * 64 * 2
    assert [k["shared"] for k in (two, three, four)] == [pair, 2 * pair, 3 * pair]
    assert one["async_copies"] == 0 < two["async_copies"]


def test_before_ampere_stages_change_nothing(compiled):
    """Not one instruction: nothing is pipelined there."""
    one, two, four = compiled(*(_loop(V100_LIKE, "fp32", num_stages=s) for s in (1, 2, 4)))
    assert one["code"] == two["code"] == four["code"]
    assert one["async_copies"] == 0


def test_from_ampere_on_the_default_pipelines(compiled):
    old, new = compiled(_loop(V100_LIKE), _loop(A100))
    assert old["async_copies"] == 0 < new["async_copies"]


def test_warps_have_32_threads(compiled):
    four, eight = compiled(_loop(A100, num_warps=4), _loop(A100, num_warps=8))
    assert (four["threads"], eight["threads"]) == (128, 256)


def test_an_optimisation_need_not_save_loads(compiled):
    """Twice the warps, the same tile: each thread copies half as much, all together the same."""
    four, eight = compiled(_loop(A100, num_warps=4), _loop(A100, num_warps=8))
    assert four["async_copies"] == 2 * eight["async_copies"]
    assert four["threads"] * four["async_copies"] == eight["threads"] * eight["async_copies"]


def test_shared_memory_holds_operands_and_not_the_sum(compiled):
    """Three stages keep two pairs of tiles; the float32 accumulator would be as large as one more."""
    (kernel,) = compiled(_loop(A100, num_stages=3))
    operands = 2 * (64 * 64 + 64 * 64) * 2
    assert kernel["shared"] == operands


def test_shared_memory_is_allocated_by_the_compiler(compiled):
    (kernel,) = compiled(_loop(A100))
    assert kernel["shared"] > 0  # and the source declares none


def test_a_tile_of_256_spills_and_does_not_fit(compiled):
    (kernel,) = compiled(
        {"kernel": "one_dot_kernel", "target": A100, "constants": {"BLOCK": 256}, "options": {"num_warps": 8}}
    )  # fmt: skip
    assert kernel["stack"] > 10_000  # bytes a thread, in DRAM, between load and store
    assert kernel["shared"] == 2 * 256 * 256 * 2
    assert kernel["shared"] > 232_448  # the limit of an H100; that of an A100 is 166,912


def test_the_rule_of_sixteen_holds_without_tensor_cores(compiled):
    jobs = [
        {"kernel": "bare_dot_kernel", "target": t, "constants": {"M": 16, "N": 16, "K": 8}}
        for t in (V100_LIKE, A100)
    ]
    for answer in compiled(*jobs):
        assert "K >= 16" in answer["error"]


def test_sides_are_powers_of_two(compiled):
    (answer,) = compiled({"kernel": "copy_kernel", "target": A100, "constants": {"BLOCK": 48}})
    assert "power of 2" in answer["error"]


def test_wide_loads_need_alignment(compiled):
    job = {"kernel": "copy_kernel", "target": A100, "constants": {"BLOCK": 1024}}
    known, unknown = compiled({**job, "aligned": True}, job)
    assert known["loads"] and all(".v4.b32" in load for load in known["loads"])  # 16 bytes a thread
    assert all(load.endswith(".b16") for load in unknown["loads"])  # 2 bytes a thread


def test_a_misspelt_argument_of_range_is_ignored(compiled):
    job = {"target": A100, "dtype": "fp32", "constants": {"BLOCK": 64}}
    misspelt, plain = compiled(
        {**job, "kernel": "misspelt_kernel"}, {**job, "kernel": "well_spelt_kernel"}
    )
    assert misspelt["code"].replace("misspelt", "well_spelt") == plain["code"]


@pytest.mark.parametrize(
    ("kernel", "complaint"),
    [
        ("breaking_kernel", "Break"),
        ("listing_kernel", "comprehensions"),
        ("retyped_kernel", "initial type int32"),
    ],
)
def test_python_that_does_not_compile(compiled, kernel, complaint):
    (answer,) = compiled({"kernel": kernel, "target": A100, "dtype": "fp32"})
    assert complaint in answer["error"]


def test_a_wrong_type_is_loud_and_a_slow_path_is_silent(compiled):
    mixed, slow = compiled(
        {"kernel": "mixed_dot_kernel", "target": A100, "dtype": "fp32", "constants": {"BLOCK": 32}},
        _loop(V100_LIKE),
    )
    assert "same dtype" in mixed["error"]
    assert "error" not in slow and slow["tensor_core"] == 0


def test_a_run_time_head_dimension_does_not_compile(compiled):
    (answer,) = compiled(
        {"kernel": "narrow_attention_kernel", "target": A100, "constants": {"BLOCK_Q": 32, "BLOCK_KV": 32}}
    )  # fmt: skip
    assert "constexpr" in answer["error"]


def test_compiling_again_does_not_bring_the_new_copies(compiled):
    """The same source runs on sm_90 and multiplies by its own instruction. Tiles are copied by
    hardware only where the source names them by descriptors, which sm_80 turns into loads."""
    tiles = {"kernel": "tile_copy_kernel", "constants": {"BLOCK": 64}}
    loop, new, old = compiled(_loop(H100), {**tiles, "target": H100}, {**tiles, "target": A100})
    assert "wgmma" in loop["code"] and loop["tile_copies"] == 0
    assert new["tile_copies"] > 0 == len(new["loads"])
    assert old["tile_copies"] == 0 < len(old["loads"])


def test_a_program_knows_nothing_of_its_neighbours(compiled):
    """Shared memory is the block's own: no instruction reads that of another block of a cluster."""
    for kernel in compiled(_loop(A100), _loop(H100)):
        assert "mapa" not in kernel["code"] and "ld.shared::cluster" not in kernel["code"]
