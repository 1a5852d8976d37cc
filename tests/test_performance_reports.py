"""Speed in the reports: one line everywhere, a roofline where there are pictures, the ladder."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
import report_samples as samples
from bs4 import BeautifulSoup

from autograder.bench import plan, precision, results
from autograder.report import (
    chart,
    fragment,
    github,
    gradescope,
    html,
    junit,
    ladder,
    notebook,
    performance,
    terminal,
    words,
)

LINE = (
    "speed: 412 TFLOPS at 4096×8192×4096 float16 on NVIDIA H200, 0.63 of torch.matmul (cuBLAS) at 655; "
    "threshold 0.40 = 262 TFLOPS, reached"
)
NOT_SHOWN = ("refused", "not_measured", "error", "crashed", "timed_out")


def joined(text: str) -> str:
    """Text without the box and the line breaks of a terminal."""
    return " ".join(text.replace("│", " ").split())


# --- words ------------------------------------------------------------------------------------


def test_one_line_says_rate_size_type_gpu_library_and_threshold():
    assert performance.lines(samples.timed())[0] == LINE


def test_a_step_that_moves_bytes_is_told_in_gb_s():
    first, roof, *_ = performance.lines(samples.timed(step="transpose", **samples.MOVING))
    assert first == (
        "speed: 3,012 GB/s at M=16384, N=8192 float32 on NVIDIA H200, 0.83 of a copy (torch.clone) at "
        "3,648; threshold 0.60 = 2,189 GB/s, reached"
    )
    assert roof == "roofline: 75% of the 4,010 GB/s that this GPU's memory was measured to move"


def test_a_product_left_of_the_ridge_is_measured_against_the_slope():
    step = samples.timed(intensity=100.0, attainable_tflops=401.0, tflops=200.5)
    assert performance.lines(step)[1] == (
        "roofline: 50% of the 401 TFLOPS that this GPU's roofs allow at 100 FLOP a byte"
    )


@pytest.mark.parametrize(
    ("ratio", "passed", "told"),
    [
        (0.31, False, "0.31 of"),
        (0.3996, False, "0.3996 of"),  # not "0.40", which would look as if it were enough
        (0.399, False, "0.399 of"),
        (0.4, True, "0.40 of"),
    ],
)
def test_a_share_just_below_the_threshold_is_not_printed_as_the_threshold(ratio, passed, told):
    text = performance.speed(samples.performance(ratio=ratio, passed=passed))
    assert f", {told} torch.matmul" in text
    assert text.endswith(", reached" if passed else "not reached")
    assert (f"threshold {told.removesuffix(' of')} " in text) == passed


def test_without_a_threshold_the_line_says_so():
    none = {"threshold_ratio": 0.0, "threshold_tflops": 0.0, "threshold_gb_s": 0.0}
    step = samples.timed(**none)
    assert performance.lines(step)[0].endswith("at 655; no threshold on this GPU")
    assert "threshold" not in performance.svg(step.performance)


def test_kernel_time_first_call_and_tuning_are_told_apart():
    times = performance.lines(samples.timed())[2]
    assert times == (
        "time: 0.6672 ms a call, the median of 7 rounds, whose shares spread over 1.2%; "
        "not counted: the first call, which compiles, 3.1 s"
    )
    tuned = performance.lines(samples.timed(tuning_s=1.84))[2]
    assert tuned == f"{times}, of it 1.84 s tuning"


@pytest.mark.parametrize("status", NOT_SHOWN)
def test_only_what_the_speed_check_stands_by_is_shown(status):
    step = samples.timed(status, message="another process uses the GPU")
    assert performance.lines(step) == []
    everywhere = (
        terminal.step_text(step),
        fragment.step_html(step),
        junit.document(samples.alone(step)),
        github.summary(samples.alone(step)),
        json.dumps(gradescope.results(samples.alone(step))),
    )
    assert not any("412" in text for text in everywhere)


def test_a_step_without_a_speed_check_shows_none():
    step = samples.timed()
    step.checks.pop()
    assert performance.lines(step) == []


def test_too_noisy_is_said_with_its_reason():
    step = samples.timed("not_measured", message="too noisy: another process uses the GPU")
    told = "speed not measured (too noisy: another process uses the GPU)"
    assert told in terminal.step_text(step)


# --- reports ----------------------------------------------------------------------------------


@pytest.fixture
def step():
    return samples.timed()


def test_every_report_has_the_line(step):
    grading = samples.alone(step)
    page = BeautifulSoup(html.page(grading), "html.parser")
    output = BeautifulSoup(notebook.Report(step)._repr_html_(), "html.parser")
    suite = ET.fromstring(junit.document(grading).encode()).find("testsuite")
    facts = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert LINE in page.get_text() and LINE in output.get_text()
    assert f"speed: {facts['speed']}" == LINE
    assert LINE in gradescope.results(grading)["tests"][0]["output"]
    assert LINE in re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", github.summary(grading))
    assert LINE in joined(terminal.step_text(step)) and LINE in joined(repr(notebook.Report(step)))


def test_html_terminal_gradescope_and_github_have_all_lines(step):
    rest = performance.lines(step)[1:]
    assert len(rest) >= 2
    grading = samples.alone(step)
    told = (
        BeautifulSoup(fragment.step_html(step), "html.parser").get_text(),
        joined(terminal.step_text(step)),
        gradescope.results(grading)["tests"][0]["output"],
        re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", github.summary(grading)),
    )
    assert all(line in text for text in told for line in rest)


def test_gradescope_has_a_leaderboard_for_each_step_in_its_unit():
    moving = samples.timed("failed", "transpose", **samples.MOVING)
    grading = samples.alone(samples.timed())
    grading.submissions[0].steps.append(moving)
    assert gradescope.results(grading)["leaderboard"] == [
        {"name": "triton_matmul, TFLOPS on NVIDIA H200", "value": 412.0},
        {"name": "transpose, GB/s on NVIDIA H200", "value": 3012.0},
    ]


@pytest.mark.parametrize("kind", ["correctness", "integrity"])
def test_a_wrong_kernel_is_on_no_leaderboard_of_gradescope(step, kind):
    step.checks.append(samples.Check("x", kind, "refused" if kind == "integrity" else "failed"))
    assert "leaderboard" not in gradescope.results(samples.alone(step))


def test_a_speed_below_the_threshold_is_annotated():
    step = samples.timed("failed", message="0.31 of the library; 0.40 was expected", ratio=0.31)
    (line,) = github.annotations(samples.alone(step))
    assert "speed: 0.31 of the library; 0.40 was expected" in line


def test_names_in_a_performance_are_escaped():
    step = samples.timed(gpu=samples.HOSTILE, reference=samples.HOSTILE)
    text = html.page(samples.alone(step))
    assert "<script" not in text
    assert samples.HOSTILE[:25] in BeautifulSoup(text, "html.parser").get_text()
    ET.fromstring(junit.document(samples.alone(step)).encode())
    assert not re.search(r"(?<!\\)<(?!/?code>)", github.summary(samples.alone(step)))
    shown = terminal.step_text(step)
    assert not words.UNPRINTABLE.search(shown)


# --- the figure -------------------------------------------------------------------------------


def drawing(**other) -> ET.Element:
    return ET.fromstring(performance.svg(samples.performance(**other)))


def test_the_figure_says_what_it_shows():
    label = drawing().get("aria-label")
    assert label == (
        "Roofline of NVIDIA H200 at 1,638 FLOP a byte. your kernel: 412 TFLOPS; torch.matmul (cuBLAS): "
        "655 TFLOPS; roofs: 4,010 GB/s and 790 TFLOPS, measured here; threshold: 262 TFLOPS."
    )
    said = ["".join(text.itertext()) for text in drawing().iter("text")]
    assert {*label.partition(". ")[2].removesuffix(".").split("; ")} <= set(said)


def places(svg: ET.Element) -> dict[str, tuple[float, float]]:
    """Where the two marks stand in the plot: the first of each pair, before that of the legend."""
    found = [
        tuple(map(float, match.groups()))
        for path in svg.iter("path")
        if (match := re.match(r"translate\((\S+) (\S+)\)", path.get("transform", "")))
    ]
    return {"yours": found[0], "library": found[2]}


def test_a_faster_kernel_stands_higher_and_the_library_above_a_slower_one():
    slow, fast = places(drawing(tflops=200.0)), places(drawing(tflops=600.0))
    assert fast["yours"][1] < slow["yours"][1]  # down is larger in SVG
    assert slow["library"] == fast["library"]
    assert slow["yours"][1] > slow["library"][1]
    assert slow["yours"][0] == slow["library"][0]


def test_the_roofs_meet_at_the_ridge():
    roofs = next(p for p in drawing().iter("path") if p.get("d").count("L") == 2)
    (x0, y0), (x1, y1), (x2, y2) = (
        tuple(map(float, pair.split())) for pair in roofs.get("d")[1:].split("L")
    )
    assert x0 < x1 < x2 and y0 > y1 == y2
    # Both axes have equal decades only in number, so the slope of memory is that of the scales.
    decades = [len(re.findall(rf'd="M\S+ \S+{way}', performance.svg(samples.performance()))) - 1
               for way in (f"v{chart.HEIGHT}", f"h{chart.WIDTH}")]  # fmt: skip
    slope = (y0 - y1) / chart.HEIGHT * decades[1] / ((x1 - x0) / chart.WIDTH * decades[0])
    assert slope == pytest.approx(1, abs=0.01)


def test_all_of_it_lies_inside_also_far_from_the_ridge():
    for intensity, tflops in ((0.083, 0.31), (1638.0, 412.0), (60_000.0, 3.0)):
        svg = drawing(intensity=intensity, tflops=tflops, reference_tflops=2 * tflops)
        width, height = map(float, svg.get("viewBox").split()[2:])
        numbers = re.findall(r"(?:M|L|translate\()([\d.]+) ([\d.]+)", performance.svg(
            samples.performance(intensity=intensity, tflops=tflops, reference_tflops=2 * tflops)
        ))  # fmt: skip
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in numbers)


def test_what_computes_nothing_has_no_place_on_a_logarithmic_axis():
    step = samples.timed(step="transpose", **samples.MOVING)
    assert performance.svg(step.performance) == ""
    assert "<figure" not in fragment.step_html(step)


def test_the_figure_takes_its_colour_from_the_text_and_shrinks():
    text = performance.svg(samples.performance())
    assert set(re.findall(r'(?:stroke|fill)="([^"]*)"', text)) == {"none", "currentColor"}
    assert "max-width:100%" in text


def test_a_phone_in_the_dark_shows_the_figure_whole(chromium, tmp_path):
    file = tmp_path / "report.html"
    file.write_bytes(html.page(samples.alone(samples.timed())).encode())
    context = chromium.new_context(viewport={"width": 380, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(file.as_uri())
    box = page.locator("figure svg").bounding_box()
    assert 0 < box["x"] and box["x"] + box["width"] <= 380
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    colour = page.evaluate("getComputedStyle(document.querySelector('figure svg g path')).stroke")
    assert sum(map(int, re.findall(r"\d+", colour)[:3])) > 500
    context.close()


# --- the ladder -------------------------------------------------------------------------------


@pytest.fixture
def records(tmp_path, monkeypatch):
    """Puts records in the place of the book's."""
    ladder._record.cache_clear()
    monkeypatch.setattr(ladder, "MEASUREMENTS", tmp_path)

    def write(name: str, told: dict) -> None:
        (tmp_path / name).write_text(json.dumps({"environment": {"gpu": "A GPU"}, **told}))

    yield write
    ladder._record.cache_clear()


