"""Speed: what is timed, how a timing is judged, and on a GPU the whole of it.

The referee itself needs a GPU. What it hands to the verdict is made up here.
"""

import math
import multiprocessing
import re
from dataclasses import replace

import pytest
import torch
from corpus_files import CORPUS

from autograder import course, formats
from autograder.account import Contest, parse_contest
from autograder.speed import judging, lock
from autograder.speed.layout import lay_out
from autograder.speed.measured import Measured
from autograder.speed.workloads import COPY, WORKLOADS
from autograder.submission import read
from autograder.worker.contest import Watch

MATMUL = WORKLOADS["triton_matmul"]
GPU = "NVIDIA H200"


OWN = Contest("call", None, None, ("matmul_kernel",), ("matmul_kernel",), 0.0)


def judged(times, threshold=0.5, workload=MATMUL):
    found = judging.performance(workload, times, OWN, GPU, threshold)
    return judging.judge(workload, times, found), found


def measured(calls, reference, **more):
    """Measured times of a GPU that is free and steady, of which `more` says what is not."""
    usual = {
        "events": list(calls),
        "profiled": [call + 4e-5 for call in calls[:2]],
        "copies": [0.0],
        "alone": 4e-4,
        "after": 4e-4,
        "reference_bytes": MATMUL.bytes,
        "first_call_s": 1.5,
        "bandwidth": 4e12,
        "product_rate": 9e14,
    }
    return Measured(list(calls), reference=list(reference), **{**usual, **more})


def steady(share, rounds=5):
    """Times of a kernel with that share of the library's speed."""
    return measured([4e-4 / share] * rounds, [4e-4] * rounds)


# --- what is timed --------------------------------------------------------------------------------


def test_every_step_whose_speed_counts_has_a_workload_and_no_other():
    assert set(WORKLOADS) == {step.name for step in course.STEPS if step.speed}


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_a_workload_exceeds_the_caches_of_any_gpu(workload):
    assert workload.bytes > 1.5 * 60 * 2**20  # an H200 has 60 MB of L2 cache, a T4 has 4
    assert 0 < workload.threshold < 1


def test_a_product_counts_two_operations_for_each_multiplication():
    M, N, K = (MATMUL.shape[name] for name in "MNK")
    assert MATMUL.flops == 2 * M * N * K
    assert MATMUL.bytes == 2 * (M * K + K * N + M * N)


def test_only_steps_that_need_tensor_cores_have_no_threshold_without_them():
    assert {w.step for w in WORKLOADS.values() if not w.tensor_cores} >= {
        w.step for w in WORKLOADS.values() if w.library == COPY
    }
    assert not WORKLOADS["ieee_matmul"].tensor_cores


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("calls", [8, 17, 64])
def test_every_call_of_a_turn_has_inputs_and_places_of_its_own(name, calls):
    layout = lay_out(WORKLOADS[name], calls)
    pools = [len(pool) for pool in layout.pools]
    assert (pools[0] if len(pools) == 1 else pools[0] * pools[1]) >= calls
    assert len(layout.slots) == calls
    places = [place for row in (*layout.pools, *layout.slots) for place in row]
    ends = [p.start + math.prod(p.shape) * formats.itemsize(p.dtype) for p in places]
    starts = sorted(place.start for place in places)[1:]
    assert all(end <= start for end, start in zip(sorted(ends), [*starts, layout.size]))


# --- the verdict ----------------------------------------------------------------------------------


def test_above_the_threshold_passes_and_below_it_fails():
    check, found = judged(steady(0.6))
    assert (check.status, found["passed"]) == ("passed", True)
    check, found = judged(steady(0.4))
    assert (check.status, found["passed"]) == ("failed", False)
    assert check.message == "Right, and slower than the threshold asks for."


def test_performance_has_the_fields_of_the_contract_from_the_measured_times():
    _, found = judged(steady(0.5))
    assert found["shape"] == MATMUL.shape
    assert found["ratio"] == 0.5
    assert found["tflops"] == pytest.approx(MATMUL.flops / 8e-4 / 1e12, rel=1e-3)
    assert found["reference_tflops"] == pytest.approx(2 * found["tflops"], rel=1e-3)
    assert found["threshold_tflops"] == pytest.approx(found["tflops"], rel=1e-3)
    assert found["bound"] == "compute"
    assert found["attainable_tflops"] == 900


