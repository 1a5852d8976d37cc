"""What the README states must be what was measured and what the code does."""

import json
import re
import sys

import pytest

from autograder import course

sys.path.insert(0, str(course.ROOT / "scripts"))
import readme_table

README = (course.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_cold_start_figure_is_the_recorded_one():
    run = json.loads((course.ROOT / "book/measurements/cold_start.json").read_text())
    row = next(r for r in run["rows"] if r["step"] == "triton_matmul")
    said = re.search(r"takes ([\d.]+) s on (\d+) cores: the median of (\d+) runs", README)
    assert said.groups() == (str(row["median_s"]), str(run["cores"]), str(run["runs"]))
    for field in ("date", "torch", "triton", "python"):
        assert run["environment"][field] in README
    assert row["median_s"] <= 5


@pytest.fixture
def bench():
    return json.loads((course.ROOT / readme_table.RECORD).read_text(encoding="utf-8"))


def test_the_table_is_what_the_record_gives(bench):
    assert readme_table.filled(README, bench) == README, "run python scripts/readme_table.py"


def test_the_table_follows_the_record_and_nothing_else_changes(bench):
    bench["geometric_means"][1]["share_of_library"] = 0.1234
    bench["environment"]["gpu"] = "Another GPU"
    text = readme_table.filled(README, bench)
    assert "| 0.12 / " in text and "Another GPU, driver" in text
    outside = [t.partition(readme_table.BEGIN)[0] + t.partition(readme_table.END)[2] for t in (README, text)]  # fmt: skip
    assert outside[0] == outside[1]


@pytest.mark.parametrize(
    "text",
    [
        "no markers",
        readme_table.BEGIN,
        readme_table.END + readme_table.BEGIN,
        2 * (readme_table.BEGIN + readme_table.END),
    ],
)
def test_markers_that_are_not_there_are_told(bench, text):
    with pytest.raises(ValueError, match="each once"):
        readme_table.filled(text, bench)


def test_the_commands_it_names_exist():
    from autograder.cli import main

    for command in re.findall(r"autograder (\w+)", README):
        assert command in main.commands, command


def test_the_files_it_names_exist():
    for path in re.findall(
        r"`((?:exercises|solutions|autograder|book|tests|benchmarks)/[^` ]*)`", README
    ):
        assert (course.ROOT / path).exists(), path