def mean(kernel, of_library, dtype="float16", group="large"):
    return {"group": group, "dtype": dtype, "kernel": kernel, "share_of_library": of_library}


@pytest.fixture
def products(records):
    means = [
        mean("cuBLAS", 1.0),
        mean("persistent_matmul", 0.95),
        mean("blockwise", 0.47),
        mean("best of the course", 0.97),
        mean("blockwise", 0.1, group="small"),
        mean("ieee_matmul", 0.7, "float32, IEEE"),
        mean("grouped_matmul", 0.5, "float32, TF32"),
    ]
    records("10_bench.json", {"geometric_means": means})


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        (0.3, "below blockwise (0.47), its lowest rung"),
        (0.63, "between blockwise (0.47) and persistent_matmul (0.95)"),
        (0.96, "between persistent_matmul (0.95) and cuBLAS (1.00)"),
        (1.02, "above cuBLAS (1.00), its highest rung"),
    ],
)
def test_a_product_stands_between_two_rungs_of_the_bench(products, ratio, told):
    step = samples.timed(ratio=ratio)
    where = "ladder of large products in float16, with cuBLAS as 1.00, recorded on A GPU: "
    assert performance.lines(step)[3] == where + told


def test_ieee_products_have_rungs_of_their_own(products):
    told = ladder.place("ieee_matmul", samples.performance(dtype="float32", ratio=0.4))
    assert "in float32, IEEE, with" in told and told.endswith("below ieee_matmul (0.70), its lowest rung")  # fmt: skip