def test_what_the_copy_of_a_result_takes_is_not_the_kernels_time():
    times = steady(0.5)
    times.copies = [4e-4]
    assert judged(times)[1]["ratio"] == 1.0


def test_a_step_that_moves_bytes_is_compared_by_the_byte():
    workload = WORKLOADS["row_max"]
    R, C = workload.operands[0]
    times = measured([2e-4] * 5, [4e-4] * 5, reference_bytes=2 * 2 * R * C)
    found = judging.performance(workload, times, OWN, GPU, 0.5)
    # Half the time of a copy, for a little more than half of its bytes.
    assert found["ratio"] == pytest.approx(1.0, rel=1e-3)
    assert found["bound"] == "memory"


def test_two_clocks_that_disagree_are_refused():
    times = steady(0.9)
    times.events = [0.3 * call for call in times.calls]
    check, _ = judged(times)
    assert check.status == "refused"
    assert "0.30 times that by the events" in check.message


def test_other_work_where_a_profiler_watches_is_refused():
    times = steady(0.9)
    times.profiled = [1.3e-3, 1.3e-3]
    check, _ = judged(times)
    assert check.status == "refused"
    assert "1.3 ms in turns that a profiler watched and 0.444 ms in the others" in check.message


def test_faster_than_the_gpu_can_be_is_refused():
    check, _ = judged(measured([1e-4] * 5, [4e-4] * 5))
    assert check.status == "refused"
    assert "needs" in check.message and "cannot be believed" in check.message


def test_a_library_that_is_slow_only_beside_the_submission_is_refused_and_gives_no_advantage():
    times = measured([4e-4] * 5, [6e-4] * 5)
    check, found = judged(times)
    assert check.status == "refused"
    assert "goes on when its call has ended" in check.message
    assert found["ratio"] == pytest.approx(judging.DRIFT, rel=1e-3)


def test_a_library_that_stays_slow_afterwards_means_that_somebody_else_uses_the_gpu():
    times = measured([6e-4] * 5, [6e-4] * 5, after=6e-4)
    check, _ = judged(times)
    assert check.status == "not_measured"
    assert "somebody else uses this GPU" in check.message


def test_an_unsteady_library_around_the_threshold_is_too_noisy_and_an_unsteady_kernel_is_not():
    times = measured([6e-4] * 6, [2e-4, 2e-4, 3e-4, 3e-4, 4e-4, 4e-4])
    check, _ = judged(times, threshold=0.5)
    assert check.status == "not_measured"
    assert "too noisy" in check.message
    times = measured([4e-4, 4e-4, 6e-4, 9e-4, 9e-4, 9e-4], [4e-4] * 6)
    assert judged(times, threshold=0.5)[0].status == "passed"


def test_without_a_threshold_any_speed_passes():
    check, found = judged(steady(0.01), threshold=0.0)
    assert check.status == "passed"
    assert found["threshold_tflops"] == 0


# --- whose kernels ran ----------------------------------------------------------------------------

FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, …>"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::sum_functor<…"


@pytest.mark.parametrize(
    "ran, allowed, foreign",
    [
        ((), (), ""),
        (("matmul_kernel", FILL, "Memcpy DtoD (Device -> Device)"), (), ""),
        (("matmul_kernel", "nvjet_sm90_hsh_256x128"), (), "nvjet_sm90_hsh_256x128"),
        (("matmul_kernel", SUM), (), SUM),
        (("matmul_kernel", SUM), ("sum",), ""),
    ],
)
def test_a_kernel_that_is_not_the_submissions_is_named(ran, allowed, foreign):
    assert judging.foreign_kernel(replace(OWN, kernels=ran), frozenset(allowed)) == foreign


