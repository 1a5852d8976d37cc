"""Grading on a GPU: what can be decided without one, and a battery on one where there is one."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from corpus_files import CORPUS
from seeds import SEED

from autograder import course, grading
from autograder.account import Account, Error, Place
from autograder.arena import Arena
from autograder.sandbox import Outcome, Sandbox
from autograder.steps.attention import coarse_of
from autograder.steps.attention_reference import Problem, attend
from autograder.steps.tf32 import CUT
from autograder.submission import read
from autograder.verdict import Judge, gpu_fault

SEEDS = range(SEED, SEED + 10)
BATTERY = ("vector_add", "softmax", "triton_matmul", "flash_attention", "attention")


def solution(name):
    return read(course.ROOT / "solutions" / f"{course.find_step(name).folder}.py")


def cases_of(name, seed):
    return grading.battery(course.find_step(name), seed)


# --- without a GPU ----------------------------------------------------------------------------


def cut(x):
    """float32 numbers as a tensor core reads them: ten bits of fraction, the others dropped."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return (bits >> CUT << CUT).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_product_in_tf32_is_inside_what_a_gpu_is_allowed_and_outside_the_bound_alone(seed):
    case = next(c for c in cases_of("triton_matmul", seed) if c.dtype == "float32")
    a, b = (operand.values for operand in case.operands)
    error = np.abs(cut(a) @ cut(b) - case.expected)
    assert (error <= case.bound + case.coarse).all()
    assert (error > case.bound).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_product_of_bfloat16_numbers_is_outside_what_a_gpu_is_allowed(seed):
    case = next(c for c in cases_of("triton_matmul", seed) if c.dtype == "float32")
    a, b = ((x.values.view(np.uint32) >> 16 << 16).view(np.float32) for x in case.operands)
    error = np.abs(a.astype(float) @ b.astype(float) - case.expected)
    assert (error > case.bound + case.coarse).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_attention_in_tf32_is_inside_what_a_gpu_is_allowed(seed):
    for case in cases_of("flash_attention", seed):
        if case.dtype != "float32":
            assert np.all(case.coarse == 0)
            continue
        problem = Problem.of(case.operands, case.size.get("causal", False), case.size.get("scale"))
        q, k, v = (cut(operand.values) for operand in case.operands)
        rounded = problem.but(q=q, k=k, v=v)
        error = np.abs(cut(rounded.weights()) @ v - attend(problem))
        allowed = case.bound + coarse_of(problem, case.expected)
        assert (error <= allowed).all() and (error > case.bound).any()


def test_a_step_that_promises_float32_allows_no_tf32():
    assert course.find_step("ieee_matmul").task.ieee


@pytest.mark.parametrize(
    ("type", "message", "begins", "cause"),
    [
        (
            "AcceleratorError",
            "CUDA error: an illegal memory access was encountered",
            "a kernel touched memory that no tensor has",
            "crashed",
        ),
        (
            "RuntimeError",
            "Triton Error [CUDA]: misaligned address",
            "a kernel read or wrote several elements at once",
            "hint_untrue",
        ),
        (
            "OutOfResources",
            "out of resource: shared memory, Required: 300000, Hardware limit: 232448.",
            "this GPU has less shared memory",
            "shared_memory_exceeded",
        ),
    ],
)
def test_what_a_gpu_stops_is_told_as_such(type, message, begins, cause):
    text, told = gpu_fault(Error(type, message, False, Place()))
    assert text.startswith(begins) and told == cause


def test_an_error_of_the_learners_own_is_no_fault_of_a_gpu():
    assert gpu_fault(Error("RuntimeError", "no such head", False, Place())) is None
    assert gpu_fault(Error("ValueError", "out of memory", False, Place())) is None


def no_room() -> Outcome:
    error = Error("OutOfMemoryError", "", False, Place())
    nothing = dict.fromkeys(("violations", "unfilled", "launches", "races", "hints", "tuners"), ())
    account = Account(
        "operands",
        None,
        (),
        error,
        None,
        no_kernel=False,
        overrun=False,
        loaded=0,
        stored=0,
        **nothing,
    )
    return Outcome("exited", account=account)


