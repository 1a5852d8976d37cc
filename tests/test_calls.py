"""Steps of plain Python: what is called, compared and said, and what a submission may send back."""

import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import SEED

from autograder import account, calls, course, grading, values
from autograder.sandbox import Outcome
from autograder.steps.calls import Call, CallCase, CallTask, Chosen, Configs, Work, calls_of
from autograder.submission import Cell, Submission

GROUP_MAJOR = """\
def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height
"""


@pytest.fixture
def grade(sandbox):
    """Grades source that defines `f` against cases made for the test."""

    def run(source: str, *cases: CallCase, mistakes=(), timeout: float = 10.0):
        step = course.Step(
            "f", 8, "group_major", 4, False, CallTask(lambda rng: list(cases), mistakes)
        )
        submission = Submission.from_cells(Path("s.py"), [Cell("", "s.py", source)])
        settings = grading.Settings(SEED, timeout)
        return grading.grade_step(submission, step, sandbox, settings, lambda *_: None)

    return run


def case(*calls: Call, name="numbers", **more) -> CallCase:
    return CallCase(name, {}, calls, **more)


def message(result) -> str:
    return result.checks[0].message


# --- what is said -----------------------------------------------------------------------------


def test_the_first_wrong_call_is_told_as_a_beginner_would_write_it(grade_source):
    result = grade_source(GROUP_MAJOR.replace("first + place", "place"), "group_major")
    wrong = next(c for c in result.failed if c.name == "short last group")
    tall, broad, group = wrong.case.values()
    assert (
        f"First: `group_major({group * broad}, {tall}, {broad}, {group})` returned (0, 0), "
        in wrong.message
    )
    assert f"expected ({group}, 0)." in wrong.message
    assert f"{(tall - group) * broad} of {tall * broad} calls are wrong." in wrong.message
    assert "Tile (0, 0) has" in wrong.message
    assert result.hint.cause == "group_map_wrong"
    assert "except in" not in result.hint.text  # the plain case is wrong as well
    assert result.points == 0.8  # of 4, for one case in five: a group larger than the grid


