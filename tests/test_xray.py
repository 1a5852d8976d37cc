"""`xray`: occupancy by hand, what instructions mean, the code with lines, and the command."""

import json
from pathlib import Path

import pytest
from corpus_files import CORPUS
from test_compile_check import HEAD, kernel

from autograder import compile_check, course, grading, inspection, xray
from autograder.account import Dot, Place
from autograder.submission import Cell, Submission, read
from autograder.targets import TARGETS, occupancy

MATMUL = CORPUS / "triton_matmul" / "honest" / "tiles_of_64.py"
ADD = CORPUS / "vector_add" / "honest" / "plain.py"


# --- occupancy, worked by hand ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "registers", "shared", "warps", "programs", "percent", "limit"),
    [
        # 128 · 32 = 4096 registers a warp; a quarter of the file, 16384, holds 4: 16 warps, 2 · 8.
        ("sm_80", 128, 0, 8, 2, 25.0, "registers"),
        # 255 · 32 = 8160, handed out as 8192: 2 a quarter, 8 warps, 2 programs of 4; 8 of 64.
        ("sm_80", 255, 0, 4, 2, 12.5, "registers"),
        # 168 · 32 = 5376: 3 a quarter (3.05), 12 warps, so one program of 8.
        ("sm_80", 168, 65536, 8, 1, 12.5, "registers"),
        # 98304 + 1024 = 99328 bytes; 233472 / 99328 = 2.35.
        ("sm_90", 64, 98304, 8, 2, 25.0, "shared memory"),
        # 32 · 32 = 1024: 64 warps by registers; 48 warps are allowed: 12 programs of 4.
        ("sm_86", 32, 0, 4, 12, 100.0, "warps"),
        # One warp a program: 32 programs are allowed, half of 64 warps.
        ("sm_80", 16, 0, 1, 32, 50.0, "blocks"),
        # 65536 / 16384 = 4 programs of 4 of 32 warps.
        ("sm_75", 32, 16384, 4, 4, 50.0, "shared memory"),
        # 33 registers: 1056, handed out as 1280: 12 a quarter, 48 warps, 12 programs.
        ("sm_80", 33, 0, 4, 12, 75.0, "registers"),
        # 512 registers a lane and scheduler; 130 are handed out as 136: 3, so 12 wavefronts.
        ("gfx942", 130, 0, 4, 3, 37.5, "registers"),
        ("gfx942", 32, 20000, 4, 3, 37.5, "shared memory"),  # 65536 / 20480 = 3.2
        ("sm_90", 32, 232449, 4, 0, 0.0, "shared memory"),
    ],
)
def test_occupancy(target, registers, shared, warps, programs, percent, limit):
    found = occupancy(TARGETS[target], registers, shared, warps)
    assert (found.programs, found.percent, found.limit) == (programs, percent, limit)


def test_a_program_may_ask_for_one_kilobyte_less_than_its_sm_has():
    assert TARGETS["sm_80"].shared_block == 163 * 1024
    assert TARGETS["sm_90"].shared_block == 227 * 1024
    assert TARGETS["sm_75"].shared_block == 64 * 1024


# --- what instructions mean -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("ld.global.v4.b32", "loads", {16: 3}),
        ("ld.global.L1::evict_last.v2.b32", "loads", {8: 3}),
        ("ld.global.b16", "loads", {2: 3}),
        ("st.global.v2.b64", "stores", {16: 3}),
        ("ld.shared.v4.b32", "loads", {}),
        ("cp.async.cg.shared.global 16", "async_copies", {16: 3}),
        ("cp.async.ca.shared.global 4", "async_copies", {4: 3}),
        ("cp.async.commit_group", "async_copies", {}),
        ("global_load_dwordx4", "loads", {16: 3}),
        ("buffer_load_dword", "loads", {4: 3}),
        ("buffer_load_ushort", "loads", {2: 3}),
        ("buffer_load_ubyte", "loads", {1: 3}),
        ("global_store_b64", "stores", {8: 3}),
        ("ds_read_b128", "loads", {}),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier", "tma", 3),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "tensor_core", {"mma.m16n8k16.f32.f16.f16.f32": 3}),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "tensor_core", {"wgmma.mma_async.m64n64k16.f32.f16.f16": 3}),
        ("wgmma.fence.sync.aligned", "tensor_core", {}),
        ("tcgen05.mma.cta_group::1.kind::f16", "tensor_core", {"tcgen05.mma.cta_group::1.kind::f16": 3}),
        ("v_mfma_f32_32x32x8_f16", "tensor_core", {"v_mfma_f32_32x32x8_f16": 3}),
    ],
)  # fmt: skip
def test_instructions(name, field, expected):
    view = inspection.view(kernel(instructions={name: 3}), TARGETS["sm_90"])
    assert getattr(view, field) == expected


DOT = (Dot("f16", "f32", "tf32", Place()),)
IEEE = (Dot("f32", "f32", "ieee", Place()),)
MMA = {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": 8}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"shared": 300_000}, "It cannot be launched: it needs 300,000 bytes of shared memory, sm_90 has 232,448."),
        ({"spill_stores": 40, "spill_loads": 60}, "100 bytes a thread go through memory: use a smaller tile or more warps than 4"),
        ({"dots": DOT}, "no tensor core of this GPU takes them"),
        ({"dots": IEEE}, "the price of float32 accuracy"),
        ({"instructions": {"ld.global.b16": 4}}, "Each thread loads 2 bytes at a time"),
        ({"instructions": {"ld.global.b32": 4}}, "Nothing stands out"),
        ({"registers": 255}, "limited by registers: a smaller tile"),
        ({"registers": 255, "dots": DOT, "instructions": MMA}, "Nothing stands out"),
    ],
)  # fmt: skip
def test_the_one_thing_to_change(facts, words):
    assert words in inspection.view(kernel(**facts), TARGETS["sm_90"]).advice