@pytest.mark.parametrize(("focus", "status"), [("int64", "not_measured"), ("", "error")])
def test_only_a_case_of_gigabytes_may_find_no_room(focus, status):
    """Else a submission could say so of any case that it fails."""
    case = next(c for c in cases_of("triton_matmul", 1) if c.focus == focus)
    with Arena(case) as arena:
        judge = Judge(solution("triton_matmul"), "triton_matmul")
        assert judge.judge(case, arena, no_room()).check.status == status


def test_scores_of_few_digits_are_told_from_a_forgotten_maximum(sandbox):
    """On a GPU that multiplies float32 in TF32, only cases with large scores show the digits."""
    step = course.find_step("flash_attention")

    def without_float32(rng):
        return [case for case in step.task.cases(rng) if case.dtype != "float32"]

    asked = replace(step, task=replace(step.task, cases=without_float32))
    files = {"fp16_scores": "low_precision_accumulator", "max_not_subtracted": "max_not_subtracted"}
    for file, cause in files.items():
        submission = read(CORPUS / "flash_attention" / "wrong" / f"{file}.py")
        settings = grading.Settings(SEED, speed=False)
        result = grading.grade_step(submission, asked, sandbox, settings, lambda *_: None)
        assert {check.status for check in result.failed} == {"failed"}
        assert result.hint.cause == cause


TWO_RUNS = """
import os
from types import SimpleNamespace
from triton.backends.nvidia import driver as nvidia
from triton.runtime import driver
from autograder.worker import gpu_start

def build(src, name, **options):
    print("built", name)
    return SimpleNamespace(name=name)

nvidia.compile_module_from_src = build
nvidia.CudaUtils = lambda: nvidia.compile_module_from_src(src="…", name="cuda_utils", libraries=[])
gpu_start.warm_up()
for _ in range(2):
    if (pid := os.fork()) == 0:
        print(nvidia.CudaUtils().name, nvidia.compile_module_from_src(src="…", name="other").name)
        print(driver._active, os.environ.get("TRITON_CACHE_DIR"), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_tritons_library_is_built_once_for_all_runs():
    told = outputs(TWO_RUNS)
    run = ["built other", "cuda_utils other", "None None"]
    assert told == ["built cuda_utils", *run, *run]


def test_a_library_that_cannot_be_built_keeps_no_zygote_from_starting():
    broken = TWO_RUNS.replace('print("built", name)', "raise AssertionError").split("for _")[0]
    assert outputs(broken + "print(driver._active)") == ["None"]


def outputs(code):
    """The lines that a fresh Python prints which runs some code."""
    done = subprocess.run(
        [sys.executable, "-u", "-c", code],
        cwd=course.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


# --- on a GPU ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpu_sandbox():
    with Sandbox(gpu=True) as sandbox:
        yield sandbox


def graded(path, name, sandbox):
    step = course.find_step(name)
    return grading.grade_step(
        read(path), step, sandbox, grading.Settings(SEED, speed=False), lambda *_: None
    )


@pytest.mark.gpu
@pytest.mark.parametrize("name", BATTERY)
def test_reference_solutions_are_right_on_the_gpu(name, gpu_sandbox):
    path = course.ROOT / "solutions" / f"{course.find_step(name).folder}.py"
    result = graded(path, name, gpu_sandbox)
    assert result.status == "passed", [c for c in result.checks if c.status != "passed"]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "file",
    ["wrong/k_tail_unmasked_a", "wrong/store_mask_missing_rows", "wrong/low_precision_accumulator"],
)
def test_wrong_kernels_fail_on_the_gpu(file, gpu_sandbox):
    result = graded(CORPUS / "triton_matmul" / f"{file}.py", "triton_matmul", gpu_sandbox)
    assert result.status == "failed"


@pytest.mark.gpu
def test_a_fault_of_one_case_leaves_the_others_their_gpu(gpu_sandbox, tmp_path):
    source = (course.ROOT / "solutions" / "04_first_kernels.py").read_text(encoding="utf-8")
    path = tmp_path / "wild.py"
    path.write_text(source.replace("offsets, x + y, mask", "2**40 + offsets, x + y, mask"))
    result = graded(path, "vector_add", gpu_sandbox)
    assert "the GPU stopped it" in result.checks[0].message
    assert graded(
        course.ROOT / "solutions" / "04_first_kernels.py", "vector_add", gpu_sandbox
    ).passed
