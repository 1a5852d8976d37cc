"""What a compiler sees that the interpreter does not, and that nothing else is called a fault."""

import json
from pathlib import Path

import pytest
import triton
from corpus_files import CORPUS, left_behind
from seeds import SEED

from autograder import account, compile_check, course, grading
from autograder.account import Compiled, Error, Kernel, Place
from autograder.compile_check import Compilation
from autograder.sandbox import Outcome
from autograder.submission import Cell, Submission, read
from autograder.targets import TARGETS

HEAD = "import torch, triton\nimport triton.language as tl\n"
ADD = """\
{extra}
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {body}
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.load(y_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x + y, mask=i < n)

def vector_add(x, y):
    {before}
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out
"""
# One 32×32 tile of a product; {dot} adds to `acc` what tiles `a` and `b` give.
DOT = """\
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, T: tl.constexpr):
    i = tl.arange(0, T)
    acc = {start}
    for k in range(0, K, T):
        a = tl.load(a_ptr + i[:, None] * K + k + i[None, :]){cast}
        b = tl.load(b_ptr + (k + i[:, None]) * T + i[None, :]){cast}
        {dot}
    tl.store(c_ptr + i[:, None] * T + i[None, :], acc)

def tile_matmul(a, b):
    c = torch.empty((32, 32), device=a.device)
    kernel[(1,)](a, b, c, a.shape[1], T=32)
    return c
"""
ZEROS = "tl.zeros((T, T), dtype=tl.float32)"


def add(body="pass", before="pass", extra=""):
    return HEAD + ADD.format(body=body, before=before, extra=extra)


def dot(dot="acc = tl.dot(a, b, acc)", start=ZEROS, cast=""):
    return HEAD + DOT.format(dot=dot, start=start, cast=cast)


@pytest.fixture(scope="module")
def compiled(sandbox):
    """Source, step, target → what the compiler made of it, and the submission."""

    def run(source: str, step: str = "vector_add", target: str = "sm_80", **options):
        submission = Submission.from_cells(Path("s.py"), [Cell("", "s.py", source)])
        case = grading.battery(course.find_step(step), SEED)[0]
        done = compile_check.compile_step(
            submission, step, case, TARGETS[target], sandbox.compiler, **options
        )
        return done, submission

    return run


def check(compiled_pair, ieee=False):
    """Every finding's (name, kind, status, message) and cause, as a step would show it."""
    compilation, submission = compiled_pair
    case = grading.battery(course.find_step("vector_add"), SEED)[0]
    return compile_check.findings([compilation], submission, case, ieee)


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "words", "line", "advice"),
    [
        ({"body": "i = i + FIRST", "extra": "FIRST = 0"}, "Cannot access global variable FIRST", "line 7: `i = i + FIRST`", "`FIRST: tl.constexpr`"),
        ({"body": "at = {'i': i}"}, "unsupported AST node type: Dict", "line 7: `at = {'i': i}`", "no lists or dictionaries"),
        ({"body": "i = same(i)", "extra": "def same(i): return i"}, "<function same>", "line 5: `def kernel", "Put `@triton.jit` above the helper"),
        ({"body": "i += tl.arange(0, 24)"}, "must be a power of 2", "line 7: `i += tl.arange(0, 24)`", "a power of two"),
        ({"body": "for k in range(n):\n        if k > 2:\n            break"}, "unsupported AST node type: Break", "line 9: `break`", "cannot be left early"),
        ({"body": "i = np.add(i, 0)", "extra": "import numpy as np"}, "Unsupported function referenced: <ufunc 'add'>", "line 5: `def kernel", "do not run inside a kernel"),
    ],
)  # fmt: skip
def test_what_only_the_compiler_refuses_is_told_in_its_words(compiled, parts, words, line, advice):
    (finding,) = check(compiled(add(**parts)))
    assert (finding.check.kind, finding.check.status) == ("compile", "failed")
    assert finding.check.message.startswith("the compiler refuses this kernel: ")
    assert words in finding.check.message and line in finding.check.message
    assert finding.cause == "does_not_compile" and advice in finding.advice


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_other_gpus_refuse_the_same(compiled, target):
    (finding,) = check(compiled(add("at = [i]\n    at.append(i)"), target=target))
    assert finding.check.name == f"compiles for {target}"
    assert finding.check.status == "failed"


def test_a_variable_that_changes_its_type_in_a_loop_is_refused(compiled):
    source = dot("acc += tl.dot(a, b)", start="0")
    finding = check(compiled(source, "tile_matmul"))[0]
    assert "Loop-carried variable acc has initial type int32" in finding.check.message
    assert finding.advice.startswith("Give `acc` its final shape and type before the loop")