def test_a_seed_draws_the_same_calls_again():
    step = course.find_step("group_major")
    first, again, other = (
        [(c.size, c.calls) for c in grading.battery(step, seed)] for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("returned", "expected", "words"),
    [
        ("2.0", 2, "returned 2.0, expected 2: a float stands where an int belongs."),
        ("True", 1, "returned True, expected 1: a bool stands where an int belongs."),
        ("None", 2, "returned None, expected 2: None stands where an int belongs; is a `return` missing?"),
        ("[1, 2]", (1, 2), "returned [1, 2], expected (1, 2): a list stands where a tuple belongs."),
        ("(1, 2.0)", (1, 2), "a float stands where an int belongs."),
        ("(1, 2, 3)", (1, 2), "3 values, where 2 values belong."),
        ("'2'", 2, "returned '2', expected 2: a str stands where an int belongs."),
        ("torch.tensor(2.0)", 2.0, "a tensor stands where a float belongs."),
        ("torch.tensor([1], dtype=torch.bfloat16)", 2, "a tensor of bfloat16 stands where an int belongs."),
        ("object()", 2, "returned an object, expected 2: an object stands where an int belongs."),
        ("{'a': 1}", {"a": 2.0, "b": 1}, "the keys differ."),
        ("torch.zeros(2, dtype=torch.float64)", np.zeros(2, np.float32), "a tensor of float64 of shape (2,), where float32 of (2,) belongs."),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_told_so(returned, expected, words, grade):
    result = grade(f"import torch\ndef f():\n    return {returned}\n", case(Call((), expected)))
    assert result.status == "failed" and result.points == 0
    assert words in message(result)
    assert (result.hint.cause == "wrong_type") == ("keys" not in words)


@pytest.mark.parametrize(
    ("returned", "expected", "relative", "right"),
    [
        ("0.1 + 0.2", 0.3, 1e-9, True),
        ("0.3001", 0.3, 1e-4, False),
        ("3", 3.0, 0.0, True),  # an int is as good as a float, not the other way round
        ("np.float64(2.5)", 2.5, 0.0, True),
        ("np.int64(7)", 7, 0.0, True),
        ("float('nan')", 1.0, 0.5, False),
        ("float('inf')", math.inf, 0.0, True),
        ("1e300", math.inf, 0.5, False),
        ("2**70", 1, 0.0, False),
        ("2**70", 1.0, 0.5, False),
        ("[[1, (2, None)], 'x']", [[1, (2, None)], "x"], 0.0, True),
        ("{'a': [1]}", {"a": [1]}, 0.0, True),
        ("torch.tensor([1.0, -torch.inf])", np.array([1, -np.inf], np.float32), 1e-6, True),
        ("torch.tensor([1.0, 9e30])", np.array([1, np.inf], np.float32), 0.5, False),
        ("torch.tensor([1.0, torch.nan])", np.array([1, 2], np.float32), 0.5, False),
    ],
)
def test_values_are_compared_as_promised(returned, expected, relative, right, grade):
    source = f"import torch\nimport numpy as np\ndef f():\n    return {returned}\n"
    result = grade(source, case(Call((), expected), relative=relative))
    assert result.passed == right
    assert right or "expected" in message(result)


def test_an_exception_is_told_with_call_and_line(grade):
    both = case(Call((1, 2), 0), Call((1, 0), 0))
    result = grade("def f(a, b):\n    return a // b\n", both)
    assert result.status == "error"
    assert message(result) == (
        "`f(1, 0)` raised ZeroDivisionError: integer division or modulo by zero "
        "at line 2: `return a // b`."
    )
    assert result.checks[0].place == "line 2"
    assert result.hint.cause == "crashed" and "Look at line 2." in result.hint.text


def test_an_error_beside_wrong_values_does_not_hide_the_cause(grade):
    cases = case(Call((1, 2), 0), name="even"), case(Call((1, 0), 0), name="zero")
    known = ("order_wrong", lambda a, b: (a + 1) // b)
    result = grade("def f(a, b):\n    return (a + 1) // b\n", *cases, mistakes=[known])
    assert [c.status for c in result.checks] == ["failed", "error"]
    assert result.hint.cause == "order_wrong"


def test_a_step_that_is_not_written_yet(grade_source):
    source = GROUP_MAJOR.replace(
        "    per_group", "    raise NotImplementedError('x')\n    per_group"
    )
    result = grade_source(source, "group_major")
    assert [c.status for c in result.checks] == ["error"]
    assert message(result) == "`group_major` is not written yet (line 2)."
    assert result.hint.cause == "not_implemented" and "kernel" not in result.hint.text


def test_a_function_that_cannot_be_defined(grade):
    result = grade("import torch\nx = torch.nothing\ndef f():\n    return x\n", case(Call((), 1)))
    assert result.status == "error" and result.hint.cause == "crashed"
    assert message(result).startswith(
        "could not be defined: the code it needs raised AttributeError"
    )


def test_a_call_that_never_ends(grade):
    cases = case(Call((), 1)), case(Call((), 2), name="another")
    result = grade("def f():\n    while True:\n        pass\n", *cases, timeout=1.0)
    assert [c.status for c in result.checks] == ["timed_out"]  # the second would only cost time
    assert "It was at line" in message(result) and result.hint.cause == "timed_out"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("x.sort()", "`f([3, 1], meta={'M': 4})` changed its first argument in place"),
        ("meta['M'] += 1", "changed its argument `meta` in place"),
    ],
)
def test_an_argument_changed_in_place(body, words, grade):
    asked = Call(([3, 1],), 1, {"meta": {"M": 4}})
    result = grade(f"def f(x, meta):\n    {body}\n    return 1\n", case(asked))
    assert words in message(result) and result.hint.cause == "input_modified"


def test_a_changed_tensor_and_a_changed_config_are_seen(grade):
    tensor = Call((np.zeros(3, np.float32),), None)
    assert grade("def f(x):\n    x += 1\n", case(tensor)).hint.cause == "input_modified"
    config = Call((Configs(({"BLOCK_M": 32},)),), None)
    result = grade("def f(x):\n    x[0].kwargs['BLOCK_M'] = 64\n", case(config))
    assert result.hint.cause == "input_modified" and "f(configs)" in message(result)


def test_what_the_code_prints_is_kept(grade):
    result = grade("def f():\n    print('here')\n    return 2\n", case(Call((), 1)))
    assert result.checks[0].printed == "here\n"


def test_long_values_are_cut(grade):
    result = grade("def f(x):\n    return 'y' * 10**6\n", case(Call((list(range(1000)),), "z")))
    assert len(message(result)) < 300


def test_a_mistake_is_named_by_the_most_cases_it_explains(grade):
    cases = [CallCase(str(n), {}, calls_of(lambda a: a * a, [(n,), (n + 1,)])) for n in (2, 3)]
    mistakes = [("group_map_wrong", lambda a: 4 if a < 3 else 6), ("order_wrong", lambda a: 2 * a)]
    assert (
        grade("def f(a):\n    return 2 * a\n", *cases, mistakes=mistakes).hint.cause
        == "order_wrong"
    )
    assert (
        grade("def f(a):\n    return 0\n", *cases, mistakes=mistakes).hint.cause == "wrong_values"
    )


# --- fixtures ---------------------------------------------------------------------------------


def test_configs_come_back_by_their_place(grade):
    entries = tuple({"BLOCK_M": 16 << i, "num_warps": 4, "num_stages": i + 1} for i in range(4))
    asked = Call((Configs(entries), {"M": 64}), [Chosen(0), Chosen(2)], {"extra": 1})
    keep = "def f(configs, named_args, **kwargs):\n    return [c for c in configs if {}]\n"
    right = keep.format("c.num_stages in (1, 3) and named_args['M'] + kwargs['extra'] == 65")
    assert grade(right, case(asked)).passed
    wrong = grade(keep.format("c.kwargs['BLOCK_M'] <= 32"), case(asked))
    assert "`f(configs, {'M': 64}, extra=1)` returned [configs[0], configs[1]]" in message(wrong)
    assert "expected [configs[0], configs[2]]" in message(wrong)
    others = (
        "import triton\ndef f(configs, named_args, **kwargs):\n    return [triton.Config({})]\n"
    )
    assert "1 value, where 2 values belong" in message(grade(others, case(asked)))


def test_pruning_can_ask_the_device_for_its_limits(grade):
    source = (
        "import triton\ndef f():\n    driver = triton.runtime.driver.active\n"
        "    limits = driver.utils.get_device_properties(driver.get_current_device())\n"
        "    return limits['max_shared_mem'] > 0\n"
    )
    assert grade(source, case(Call((), True))).passed


SLOW_FIRST = (80.0, 40.0, 2.0, 2.5, 30.0, 2.25, 2.0)  # two warm-up calls, then five, one an outlier
MEDIAN = statistics.median(SLOW_FIRST[2:])
TIMED = case(Call((Work(SLOW_FIRST), 2, 5), MEDIAN), relative=0.01, world="gpu")
WITH_CLOCK = """\
import time, statistics, torch
def f(fn, warmup, repeats):
    def wait():
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    for _ in range(warmup):
        fn()
    wait()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        wait()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)
"""
WITH_EVENTS = """\
import statistics, torch
def f(fn, warmup, repeats):
    for _ in range(warmup):
        fn()
    pairs = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in pairs)
"""


@pytest.mark.parametrize(
    "source",
    [
        WITH_CLOCK,
        WITH_CLOCK.replace("import time,", "from time import perf_counter_ns as ns\nimport")
        .replace("time.perf_counter()", "ns()")
        .replace("* 1000", "/ 1e6"),
        WITH_CLOCK.replace("perf_counter", "monotonic"),
        WITH_CLOCK.replace("torch.cuda.synchronize()", "torch.cuda.current_stream().synchronize()"),
        WITH_CLOCK.replace("median(times)", "quantiles(times, n=2)[0]"),
        WITH_EVENTS,
        WITH_EVENTS.replace("pairs.append", "end.synchronize()\n        pairs.append"),
        WITH_EVENTS.replace("pairs.append", "while not end.query():\n            pass\n        pairs.append"),
    ],
)  # fmt: skip
def test_right_ways_to_time_a_gpu(source, grade):
    result = grade(source, TIMED)
    assert result.passed, message(result)
    assert result.seconds < 10  # the milliseconds are not waited for


@pytest.mark.parametrize(
    ("source", "returned"),
    [
        (WITH_CLOCK.replace("fn()\n        wait()", "fn()"), 0.002),  # the queue is not waited for
        (WITH_CLOCK.replace("median", "mean"), statistics.mean(SLOW_FIRST[2:])),
        (WITH_CLOCK.replace("range(warmup)", "range(0)"), statistics.median(SLOW_FIRST[:5])),
        (WITH_CLOCK.replace(" * 1000", ""), MEDIAN / 1000),
    ],
)
def test_wrong_ways_to_time_a_gpu_give_the_number_they_would(source, returned, grade):
    text = message(grade(source, TIMED))
    assert text.startswith("`f(fn, 2, 5)` returned ") and "expected 2.25" in text
    assert float(text.split("returned ")[1].split(",")[0]) == pytest.approx(returned, rel=0.1)


def test_events_that_are_not_done_cannot_be_read(grade):
    result = grade(WITH_EVENTS.replace("torch.cuda.synchronize()", "pass"), TIMED)
    assert "Both events must be completed" in message(result)
    result = grade(WITH_EVENTS.replace("enable_timing=True", ""), TIMED)
    assert "enable_timing=True" in message(result)


def test_without_a_gpu_work_takes_the_hosts_time(grade):
    on_cpu = case(*TIMED.calls, relative=0.01, world="cpu")
    assert grade(WITH_CLOCK, on_cpu).passed
    unguarded = WITH_CLOCK.replace("if torch.cuda.is_available():", "if True:")
    assert grade(unguarded, on_cpu).status == "error"


def test_one_call_leaves_nothing_in_the_queue_of_the_next(grade):
    twice = case(*TIMED.calls * 2, relative=0.01, world="gpu")
    assert grade(WITH_CLOCK, twice).passed


# --- what a submission may send back ----------------------------------------------------------

GOOD = {"error": None, "outcomes": [{"error": None, "value": {"tuple": [1, 2]}, "changed": -1}]}
ERROR = {"type": "E", "message": "m", "not_implemented": False, "file": "/run/s.py", "line": 3}


def parsed(told) -> account.Called | None:
    return account.parse_called(json.dumps(told).encode(), "/run")


def test_a_good_account_is_read():
    (outcome,) = parsed(GOOD).outcomes
    assert outcome == account.Returned((1, 2), -1)
    (error,) = parsed({"error": None, "outcomes": [{"error": ERROR}]}).outcomes
    assert error.place == account.Place("s.py", 3)


@pytest.mark.parametrize(
    "value",
    [
        {}, {"tuple": 3}, {"tuple": [1], "list": [2]}, {"odd": []}, {"config": "0"}, {"config": True},
        {"object": 3}, {"dict": [[[1], 2]] * 2 + [1]}, 10**30, -(2**64),
        {"tensor": {"dtype": "float32", "shape": [3], "values": [1.0]}},
        {"tensor": {"dtype": "object", "shape": [1], "values": [1.0]}},
        {"tensor": {"dtype": "int32", "shape": [1], "values": [2**40]}},
        {"tensor": 3}, [[[[[[[[[[1]]]]]]]]]],
    ],
)  # fmt: skip
def test_a_value_of_no_known_form_is_no_account(value):
    assert (
        parsed({"error": None, "outcomes": [{"error": None, "value": value, "changed": -1}]})
        is None
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["tuple", "dict", "tensor", "config", "object", "x"]), inner
        )
    ),
    max_leaves=10,
)
EXPECTED = [1, 2.5, (1, 2), [1.0], {"a": 1}, None, "x", np.zeros(2, np.float32), [Chosen(0)]]