@pytest.fixture(scope="module")
def view_of(sandbox):
    """Submission, step, target → the view of its one kernel."""

    def look(submission, step: str, target: str, listings=()):
        case = grading.battery(course.find_step(step), 0)[0]
        made = compile_check.compile_step(
            submission, step, case, TARGETS[target], sandbox.compiler, listings
        )
        (view,) = inspection.views(made)
        return view

    return look


@pytest.mark.parametrize(
    ("target", "name"),
    [("sm_80", "mma.m16n8k16."), ("sm_90", "wgmma.mma_async."), ("gfx942", "v_mfma_f32_")],
)
def test_tensor_cores_are_found_on_every_gpu(view_of, target, name):
    view = view_of(read(MATMUL), "triton_matmul", target)
    assert [n for n in view.tensor_core if n.startswith(name)]
    assert view.kernel.registers > 16 and view.kernel.spill_stores == 0
    # Two operands of 64 × 64 × 2 bytes, in two or three buffers: how many is the compiler's choice.
    assert view.kernel.shared in (16384, 32768, 49152)
    assert max([*view.loads, *view.async_copies]) == 16


COPY = """\
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + {index})
    tl.store(out_ptr + i, x + tl.load(y_ptr + {index}))

def vector_add(x, y):
    out = torch.empty_like(x)
    kernel[(4,)](x, y, out, BLOCK=1024)
    return out
"""


@pytest.mark.parametrize("target", ["sm_80", "gfx942"])
@pytest.mark.parametrize(("index", "width"), [("i", 16), ("i * 3", 4)])
def test_a_stride_costs_the_width_of_loads(view_of, target, index, width):
    source = HEAD + COPY.format(index=index)
    submission = Submission.from_cells(Path("s.py"), [Cell("", "s.py", source)])
    view = view_of(submission, "vector_add", target)
    assert set(view.loads) == {width}
    assert set(view.stores) == {16}


# --- the code ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "kind", "instruction"),
    [("sm_80", "ptx", "ld.global"), ("sm_80", "sass", "LDG.E"), ("gfx942", "sass", "buffer_load")],
)
def test_code_comes_with_the_learners_lines(view_of, target, kind, instruction):
    submission = read(ADD)
    view = view_of(submission, "vector_add", target, (kind,))
    lines = xray.listing(view.kernel.listings[kind], submission).splitlines()
    load = "// line 17: x = tl.load(x_ptr + offsets * stride_x, mask=mask)"
    assert load in lines
    after = lines[lines.index(load) :]
    assert any(instruction in line for line in after)
    assert not any(".loc" in line for line in lines)


def test_amd_has_no_ptx(view_of):
    assert view_of(read(ADD), "vector_add", "gfx942", ("ptx",)).kernel.listings == {"ptx": ""}


# --- the command ------------------------------------------------------------------------------


def test_the_command_shows_every_gpu_asked_for(autograder, tmp_path):
    written = tmp_path / "xray.json"
    targets = ["--target", "sm_80", "--target", "gfx942"]
    run = autograder("xray", MATMUL, *targets, "--ptx", "--json", written)
    assert run.code == 0 and run.json is None and "Traceback" not in run.err
    for words in ("sm_80 (A100)", "gfx942 (MI300)", "registers per thread", "of 166,912 B", "PTX"):
        assert words in run.out
    assert "// line 39: acc = tl.dot(a, b, acc)" in run.out
    assert "gfx942 has no PTX here" in run.out
    told = json.loads(written.read_text())
    (step,) = told["steps"]
    assert (step["step"], step["case"]["dtype"]) == ("triton_matmul", "float16")
    assert [t["status"] for t in step["targets"]] == ["compiled", "compiled"]
    (made,) = step["targets"][0]["kernels"]
    assert made["shared_limit"] == 166912 and made["constants"]["BLOCK_K"] == "64"
    assert set(made["occupancy"]) == {"programs", "percent", "limit"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("does_not_compile_break", "the compiler refuses this kernel: unsupported AST node type: Break"),
        ("shared_memory_exceeded", "it needs 196,608 bytes of shared memory, sm_80 has 166,912."),
    ],
)  # fmt: skip
def test_a_kernel_that_no_gpu_takes_is_code_1(autograder, name, words):
    path = CORPUS / "triton_matmul" / "wrong" / f"{name}.py"
    run = autograder("xray", path, "--target", "sm_80")
    assert run.code == 1
    assert words in " ".join(run.out.split())


def test_a_step_that_is_not_written_is_code_2(autograder):
    path = CORPUS / "vector_add" / "wrong" / "not_implemented.py"
    run = autograder("xray", path, "--target", "sm_80")
    assert run.code == 2
    assert "sm_80 not judged: it is not written yet (line 23)." in " ".join(run.out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([ADD, "--target", "sm_42"], "'sm_42' is not a known GPU; the targets are sm_75, sm_80"),
        (["missing.py"], "missing.py: no such file"),
        ([course.ROOT / "autograder" / "gpu.py"], "defines no step of the course"),
        ([ADD, "--step", "transpose"], "transpose is not defined in it"),
        ([ADD, "--step", "no_such_step"], "'no_such_step' is not a step"),
        ([ADD, "--json", "no/folder/x.json"], "the folder no/folder does not exist"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_code_2(autograder, arguments, words):
    run = autograder("xray", *arguments)
    assert run.code == 2
    assert words in " ".join(run.err.split())
    assert "Traceback" not in run.out + run.err
    assert len(run.err.strip().splitlines()) <= 5  # click adds two lines of usage