def test_the_same_message_is_not_told_twice(compiled):
    refusal = Error("CompilationError", "no", False, Place())
    pair = [Compilation(TARGETS[name], refusals=(refusal,)) for name in ("sm_80", "sm_90")]
    _, submission = compiled(add())
    case = grading.battery(course.find_step("vector_add"), SEED)[0]
    messages = [f.check.message for f in compile_check.findings(pair, submission, case, False)]
    assert messages == ["the compiler refuses this kernel: no.", "the same as for sm_80."]


def kernel(**facts) -> Kernel:
    usual = {
        "name": "k", "place": Place(), "constants": {}, "warps": 4, "stages": 3, "shared": 0,
        "registers": 32, "stack": 0, "spill_stores": 0, "spill_loads": 0, "instructions": {},
        "dots": (), "listings": {},
    }  # fmt: skip
    return Kernel(**(usual | facts))


@pytest.mark.parametrize(
    ("target", "shared", "message"),
    [
        ("sm_90", 262144, "`k` cannot be launched: it needs 262,144 bytes of shared memory, sm_90 has 232,448."),
        ("sm_90", 232448, ""),
        ("sm_80", 166913, "`k` cannot be launched: it needs 166,913 bytes of shared memory, sm_80 has 166,912."),
        ("gfx942", 65537, "`k` cannot be launched: it needs 65,537 bytes of shared memory, gfx942 has 65,536."),
    ],
)  # fmt: skip
def test_shared_memory_is_held_against_the_gpu(compiled, target, shared, message):
    _, submission = compiled(add())
    made = Compilation(TARGETS[target], (kernel(shared=shared),))
    status, told, cause = compile_check.verdict(made, submission)
    assert told == message
    expected = ("failed", "shared_memory_exceeded") if message else ("passed", "")
    assert (status, cause) == expected


# --- precision --------------------------------------------------------------------------------


def precision(findings):
    (found,) = [f for f in findings if f.check.kind == "precision"]
    return found


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "gfx942"])
def test_a_dot_that_adds_up_in_float16_is_found(compiled, target):
    source = dot("acc += tl.dot(a, b, out_dtype=tl.float16)")
    found = precision(check(compiled(source, "tile_matmul", target)))
    assert found.check.status == "failed" and found.cause == "low_precision_accumulator"
    assert found.check.message == (
        "a dot adds up its products in float16 at line 10: "
        "`acc += tl.dot(a, b, out_dtype=tl.float16)`."
    )


def test_a_float32_accumulator_passes(compiled):
    assert precision(check(compiled(dot(), "tile_matmul"))).check.status == "passed"


@pytest.mark.parametrize(
    ("line", "promised", "cause"),
    [
        ("acc = tl.dot(a, b, acc)", True, "tf32_where_fp32_promised"),
        ("acc = tl.dot(a, b, acc)", False, ""),
        ('acc = tl.dot(a, b, acc, input_precision="ieee")', True, ""),
        ('acc = tl.dot(a, b, acc, input_precision="tf32x3")', True, ""),
    ],
)
def test_tf32_fails_only_where_float32_is_promised(compiled, line, promised, cause):
    pair = compiled(dot(line, cast=".to(tl.float32)"), "tile_matmul")
    found = precision(check(pair, ieee=promised))
    assert found.cause == cause
    if cause:
        assert found.check.message == (
            "a dot of float32 tiles is computed in TF32, where this step promises float32 "
            "accuracy at line 10: `acc = tl.dot(a, b, acc)`."
        )


def test_a_sum_of_products_is_judged_as_what_the_compiler_makes_of_it(compiled):
    """Up to Triton 3.7 a TF32 dot, from 3.8 on a sum."""
    line = "acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)"
    compilation, _ = compiled(dot(line, cast=".to(tl.float32)"), "tile_matmul")
    precisions = [d.precision for k in compilation.kernels for d in k.dots]
    older = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 8)
    assert ("tf32" in precisions) == older


# --- what cannot be judged --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("assert x.is_cuda, 'a GPU is needed'", "raised AssertionError: a GPU is needed at line 13"),
        ("y = y if x.sum().item() > 0 else x", "raised RuntimeError: Tensor.item() cannot be called on meta tensors at line 13"),
        ("return x", "not judged: no kernel was launched."),
        ("import os; os._exit(0)", "the compiling process ended without an answer."),
        ("raise NotImplementedError('yours')", "not judged: it is not written yet (line 13)."),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_not_measured_and_says_why(compiled, before, words):
    (finding,) = check(compiled(add(before=before)))
    assert finding.check.status == "not_measured" and finding.cause == ""
    assert words in finding.check.message


def test_a_missing_assembler_is_not_the_learners_fault(compiled):
    _, submission = compiled(add())
    refusal = Error("RuntimeError", "Cannot find ptxas-blackwell", False, Place())
    outcome = Outcome("exited", account=Compiled((), (refusal,), None))
    made = compile_check._compilation(TARGETS["sm_100"], outcome, submission)
    status, message, _ = compile_check.verdict(made, submission)
    assert status == "not_measured"
    assert message.endswith("could not run the compiler: Cannot find ptxas-blackwell.")