def test_an_account_that_is_not_of_the_form_counts_as_none():
    good = b'{"stage": "call", "error": null, "refusal": null, "launched": ["k"], "kernels": [], "tuning_s": 0.5}'
    assert parse_contest(good, "/run") == Contest("call", None, None, ("k",), (), 0.5)
    for bad in (b"", b"[]", b"{}", good.replace(b'["k"]', b"[1]"), good.replace(b"0.5", b'"x"')):
        assert parse_contest(bad, "/run") is None


# --- one timing at a time -------------------------------------------------------------------------


def _hold_shared(ready, release):
    with lock.shared(lambda: None):
        ready.set()
        release.wait(60)


def test_a_timing_waits_for_gradings_and_says_so_and_keeps_later_ones_out():
    context = multiprocessing.get_context("fork")
    ready, release = context.Event(), context.Event()
    grading = context.Process(target=_hold_shared, args=(ready, release))
    grading.start()
    assert ready.wait(60)
    waited = []

    def waiting():
        waited.append(1)
        release.set()

    with lock.alone(waiting):
        assert waited
        later_ready, later_release = context.Event(), context.Event()
        later_release.set()
        later = context.Process(target=_hold_shared, args=(later_ready, later_release))
        later.start()
        assert not later_ready.wait(0.5)
    assert later_ready.wait(60)
    grading.join(60)
    later.join(60)
    assert grading.exitcode == later.exitcode == 0


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, told",
    [
        ("softmax", "is not STEP=SHARE"),
        ("softmax=fast", "is not STEP=SHARE"),
        ("softmax=9", "not a share of the library's speed"),
        ("nothing=0.5", "is not a step"),
        ("merge=0.5", "the speed of merge does not count"),
    ],
)
def test_a_threshold_that_cannot_be_used_is_told_in_one_line(autograder, given, told):
    path = course.ROOT / "solutions" / "05_softmax.py"
    done = autograder("grade", path, "--threshold", given)
    assert done.code == 2
    assert re.search(re.escape(told), " ".join(done.err.replace("│", " ").split()))


def test_what_an_operator_of_the_submissions_own_does_is_watched_by_the_clock_too(monkeypatch):
    monkeypatch.setattr(torch.library.Library, "impl", torch.library.Library.impl)  # put back after
    watch = Watch("/of the learner", [])
    watch.open_operators()

    @torch.library.custom_op("watched::copied", mutates_args=())
    def copied(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @torch.library.custom_op("watched::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with watch:
        copied(torch.ones(2))
    assert watch.refusal is None
    with watch:
        doubled(torch.ones(2))
    assert watch.refusal["what"] == "the operator torch.mul"


# --- on a GPU -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sandbox():
    from autograder.sandbox import Sandbox

    with Sandbox(gpu=True) as sandbox:
        yield sandbox


def check_of(path, name, sandbox, threshold=None):
    from autograder.speed.grade import speed_check

    return speed_check(read(path), course.find_step(name), sandbox, threshold)


@pytest.mark.gpu
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_reference_solutions_reach_their_thresholds(name, sandbox):
    path = course.ROOT / "solutions" / f"{course.find_step(name).folder}.py"
    check, found = check_of(path, name, sandbox)
    assert (check.status, check.message) == ("passed", "")
    assert found["ratio"] >= found["threshold_ratio"]


@pytest.mark.gpu
def test_a_threshold_that_is_not_reached_fails(sandbox):
    path = course.ROOT / "solutions" / "06_triton_matmul.py"
    check, found = check_of(path, "triton_matmul", sandbox, threshold=1.4)
    assert check.status == "failed"
    assert not found["passed"]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "file, told",
    [
        ("triton_matmul/clock/library_by_ctypes", "which is no kernel of yours"),
        ("triton_matmul/clock/half_of_k", "A result of the timed calls is not right"),
        ("vector_add/clock/marks_done_early", "A result of the timed calls is not right"),
    ],
)
def test_who_cheats_the_clock_does_not_pass(file, told, sandbox):
    check, found = check_of(CORPUS / f"{file}.py", file.split("/")[0], sandbox)
    assert check.status in ("failed", "refused")
    assert told in check.message
    assert found is None