def judge(made: CallCase, told):
    submission = Submission.from_cells(Path("s.py"), [Cell("", "s.py", "def f():\n    pass\n")])
    outcome = Outcome("exited", account=account.parse_called(json.dumps(told).encode(), "/run"))
    return calls.CallJudge(submission, "f").judge_calls(made, outcome)


@settings(max_examples=300, deadline=None)
@given(json_values, json_values, st.sampled_from(EXPECTED))
def test_any_answer_is_judged_without_an_exception(value, changed, expected):
    made = case(Call((), expected), remark=lambda came: "remark")
    told = {"error": None, "outcomes": [{"error": None, "value": value, "changed": changed}]}
    evidence = judge(made, told)
    assert evidence.check.status in ("passed", "failed", "crashed")
    if evidence.check.status == "passed":
        assert values.difference(evidence.outcome.account.outcomes[0].value, expected, 0.0) is None


@pytest.mark.parametrize("outcomes", [[], GOOD["outcomes"] * 2, [{"error": ERROR}] * 3])
def test_another_number_of_answers_is_none(outcomes):
    evidence = judge(case(Call((), (1, 2))), {"error": None, "outcomes": outcomes})
    assert evidence.check.status == "crashed"
    assert "before its result was handed over" in evidence.check.message


def test_a_name_of_a_type_is_no_type():
    """What is sent for a foreign object may call itself a list: it is none."""
    for name, expected in (("list", [1]), ("tuple", (1, 2)), ("int", 1), ("Tensor", np.zeros(1))):
        told = {"error": None, "value": {"object": name}, "changed": -1}
        evidence = judge(case(Call((), expected)), {"error": None, "outcomes": [told]})
        assert evidence.cause == "wrong_type"