def test_a_compilation_leaves_no_process_behind(compiled, sandbox):
    before = "import os, time; os.fork() or (os.setsid(), time.sleep(300))"
    compilation, _ = compiled(add(before=before))
    assert [k.name for k in compilation.kernels] == ["kernel"]
    assert left_behind(sandbox.compiler) == []


# --- in a grading -----------------------------------------------------------------------------


def compile_checks(result):
    return [c for c in result.checks if c.kind in ("compile", "precision")]


def test_a_right_step_passes_for_both_gpus(grade_file):
    result = grade_file(CORPUS / "triton_matmul" / "honest" / "tiles_of_64.py", "triton_matmul")
    assert [(c.name, c.status) for c in compile_checks(result)] == [
        ("compiles for sm_80", "passed"),
        ("compiles for sm_90", "passed"),
        ("precision of tl.dot", "passed"),
    ]
    assert [view["target"] for view in result.xray] == ["sm_80", "sm_90"]


def test_a_kernel_that_does_not_compile_costs_points_and_is_told_what_to_do(grade_source):
    result = grade_source(add("at = {'i': i}"), "vector_add")
    assert {c.status for c in result.checks if c.kind == "correctness"} == {"passed"}
    assert [c.status for c in compile_checks(result)] == ["failed", "failed"]
    assert result.points < result.max_points and not result.passed
    assert result.hint.cause == "does_not_compile"
    assert result.hint.text.startswith("Keep one tensor instead of a collection")


@pytest.mark.parametrize(
    "before", ["raise NotImplementedError", "return x + y", "import os; os._exit(3)", "1 / 0"]
)
def test_no_noise_where_the_first_case_does_not_run(grade_source, before):
    assert compile_checks(grade_source(add(before=before), "vector_add")) == []


def test_only_the_first_configuration_is_compiled_unless_all_are_asked_for(compiled):
    configs = "[triton.Config({'BLOCK': 256}), triton.Config({'BLOCK': 512})]"
    source = add().replace("@triton.jit", f"@triton.autotune({configs}, key=['n'])\n@triton.jit")
    source = source.replace(", BLOCK=1024", "")
    first, _ = compiled(source)
    assert [k.constants["BLOCK"] for k in first.kernels] == ["256"]
    every, _ = compiled(source, all_configs=True)
    assert [k.constants["BLOCK"] for k in every.kernels] == ["256", "512"]


# --- the border -------------------------------------------------------------------------------

TOLD = {
    "device": "meta",
    "kernels": [
        {"name": "k", "file": "/run/s.py", "line": 3, "constants": {"BLOCK": "64"}, "warps": 4,
         "stages": 3, "shared": 1024, "registers": 40, "stack": 0, "spill_stores": 0,
         "spill_loads": 0, "instructions": {"ld.global.b32": 2}, "listings": {"ptx": "add;\n"},
         "dots": [{"operand": "f16", "accumulator": "f32", "precision": "tf32",
                   "file": "/run/s.py", "line": 9}]}
    ],
    "refusals": [],
    "error": None,
}  # fmt: skip


def told(**changes) -> bytes:
    return json.dumps({**TOLD, "kernels": [{**TOLD["kernels"][0], **changes}]}).encode()


def test_a_good_account_is_read():
    (made,) = account.parse_compiled(told(), "/run").kernels
    assert (made.shared, made.registers, made.instructions) == (1024, 40, {"ld.global.b32": 2})
    assert made.dots[0].place == Place("s.py", 9)


@pytest.mark.parametrize(
    "changes",
    [{"shared": -1}, {"registers": 1e9}, {"warps": "4"}, {"instructions": {"a": 2**40}}, {"name": 7}],
)  # fmt: skip
def test_numbers_that_cannot_be_are_no_account(changes):
    assert account.parse_compiled(told(**changes), "/run") is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_rubbish_is_no_account(data):
    assert account.parse_compiled(data, "/run") is None


def test_nothing_that_a_terminal_obeys_gets_through():
    changes = {"name": "k\x1b[2J", "listings": {"ptx": "add;\x1b[31m\n"}, "warps": 0}
    (made,) = account.parse_compiled(told(**changes), "/run").kernels
    assert (made.name, made.listings["ptx"], made.warps) == ("k[2J", "add;[31m\n", 1)


def test_every_reference_solution_compiles(sandbox):
    for step in (s for s in course.STEPS if s.task.kernel):
        submission = read(course.ROOT / "solutions" / f"{step.folder}.py")
        case = grading.battery(step, SEED)[0]
        for name in ("sm_80", "sm_90"):
            made = compile_check.compile_step(
                submission, step.name, case, TARGETS[name], sandbox.compiler
            )
            assert compile_check.verdict(made, submission) == ("passed", "", ""), step.name
