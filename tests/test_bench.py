"""`autograder bench`: what it times, its arithmetic, what it writes and shows, and what it refuses.

The measurement itself needs a GPU. What surrounds it is tried on made-up times here.
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import torch
from click.testing import CliRunner
from rich.console import Console
from seeds import SEED

from autograder import cli, course
from autograder.bench import compiling, kernels, measure, plan, plot, results, run, table
from autograder.bench.clock import draw, rotated
from autograder.bench.precision import BFLOAT16, FLOAT16, IEEE, PRECISIONS, TF32
from autograder.bench.shapes import LARGE, MODEL, PYTHON, SMALL, SQUARES, Shape, square

H200, T4 = (9, 0), (7, 5)
SVG = "{http://www.w3.org/2000/svg}"
ON = {
    "gpu": "A GPU & more", "driver": "1.2", "torch": "2.11", "triton": "3.6", "python": "3.12",
    "date": "2026-11-30", "command": "python -m autograder bench",
}  # fmt: skip


def made_up(parts: list[plan.Part], slower: dict[str, float], wrong: str = "") -> dict:
    """A result in which the library takes 1 ms for everything, and 2 ms when called plainly."""
    rows = []
    for part in parts:
        examined = {
            name: {"status": "right", "first_call_s": 0.5, "relative_error": 1e-4}
            for name in part.kernels
        }
        if wrong in examined:
            examined[wrong] = {"status": "wrong", "first_call_s": 0.5, "message": "far too large"}
        times = {n: [slower.get(n, 1.0)] * 3 for n in part.kernels if n != wrong}
        eager = {n: [ms + 1 for ms in found] for n, found in times.items()}
        rows += measure.rows(part, examined, times, eager, {plan.SOURCE: "BLOCK_M: 64"})
    return {
        "environment": ON,
        "geometric_means": results.means(rows, "share_of_library"),
        "eager_geometric_means": results.means(rows, "eager_share_of_library"),
        "rounds": 3,
        "timer": "none",
        "compile_s": 12.5,
        "total_s": 99.0,
        "left_out": [],
        "rows": rows,
    }


# --- what is timed -----------------------------------------------------------------------------


def test_the_table_has_every_kernel_precision_and_shape_that_it_promises():
    parts = plan.plan(H200)
    found = {(p.precision.name, p.shape): p.kernels for p in parts}
    assert len(found) == len(parts)
    assert {shape.N for shape in SQUARES} >= {256, 512, 1024, 2048, 4096, 8192}
    for precision in PRECISIONS:
        for shape in (*SQUARES, *MODEL):
            assert found[precision.name, shape][0] == plan.LIBRARY
    for precision in (FLOAT16, BFLOAT16, TF32):
        assert set(found[precision.name, square(4096)]) == {
            plan.LIBRARY, plan.BLOCKWISE, plan.GROUPED, plan.SOURCE,
            "grouped_matmul", "autotuned_matmul", "persistent_matmul",
        }  # fmt: skip
    assert found[IEEE.name, PYTHON] == (plan.LIBRARY, "naive_matmul", "ieee_matmul")
    assert found[IEEE.name, square(4096)] == (plan.LIBRARY, "ieee_matmul")


def test_the_means_are_over_nine_large_and_five_small_shapes_of_the_table():
    assert (len(LARGE), len(SMALL)) == (9, 5)
    assert set(LARGE) | set(SMALL) < {*SQUARES, *MODEL}
    assert not set(LARGE) & set(SMALL)


def test_a_gpu_without_bfloat16_and_tf32_gets_neither():
    assert {p.precision for p in plan.plan(T4)} == {FLOAT16, IEEE}


def test_chosen_steps_are_timed_beside_the_library_and_nothing_else():
    for part in plan.plan(H200, ["split_k_matmul"]):
        assert part.kernels == (plan.LIBRARY, "split_k_matmul")
        assert part.shape not in LARGE
    assert {p.precision for p in plan.plan(H200, ["ieee_matmul"])} == {IEEE}


def test_every_step_of_the_table_is_a_step_of_the_course():
    for name in plan.STEPS:
        assert course.find_step(name), name


def test_every_variant_is_compiled_once_and_every_kernel_of_the_table_is():
    parts = plan.plan(H200)
    jobs = compiling.jobs_of(parts)
    assert len({repr(job) for job in jobs}) == len(jobs)
    launched = [job for job in jobs if job[1:3] == kernels.BODY]
    # 15 configs, of which one is the tile of 64, and that tile without groups; three types; M = 8
    # beside all other sizes
    assert len(launched) == (15 + 1) * 3 * 2
    called = {(job[1], job[3]) for job in jobs if job[0] is compiling._call}
    for part in parts:
        for name in set(part.kernels) & {"grouped_matmul", "persistent_matmul", "ieee_matmul"}:
            assert (name, part.precision.dtype) in called


# --- arithmetic --------------------------------------------------------------------------------


def test_tflops_count_a_product_and_an_addition():
    assert results.tflops(Shape(1000, 1000, 1000), 2.0) == pytest.approx(1.0)
    assert results.tflops(Shape(10, 20, 30), 1.0) == pytest.approx(12000 / 1e9)


def test_a_row_has_median_spread_and_shares_by_both_clocks():
    library = {"ms": 1.5, "eager_ms": 6.0}
    row = results.timing(square(4096), [2.0, 3.0, 2.5], [8.0, 8.0, 8.0], library)
    assert (row["ms"], row["spread"]) == (2.5, 0.4)
    assert row["tflops"] == pytest.approx(2 * 4096**3 / 2.5e9, abs=0.05)
    assert row["share_of_library"] == 0.6
    assert row["eager_share_of_library"] == 0.75


def test_tiny_figures_keep_two_digits():
    assert results.significant(1.437e-7) == 1.4e-7
    assert results.significant(643.08) == 643.1


def test_means_are_geometric_and_within_one_precision():
    parts = [plan.Part(p, s, (plan.LIBRARY, "grouped_matmul", "autotuned_matmul"))
             for p in (FLOAT16, TF32) for s in (square(2048), square(4096))]  # fmt: skip
    result = made_up(parts, {})
    shares = {("float16", 2048): 0.5, ("float16", 4096): 2.0,
              ("float32, TF32", 2048): 0.9, ("float32, TF32", 4096): 0.9}  # fmt: skip
    for row in result["rows"]:
        if row["kernel"] == "grouped_matmul":
            row["share_of_library"] = shares[row["dtype"], row["shape"][0]]
    found = {(m["kernel"], m["dtype"]): m["share_of_library"]
             for m in results.means(result["rows"], "share_of_library")}  # fmt: skip
    assert found["grouped_matmul", "float16"] == 1.0
    assert found["grouped_matmul", "float32, TF32"] == 0.9
    assert found["autotuned_matmul", "float16"] == 1.0
    assert found[results.BEST, "float16"] == pytest.approx(2**0.5, abs=1e-4)


def test_a_kernel_that_misses_a_shape_has_no_mean():
    parts = [plan.Part(FLOAT16, s, (plan.LIBRARY, "grouped_matmul")) for s in LARGE]
    rows = made_up(parts, {})["rows"]
    assert {m["kernel"] for m in results.means(rows, "share_of_library")} >= {"grouped_matmul"}
    rows[1].pop("share_of_library")
    assert {m["kernel"] for m in results.means(rows, "share_of_library")} == {plan.LIBRARY}


def test_every_kernel_begins_a_round_once_before_any_does_twice():
    names = ["a", "b", "c"]
    assert [rotated(names, turn)[0] for turn in range(3)] == names
    assert sorted(rotated(names, 1)) == names


# --- right and wrong ---------------------------------------------------------------------------


@pytest.fixture
def operands():
    torch.manual_seed(SEED)
    return lambda precision, shape: draw(shape, getattr(torch, precision.dtype), "cpu")


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.name)
@pytest.mark.parametrize("shape", [PYTHON, Shape(40, 70, 900)], ids=str)
def test_the_library_is_right_in_every_precision_with_room_to_spare(operands, precision, shape):
    a, b = operands(precision, shape)
    found = measure.examine(torch.matmul, a, b, precision.limit(shape.K) / 2)
    assert found["status"] == "right"
    assert found["first_call_s"] >= 0


def test_fp32_cut_to_tf32_is_right_as_tf32_and_wrong_as_ieee(operands):
    a, b = operands(IEEE, square(128))

    def cut(x):
        return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)

    found = measure.examine(lambda a, b: cut(a) @ cut(b), a, b, TF32.limit(128))
    assert found["status"] == "right"
    found = measure.examine(lambda a, b: cut(a) @ cut(b), a, b, IEEE.limit(128))
    assert found["status"] == "wrong"
    assert "relative error" in found["message"]


@pytest.mark.parametrize("precision", (FLOAT16, BFLOAT16), ids=lambda p: p.name)
def test_one_forgotten_term_of_the_longest_sum_is_wrong(operands, precision):
    shape = Shape(16, 16, max(s.K for s in MODEL))
    a, b = operands(precision, shape)
    found = measure.examine(lambda a, b: a[:, 1:] @ b[1:], a, b, precision.limit(shape.K))
    assert found["status"] == "wrong"


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (a @ b)[:-1],
        lambda a, b: (a @ b).float(),
        lambda a, b: torch.full((a.shape[0], b.shape[1]), torch.nan, dtype=a.dtype),
    ],
    ids=["shape", "dtype", "nan"],
)
def test_another_shape_another_type_and_nan_are_wrong(operands, function):
    a, b = operands(FLOAT16, square(32))
    assert measure.examine(function, a, b, FLOAT16.limit(32))["status"] == "wrong"


def test_what_a_kernel_raises_stands_in_its_row_in_one_line(operands):
    def no_room(a, b):
        raise MemoryError("out of resource: shared memory\nRequired: more")

    a, b = operands(FLOAT16, square(32))
    found = measure.examine(no_room, a, b, FLOAT16.limit(32))
    assert found["status"] == "failed"
    assert found["message"] == "MemoryError: out of resource: shared memory"


def test_a_wrong_kernel_has_no_time_and_no_share():
    part = plan.Part(FLOAT16, square(512), (plan.LIBRARY, "grouped_matmul"))
    library, wrong = made_up([part], {}, wrong="grouped_matmul")["rows"]
    assert library["share_of_library"] == 1.0
    assert wrong["status"] == "wrong"
    assert not {"ms", "tflops", "share_of_library"} & wrong.keys()


def test_without_the_library_there_are_times_but_no_shares():
    part = plan.Part(FLOAT16, square(2048), (plan.LIBRARY, "grouped_matmul"))
    result = made_up([part], {}, wrong=plan.LIBRARY)
    assert result["rows"][1]["ms"] == 1.0
    assert result["rows"][1]["share_of_library"] is None
    assert result["geometric_means"] == []
    assert table.shapes(result, "float16")[1] == [["2048³", "wrong", "17.2"]]
    plot.svg(result)


# --- what is written and shown -----------------------------------------------------------------


@pytest.fixture(scope="module")
def whole():
    slower = {plan.BLOCKWISE: 2.0, plan.GROUPED: 1.6, "persistent_matmul": 0.8, "ieee_matmul": 1.25}
    return made_up(plan.plan(H200), slower)


def test_the_result_survives_json(whole):
    again = json.loads(json.dumps(whole))
    assert again == whole
    assert len(again["rows"]) == sum(len(part.kernels) for part in plan.plan(H200))


def test_the_table_on_a_terminal_holds_every_shape_kernel_and_source(whole):
    console = Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    table.show(whole, console)
    shown = console.export_text()
    for words in ("4096×14336×4096", "8192³", "26³", "persistent", "naive", "A GPU & more"):
        assert words in shown
    for precision in PRECISIONS:
        assert precision.name in shown
    assert "best of the course" in shown
    assert "12.5 s" in shown


def test_cells_are_tflops_and_shares(whole):
    head, body = table.shapes(whole, "float16")
    line = dict(zip(head, next(row for row in body if row[0] == "1024³")))
    assert line[plan.LIBRARY] == "2.1"
    assert line[plan.BLOCKWISE] == "1.1 (0.50)"
    assert line["persistent_matmul"] == "2.7 (1.25)"
    large = dict(zip(head, next(row for row in body if row[0] == "8192³")))
    assert large["split_k_matmul"] == table.NOT_TIMED


def test_means_are_shown_by_both_clocks_and_the_best_comes_last(whole):
    head, body = table.means(whole)
    assert head[1:3] == ["float16, large", "float16, small"]
    blockwise = next(row for row in body if row[0] == plan.BLOCKWISE)
    assert blockwise[1] == "0.50 / 0.67"  # 1 of 2 ms; and 2 of 3
    assert body[-1][0] == results.BEST
    assert body[-1][1] == "1.25 / 1.11"


def test_first_calls_are_added_up_apart_from_times(whole):
    head, body = table.first_calls(whole)
    seconds = dict(zip(head, next(row for row in body if row[0] == plan.SOURCE)))
    assert seconds["float16"] == f"{0.5 * len((*SQUARES, *MODEL)):.2f}"
    assert seconds["float32, IEEE"] == table.NOT_TIMED


def test_markdown_has_as_many_cells_in_every_line(whole):
    for grid in (table.means(whole), table.shapes(whole, "float16"), table.first_calls(whole)):
        lines = table.markdown(grid).splitlines()
        assert len({line.count("|") for line in lines}) == 1
        assert len(lines) == 2 + len(grid[1])
    assert ON["command"] in table.source(whole)


def test_the_recorded_run_of_the_book_can_be_shown_too():
    recorded = json.loads((course.ROOT / "book/measurements/10_bench.json").read_text())
    head, body = table.means(recorded)
    assert "float16, large" in head
    assert {row[0] for row in body} >= {"autotuned_matmul", "persistent_matmul", results.BEST}
    assert recorded["environment"]["gpu"] in table.source(recorded)
    assert recorded["environment"]["command"] == "python -m autograder bench"
    assert table.troubles(recorded) == []


def test_a_kernel_that_was_not_timed_is_told_with_its_reason():
    part = plan.Part(FLOAT16, square(512), (plan.LIBRARY, "grouped_matmul"))
    [trouble] = table.troubles(made_up([part], {}, wrong="grouped_matmul"))
    assert trouble == "grouped_matmul, float16, 512³: wrong, not timed: far too large"


def marks(drawing: ET.Element) -> list[tuple[float, float]]:
    """Where the marks of all panels and of the legend stand."""
    places = [
        p.get("transform") for p in drawing.iter(f"{SVG}path") if p.get("class") == "series-mark"
    ]
    return [
        tuple(map(float, re.match(r"translate\(([^ ]+) ([^)]+)\)", p).groups())) for p in places
    ]


def test_the_plot_has_a_mark_for_every_time_and_none_outside(whole):
    drawing = ET.fromstring(plot.svg(whole))
    timed = [r for r in whole["rows"] if r["shape"] != list(PYTHON)]
    squares = [r for r in timed if tuple(r["shape"]) in SQUARES]
    series = {r["kernel"] for r in timed}
    # a square stands in two panels, a shape of a language model in one; the legend shows each series
    assert len(marks(drawing)) == 2 * len(squares) + len(timed) - len(squares) + len(series)
    width, height = map(float, drawing.get("viewBox").split()[2:])
    assert all(0 < x < width and 0 < y < height for x, y in marks(drawing))
    texts = ["".join(t.itertext()) for t in drawing.iter(f"{SVG}text")]
    assert series <= set(texts)
    assert drawing.find(f"{SVG}desc").text


def test_twice_the_speed_stands_twice_as_high():
    parts = [plan.Part(FLOAT16, s, (plan.LIBRARY, plan.BLOCKWISE)) for s in (square(8192),)]
    drawing = ET.fromstring(plot.svg(made_up(parts, {plan.BLOCKWISE: 2.0})))
    bottom = plot.TOP + plot.HEIGHT
    (_, fast), (_, slow), *_ = marks(drawing)  # the first panel: TFLOPS
    assert bottom - fast == pytest.approx(2 * (bottom - slow), abs=0.2)


def test_a_plot_of_nothing_but_the_python_loops_is_still_a_drawing():
    ET.fromstring(plot.svg(made_up(plan.plan(H200, ["naive_matmul"]), {})))


@pytest.mark.parametrize("highest", [0.03, 0.97, 1.0, 1.25, 51.0, 350.0, 720.0, 2000.0])
def test_axes_have_few_and_round_steps(highest):
    step = plot.nice_step(highest)
    assert 2 <= highest / step <= 6
    assert f"{step:e}"[0] in "125"


# --- what is refused ---------------------------------------------------------------------------


def refused(*arguments) -> str:
    """What the command says, in one line, when it ends with 2."""
    done = CliRunner().invoke(cli.main, ["bench", *map(str, arguments)])
    assert done.exit_code == 2
    [line] = done.output.strip().splitlines()
    return line


@pytest.fixture
def unmeasured(monkeypatch):
    """Fails if anything is measured, on a machine that seems to have a GPU."""
    monkeypatch.setattr(run, "capability", lambda: H200)

    def measured(*arguments):
        raise AssertionError("something was measured")

    monkeypatch.setattr(run, "run", measured)


def test_without_a_gpu_it_says_so_in_one_line(monkeypatch):
    monkeypatch.setattr(run, "has_gpu", lambda: False)
    assert refused() == "autograder: bench: no GPU found; speed is measured on a GPU only"


def test_without_the_reference_kernels_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(run.course, "ROOT", tmp_path)
    assert "reference kernels are missing" in refused()


def test_the_interpreter_is_not_timed(monkeypatch):
    monkeypatch.setattr(run, "has_gpu", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "TRITON_INTERPRET=1" in refused()


def test_a_torch_that_cannot_use_the_gpu_is_told(monkeypatch):
    monkeypatch.setattr(run, "has_gpu", lambda: True)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "cannot use it" in refused()


def test_a_step_that_is_not_in_the_table_is_refused(unmeasured):
    assert "softmax is not in the table; its steps are naive_matmul" in refused("softmax")


@pytest.mark.parametrize("name", ["table.png", "table", "table.svg.gz"])
def test_a_plot_is_an_svg(unmeasured, tmp_path, name):
    assert "ends in .svg" in refused("--plot", tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_path_that_cannot_be_written_is_refused_before_anything_runs(
    unmeasured, monkeypatch, tmp_path, option
):
    assert "does not exist" in refused(option, tmp_path / "none" / "f.svg")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "nothing can be written" in refused(option, tmp_path / "f.svg")


def test_both_files_are_written_and_a_wrong_kernel_ends_with_1(monkeypatch, tmp_path, whole):
    monkeypatch.setattr(run, "capability", lambda: H200)
    results_of = {"": whole, "naive_matmul": made_up(plan.plan(H200), {}, wrong="grouped_matmul")}
    monkeypatch.setattr(run, "run", lambda steps, *_: results_of["".join(steps)])
    files = tmp_path / "table.json", tmp_path / "table.svg"
    arguments = ["bench", "--json", str(files[0]), "--plot", str(files[1])]
    done = CliRunner().invoke(cli.main, arguments)
    assert done.exit_code == 0, done.output
    assert json.loads(files[0].read_text()) == whole
    ET.fromstring(files[1].read_text())
    done = CliRunner().invoke(cli.main, [*arguments, "naive_matmul"])
    assert done.exit_code == 1
    assert "grouped_matmul, float16, 256³: wrong, not timed: far too large" in done.output


def test_a_gpu_that_gives_up_ends_it_in_one_line(monkeypatch):
    def gives_up(*arguments):
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    monkeypatch.setattr(compiling, "compile_parts", lambda *_: None)
    monkeypatch.setattr(kernels, "kernels", lambda: ({}, {}))
    monkeypatch.setattr(measure, "measure", gives_up)
    monkeypatch.setattr(run, "capability", lambda: H200)
    line = refused("ieee_matmul")
    assert "float32, IEEE, 26³: RuntimeError: CUDA error: an illegal" in line


def test_progress_reaches_the_end_also_where_a_kernel_was_not_timed():
    told = []
    ticks = run.Ticks("float16", 30, lambda *step: told.append(step))
    for _ in range(10):
        ticks()
    ticks.catch_up(20)
    ticks.catch_up(10)
    assert told[0] == ("float16", 0, 30)
    assert told[10] == ("float16", 10, 30)
    assert told[-2:] == [("float16", 20, 30), ("float16", 30, 30)]


def test_a_machine_that_only_measures_needs_no_jupyter():
    code = (
        "import sys\n"
        "for name in ('nbformat', 'IPython', 'jupytext', 'nbgrader', 'ipykernel'):\n"
        "    sys.modules[name] = None\n"
        "from autograder import cli\n"
        "from autograder.report import terminal\n"
        "from autograder.bench import measure, kernels, compiling, plan, plot, reference, run, table\n"
        "[reference.function(name) for name in plan.STEPS]\n"
        "kernels.kernels()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=course.ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_contract_names_of_options():
    options = {n for p in cli.main.commands["bench"].params for n in (*p.opts, *p.secondary_opts)}
    assert options == {"steps", "--json", "--plot"}


# --- on a GPU ----------------------------------------------------------------------------------


@pytest.mark.gpu
def test_right_kernels_are_timed_and_wrong_ones_are_not():
    part = plan.Part(FLOAT16, square(512), (plan.LIBRARY, "right", "wrong", "nothing", "raises"))
    functions = {
        plan.LIBRARY: torch.matmul,
        "right": kernels.kernels()[0]["grouped_matmul"],
        "wrong": lambda a, b: a @ b * 1.01,
        "nothing": lambda a, b: torch.empty(512, 512, device="cuda", dtype=a.dtype),
        "raises": lambda a, b: a @ b[1:],
    }
    rows = {row["kernel"]: row for row in measure.measure(part, functions, {})}
    states = {name: row["status"] for name, row in rows.items()}
    assert states == {
        plan.LIBRARY: "right", "right": "right", "wrong": "wrong", "nothing": "wrong",
        "raises": "failed",
    }  # fmt: skip
    assert {name for name, row in rows.items() if "ms" in row} == {plan.LIBRARY, "right"}
    assert rows["right"]["ms"] > 0 and rows["right"]["eager_ms"] > 0


@pytest.mark.gpu
def test_the_library_keeps_ieee_and_tf32_apart():
    shape = square(1024)
    errors = {}
    for precision in (IEEE, TF32):
        part = plan.Part(precision, shape, (plan.LIBRARY,))
        [row] = measure.measure(part, {plan.LIBRARY: torch.matmul}, {})
        errors[precision.name] = row["relative_error"]
    assert errors[IEEE.name] < 1e-5 < errors[TF32.name]


@pytest.mark.gpu
@pytest.mark.slow
def test_the_command_measures_and_writes(autograder, tmp_path):
    files = tmp_path / "table.json", tmp_path / "table.svg"
    done = autograder(
        "bench", "ieee_matmul", "naive_matmul", "--json", files[0], "--plot", files[1]
    )
    assert done.code == 0, done.err
    rows = json.loads(files[0].read_text())["rows"]
    assert {row["kernel"] for row in rows} == {plan.LIBRARY, "ieee_matmul", "naive_matmul"}
    assert all(row["status"] == "right" and row["ms"] > 0 for row in rows)
    ET.fromstring(files[1].read_text())
    assert "no GPU" not in done.err