def test_an_answer_too_large_to_hand_over_is_a_wrong_one(grade):
    result = grade("def f():\n    return [0] * 10**7\n", case(Call((), [0])))
    assert result.status == "failed" and "too large to hand over" in message(result)


# --- loops over tensors -----------------------------------------------------------------------

LOOPS = """\
import torch
def naive_matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k].float() * b[k, j].float()
    {after}
    return c
"""


def test_loops_need_no_kernel_and_are_not_compiled(grade_source):
    result = grade_source(LOOPS.format(after="print(c, c.mean())"), "naive_matmul")
    assert result.passed and result.xray == []
    assert {c.kind for c in result.checks} == {"correctness"}


@pytest.mark.parametrize(
    ("product", "operator"),
    [
        ("torch.matmul(a, b)", "mm"),
        ("torch.tensordot(a, b, 1)", "mm"),
        ("torch.einsum('ik,kj->ij', a, b)", "bmm"),
        ("a.mv(b[:, 0])", "mv"),
        ("torch.addmm(c, a, b)", "addmm"),
        ("torch.inner(a, b.T)", "mm"),
        ("torch.nn.functional.conv1d(a[None], b.T[:, :, None].transpose(1, 2)[:, :1])", "convolution"),
    ],
)  # fmt: skip
def test_a_library_product_beside_the_loops_is_refused(product, operator, grade_source):
    source = LOOPS.format(after=f"a, b = a.float(), b.float(); {product}")
    result = grade_source(source, "naive_matmul")
    assert result.status == "refused" and result.points == 0
    assert f"torch.{operator}" in message(result) and "your own loops" in message(result)
    assert result.hint.cause == "library_call" and "kernel" not in result.hint.text