def test_a_share_of_another_library_is_not_compared(products):
    assert ladder.place("triton_matmul", samples.performance(reference="a loop")) == ""


def test_attention_is_compared_with_the_library_that_the_step_names(records):
    rows = [
        {"D": d, "N": n, "causal": causal, "kernel": kernel, "ms": ms}
        for d, n, causal, scale in ((64, 4096, True, 1), (64, 4096, False, 2), (64, 1024, True, 3))
        for kernel, ms in (("SDPA flash", 2), ("SDPA cuDNN", scale), ("flash_attention", 1.25 * scale))
    ]  # fmt: skip
    records("12_attention.json", {"dtype": "float16", "rows": rows})
    attention = {"shape": {"N": 4096, "D": 64}, "ratio": 0.7}

    def place(**other):
        return ladder.place("flash_attention", samples.performance(**attention | other))

    assert place(reference="attention (cuDNN)").endswith(
        "between SDPA flash (0.50) and flash_attention (0.80)"
    )
    assert place(reference="attention (flash)").endswith("below SDPA flash (1.00), its lowest rung")
    assert place(reference="attention") == ""
    assert place(reference="attention (cuDNN)", dtype="bfloat16") == ""
    assert place(reference="attention (cuDNN)", shape={"N": 4096, "D": 32}) == ""
    assert place(reference="attention (cuDNN)", shape={"N": 2048, "D": 64}) == ""


