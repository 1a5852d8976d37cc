"""The catalogue: chapters and graded steps, their points, and where the reference solutions are.

The one place where a step's name, chapter and points stand. Importing it must stay cheap: no
torch, no Triton.
"""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from autograder.steps import (
    attention,
    attention_backward,
    attention_counts,
    attention_delta,
    attention_tile,
    blockwise,
    choosing,
    elementwise,
    estimates,
    last_wave,
    matmul,
    matmul_variants,
    program_order,
    resources,
    row_sums,
    rows,
    softmax_backward,
    streams,
    tf32,
    timing,
    tolerance,
    transposing,
    waves,
)
from autograder.steps.calls import CallTask
from autograder.steps.case import Task

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Step:
    """A function that the learner writes. `speed`: whether a GPU's time counts as well."""

    name: str
    chapter: int
    slug: str
    points: float
    speed: bool
    task: Task | CallTask

    @property
    def folder(self) -> str:
        """ "06_triton_matmul": the stem of the chapter's page and solution, and its exercises."""
        return f"{self.chapter:02d}_{self.slug}"


STEPS = (
    Step("dram_bandwidth_tb_s", 1, "memory_hierarchy", 2, False, estimates.dram_bandwidth_tb_s),
    Step("matmul_intensity", 1, "memory_hierarchy", 3, False, estimates.matmul_intensity),
    Step("attainable_tflops", 1, "memory_hierarchy", 3, False, estimates.attainable_tflops),
    Step("least_ms", 1, "memory_hierarchy", 4, False, estimates.least_ms),
    Step("matmul_tflops", 2, "benchmarking", 2, False, estimates.matmul_tflops),
    Step("vector_add_gb_s", 2, "benchmarking", 2, False, estimates.vector_add_gb_s),
    Step("bench_ms", 2, "benchmarking", 6, False, timing.bench_ms),
    Step("cold_bench_ms", 2, "benchmarking", 5, False, timing.cold_bench_ms),
    Step("naive_matmul", 3, "blockwise_matmul", 4, False, blockwise.naive_matmul),
    Step("blockwise_matmul", 3, "blockwise_matmul", 6, False, blockwise.blockwise_matmul),
    Step("blockwise_loads", 3, "blockwise_matmul", 4, False, blockwise.blockwise_loads),
    Step("vector_add", 4, "first_kernels", 4, True, elementwise.vector_add),
    Step("scale_rows", 4, "first_kernels", 6, True, elementwise.scale_rows),
    Step("transpose", 4, "first_kernels", 10, True, transposing.transpose),
    Step("row_max", 5, "softmax", 5, True, rows.row_max),
    Step("log_sum_exp", 5, "softmax", 6, False, row_sums.log_sum_exp),
    Step("softmax", 5, "softmax", 10, True, rows.softmax),
    Step("layer_norm", 5, "softmax", 8, False, row_sums.layer_norm),
    Step("tile_matmul", 6, "triton_matmul", 6, False, matmul.tile_matmul),
    Step("triton_matmul", 6, "triton_matmul", 10, True, matmul.triton_matmul),
    Step("linear_gelu", 6, "triton_matmul", 8, True, matmul.linear_gelu),
    Step("tf32_round", 7, "numerics", 5, False, tf32.tf32_round),
    Step("tf32_matmul", 7, "numerics", 6, False, tf32.tf32_matmul),
    Step("within_rounding", 7, "numerics", 6, False, tolerance.within_rounding),
    Step("ieee_matmul", 7, "numerics", 8, True, matmul_variants.ieee_matmul),
    Step("group_major", 8, "group_major", 4, False, program_order.group_major),
    Step("wave_strips", 8, "group_major", 5, False, waves.wave_strips_task),
    Step("grouped_matmul", 8, "group_major", 8, True, matmul_variants.grouped_matmul),
    Step("layout_owner", 9, "compiler", 5, False, resources.layout_owner_task),
    Step("shared_memory_bytes", 9, "compiler", 4, False, resources.shared_memory_task),
    Step("resident_programs", 9, "compiler", 8, False, resources.resident_programs_task),
    Step("deepest_pipeline", 9, "compiler", 5, False, resources.deepest_pipeline_task),
    Step("busiest_sm_loads", 10, "autotuning", 4, False, choosing.busiest_sm_loads_task),
    Step("prune_configs", 10, "autotuning", 8, False, choosing.prune_configs_task),
    Step("regret", 10, "autotuning", 3, False, choosing.regret_task),
    Step("bucket", 10, "autotuning", 3, False, choosing.bucket_task),
    Step("autotuned_matmul", 10, "autotuning", 10, True, matmul_variants.autotuned_matmul),
    Step("merge", 11, "online_softmax", 6, False, streams.merge),
    Step("online_softmax", 11, "online_softmax", 10, True, rows.online_softmax),
    Step("weighted_mean", 11, "online_softmax", 8, True, streams.weighted_mean),
    Step("attention_traffic", 12, "flash_attention", 4, False, attention_counts.attention_traffic),
    Step("causal_blocks", 12, "flash_attention", 5, False, attention_counts.causal_blocks),
    Step("attention_tile", 12, "flash_attention", 8, False, attention_tile.attention_tile),
    Step("flash_attention", 12, "flash_attention", 20, True, attention.flash_attention),
    Step("softmax_backward", 13, "flash_backward", 5, True, softmax_backward.softmax_backward),
    Step("attention_delta", 13, "flash_backward", 5, True, attention_delta.attention_delta),
    Step("attention", 13, "flash_backward", 20, True, attention_backward.attention),
    Step("wave_efficiency", 14, "persistent_matmul", 2, False, last_wave.wave_efficiency),
    Step("persistent_matmul", 14, "persistent_matmul", 10, True, matmul_variants.persistent_matmul),
    Step("split_k_matmul", 14, "persistent_matmul", 10, True, matmul_variants.split_k_matmul),
)


def find_step(name: str) -> Step | None:
    """The step of that name, or None."""
    return next((step for step in STEPS if step.name == name), None)


def load_solution(name: str):
    """The reference solution of a step, as a function.

    Imports solutions/NN_slug.py, hence torch and Triton. Raises KeyError for an unknown step.
    """
    step = find_step(name)
    if step is None:
        raise KeyError(name)
    module_name = f"solutions_{step.folder}"
    if module_name not in sys.modules:
        path = ROOT / "solutions" / f"{step.folder}.py"
        spec = importlib.util.spec_from_file_location(module_name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        spec.loader.exec_module(module)
    return getattr(sys.modules[module_name], name)