def test_a_wrong_loop_is_told_without_words_of_kernels(grade_source):
    source = LOOPS.format(after="pass").replace("range(a.shape[1])", "range(1, a.shape[1])")
    result = grade_source(source, "naive_matmul")
    assert result.hint.cause == "k_tail_dropped" and "kernel" not in result.hint.text
    short = LOOPS.format(after="pass").replace("for i", "assert b.numel()\n    for i", 1)
    text = grade_source(short, "naive_matmul").hint.text
    assert text.startswith("Your function is right except in: “nothing to add up”.")


# --- beside the grading -----------------------------------------------------------------------


def test_the_commands_know_steps_of_plain_python(autograder, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(GROUP_MAJOR)
    graded = autograder("grade", path, "--junit", tmp_path / "j.xml", "--html", tmp_path / "h.html")
    assert graded.code == 0, graded.out
    (step,) = graded.json["submissions"][0]["steps"]
    assert step["step"] == "group_major" and step["passed"] and step["xray"] == []
    assert {c["kind"] for c in step["checks"]} == {"correctness"}
    assert 'name="short last group"' in (tmp_path / "j.xml").read_text()
    looked = autograder("xray", path, "--json", tmp_path / "x.json")
    assert looked.code == 0
    assert "group_major, plain Python: there is no kernel to look at" in looked.out
    assert json.loads((tmp_path / "x.json").read_text())["steps"][0]["targets"] == []


TWO_TIMES = """\
import time, torch
def f(fn, other):
    def ms(call):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1000
    return [ms(fn), ms(fn), ms(other), ms(fn)]
"""


def test_work_that_follows_itself_finds_its_data_in_the_cache(grade):
    fn, other = Work((8.0, 7.0, 6.0), again=1.0), Work((20.0,), name="other")
    right = case(Call((fn, other), [8.0, 1.0, 20.0, 6.0]), relative=0.01, world="gpu")
    assert grade(TWO_TIMES, right).passed
    text = message(grade(TWO_TIMES.replace("ms(other)", "20.0"), right))
    assert text.startswith("`f(fn, other)` returned [8.0021, 1.0021, 20.0, 1.0021]")