def test_without_the_courses_files_and_for_other_steps_there_is_no_ladder(records):
    assert ladder.place("triton_matmul", samples.performance()) == ""
    assert ladder.place("softmax", samples.performance()) == ""
    assert len(performance.lines(samples.timed())) == 3


def test_the_ladder_uses_the_words_of_the_bench():
    assert (ladder.LIBRARY, ladder.BEST, ladder.IEEE) == (
        plan.LIBRARY,
        results.BEST,
        precision.IEEE.name,
    )


def test_recorded_ladders_hold_the_steps_that_they_are_for():
    """The book's own records: where one exists, the step's kernel is a rung of it."""
    there = 0
    for name, (file, _) in ladder.LADDERS.items():
        if not (ladder.MEASUREMENTS / file).exists():
            continue
        shape = {"M": 1, "N": 1, "K": 1} if file == ladder.PRODUCTS else {"N": 4096, "D": 128}
        reference = "torch.matmul (cuBLAS)" if file == ladder.PRODUCTS else "SDPA (cuDNN)"
        dtype = "float16"
        found = ladder._ladder(name, samples.performance(shape=shape, dtype=dtype, reference=reference))  # fmt: skip
        rungs = {kernel: rung for rung, kernel in found.rungs}
        assert name in rungs or name == "triton_matmul", name
        assert 1.0 in rungs.values()
        there += 1
    assert there
