"""What the README states must be what was measured and what the code does."""

import json
import re

from autograder import course

README = (course.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_cold_start_figure_is_the_recorded_one():
    run = json.loads((course.ROOT / "book/measurements/cold_start.json").read_text())
    row = next(r for r in run["rows"] if r["step"] == "triton_matmul")
    said = re.search(r"takes ([\d.]+) s on (\d+) cores: the median of (\d+) runs", README)
    assert said.groups() == (str(row["median_s"]), str(run["cores"]), str(run["runs"]))
    for field in ("date", "torch", "triton", "python"):
        assert run["environment"][field] in README
    assert row["median_s"] <= 5


def test_the_commands_it_names_exist():
    from autograder.cli import main

    for command in re.findall(r"autograder (\w+)", README):
        assert command in main.commands, command


def test_the_files_it_names_exist():
    for path in re.findall(
        r"`((?:exercises|solutions|autograder|book|tests|benchmarks)/[^` ]*)`", README
    ):
        assert (course.ROOT / path).exists(), path
