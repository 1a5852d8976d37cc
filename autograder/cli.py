"""The commands `list`, `grade`, `xray`, `bench`, `batch`, `leaderboard` and `doctor`: options in, exit
code out.

0 when every check passed, 1 when one did not, 2 when a path or an option cannot be used, 130 when
interrupted. Must never show a traceback to a learner, and never overwrite a submission.
"""

import json
import math
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import click

# The products that a case's exact answer needs are small. OpenBLAS would share them out among threads
# that wait for the next one by spinning, on the cores that cases run on. NumPy reads this when loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from autograder import choices, course, ending, grading, outputs, targets
from autograder.environment import describe
from autograder.result import Grading
from autograder.submission import BadInput, read

OUTPUT = click.Path(path_type=Path, dir_okay=False)


class _OneLine(click.Group):
    """Ends as `ending` says. click's own way says 1 for Ctrl-C and for a pipe that nobody reads."""

    def main(self, args=None, prog_name="autograder", **_):
        def command() -> None:
            arguments = sys.argv[1:] if args is None else list(args)
            try:
                os.getcwd()
            except FileNotFoundError:
                text = "the working folder does not exist any more; change to another one"
                raise BadInput(text) from None
            with self.make_context(prog_name, arguments) as context:
                self.invoke(context)

        sys.exit(ending.run(command))


class _Seconds(click.FloatRange):
    """Seconds that a case may run, up to a day. Also what every wait of the grader can hold."""

    def __init__(self):
        super().__init__(0.1, 24 * 60 * 60)

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if math.isnan(number):  # which is in every range
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return number


@click.group(cls=_OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="autograder")
def main():
    """Grades the exercises of the course, with or without a GPU."""


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_steps(as_json: bool):
    """The graded steps: chapter, points, and whether speed counts on a GPU."""
    chosen = choices.load()
    if as_json:
        rows = [
            {
                "step": s.name,
                "chapter": s.chapter,
                "slug": s.slug,
                "points": s.points,
                "speed": s.speed,
                "deadline": chosen.deadlines[s.chapter].isoformat()
                if s.chapter in chosen.deadlines
                else None,
            }
            for s in chosen.steps()
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    from autograder.report import terminal

    terminal.show_steps(chosen.steps(), chosen.deadlines)


def _check_steps(context, parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if course.find_step(name) is None:
            raise click.BadParameter(f"{name!r} is not a step{choices.step_meant(name)}")
    return names


def _thresholds(context, parameter, given: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, share = text.partition("=")
        try:
            number = float(share)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not STEP=SHARE, such as softmax=0.7") from None
        try:
            found.update([choices.threshold(name, number)])
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return found


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--step", "steps", multiple=True, callback=_check_steps, help="Grade only this step (repeatable).")  # fmt: skip
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help="Where kernels run; without a GPU, in Triton's interpreter.")  # fmt: skip
@click.option("--speed/--no-speed", default=True, help="Whether speed is measured where a GPU allows it.")  # fmt: skip
@click.option("--threshold", "thresholds", metavar="STEP=SHARE", multiple=True, callback=_thresholds, help="Ask for this share of the library's speed instead of the course's (repeatable).")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Draws the cases; printed with every grading, so that one can be repeated.")  # fmt: skip
@click.option("--timeout", type=_Seconds(), default=grading.DEFAULT_TIMEOUT, show_default=True, help="Seconds that one case may run.")  # fmt: skip
@click.option("--json", type=OUTPUT, help="Write the whole result to this file, for scripts.")
@click.option("--junit", type=OUTPUT, help="Write JUnit XML, which most CI systems show.")
@click.option("--html", type=OUTPUT, help="Write one HTML file to read and to pass on.")
@click.option("--gradescope", type=OUTPUT, help="Write Gradescope's results.json.")
def grade(paths, steps, device, speed, thresholds, seed, timeout, **written):
    """Grades notebooks, .py files, or folders of them."""
    from autograder.gpu import has_gpu
    from autograder.report import terminal
    from autograder.sandbox import Sandbox

    choices.load()  # a file that cannot be used is refused before the worker starts
    if device == "cuda" and not has_gpu():
        raise BadInput("--device cuda: no GPU found (`autograder doctor` says more); use cpu")
    gpu = device == "cuda" or (device == "auto" and has_gpu())
    seed = secrets.randbelow(2**31) if seed is None else seed
    files = grading.read_all(paths)
    written = {name: path for name, path in written.items() if path is not None}
    outputs.check(written, files)
    with Sandbox(gpu=gpu) as sandbox, terminal.progress() as progress:
        # Read while the worker loads torch.
        submissions = [read(path) for path in files]
        wanted = [grading.steps_of(submission, steps) for submission in submissions]
        settings = grading.Settings(seed, timeout, speed, thresholds=thresholds)
        results = []
        for submission, its_steps in zip(submissions, wanted):
            results.append(
                grading.grade_submission(submission, its_steps, sandbox, settings, progress)
            )
    result = Grading(seed, describe(gpu), results)
    unwritten = outputs.write(written, _makers(result))
    _show(result)
    if unwritten:
        raise BadInput("; ".join(unwritten))
    sys.exit(0 if result.passed else 1)


def _show(result: Grading) -> None:
    from autograder.report import github, terminal

    if not github.inside():
        terminal.show(result)
        return
    with github.commands_off():
        terminal.show(result)
    for line in github.annotations(result):
        click.echo(line)
    try:
        github.append_summary(result)
    except OSError as error:
        click.echo(f"autograder: no job summary ({error.strerror})", err=True)


def _makers(result: Grading) -> dict[str, Callable[[], str]]:
    """The reports of a grading: the name of an option, and what makes the text of its file."""
    from autograder.report import gradescope, html, junit

    return {
        "json": lambda: json.dumps(result.to_json(), indent=2) + "\n",
        "junit": lambda: junit.document(result),
        "html": lambda: html.page(result),
        "gradescope": lambda: json.dumps(gradescope.results(result), indent=2) + "\n",
    }


def _check_targets(context, parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in targets.TARGETS:
            known = ", ".join(targets.TARGETS)
            raise click.BadParameter(f"{name!r} is not a known GPU; the targets are {known}")
    return tuple(dict.fromkeys(names)) or targets.DEFAULT


@main.command("xray")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--step", "steps", multiple=True, callback=_check_steps, help="Only this step (repeatable).")  # fmt: skip
@click.option("--target", "names", multiple=True, callback=_check_targets, help="GPU to compile for (repeatable); sm_80 and sm_90 unless given.")  # fmt: skip
@click.option("--all-configs", is_flag=True, help="Every configuration of an autotuned kernel, not only the first.")  # fmt: skip
@click.option("--ptx", is_flag=True, help="Print the PTX with your source lines.")
@click.option("--sass", is_flag=True, help="Print the machine code with your source lines.")
@click.option("--json", "json_file", type=OUTPUT, help="Write the result to this file.")  # fmt: skip
def xray_command(path, steps, names, all_configs, ptx, sass, json_file):
    """Compiles the kernels of PATH for GPUs that need not be present, and shows what came out."""
    from autograder import xray
    from autograder.report import terminal
    from autograder.report import xray as report
    from autograder.sandbox import Sandbox

    written = {"json": json_file} if json_file else {}
    outputs.check(written, [path])
    listings = tuple(kind for kind, wanted in (("ptx", ptx), ("sass", sass)) if wanted)
    submission = read(path)
    chosen = grading.steps_of(submission, steps)
    missing = [s.name for s in chosen if s.name not in submission.functions()]
    if missing:
        trouble = submission.syntax_error_for(missing[0])
        raise BadInput(f"{path}: {trouble or f'{missing[0]} is not defined in it'}")
    with Sandbox("compile") as compiler, terminal.progress() as progress:
        found = xray.examine(
            submission,
            chosen,
            [targets.TARGETS[name] for name in names],
            compiler,
            listings,
            all_configs,
            progress,
        )
    told = xray.to_json(submission, found, describe())
    unwritten = outputs.write(written, {"json": lambda: json.dumps(told, indent=2) + "\n"})
    report.show(submission, found, listings)
    if unwritten:
        raise BadInput("; ".join(unwritten))
    sys.exit(xray.exit_code(found))


@main.command("bench")
@click.argument("steps", nargs=-1, metavar="[STEP]...")
@click.option("--json", "json_file", type=OUTPUT, help="Write every measured number to this file.")
@click.option("--plot", "plot_file", type=OUTPUT, help="Draw the table into this file; its name ends in .svg.")  # fmt: skip
def bench_command(steps, json_file, plot_file):
    """Times the course's matmul kernels beside cuBLAS on this GPU; only the given STEPs, if any.

    Exits with 1 if a kernel is wrong; it is not timed then.
    """
    from autograder.bench import run as bench
    from autograder.report import terminal

    bench.check_steps(steps)
    written = {"json": json_file, "plot": plot_file}
    written = {name: path for name, path in written.items() if path is not None}
    if plot_file is not None and plot_file.suffix != ".svg":
        raise BadInput(f"--plot {plot_file}: expected a name that ends in .svg")
    outputs.check(written)
    capability = bench.capability()
    with terminal.progress() as progress:
        found = bench.run(steps, capability, progress)
    from autograder.bench import plot, table

    makers = {
        "json": lambda: json.dumps(found, indent=1) + "\n",
        "plot": lambda: plot.svg(found),
    }
    unwritten = outputs.write(written, makers)
    table.show(found)
    if unwritten:
        raise BadInput("; ".join(unwritten))
    sys.exit(1 if any(row["status"] == "wrong" for row in found["rows"]) else 0)


def _part(context, parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise click.BadParameter(f"{text!r} is not i/n with i from 1 to n, such as 1/8")
    return int(part), int(parts)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--workers", type=click.IntRange(1), help="Processes that grade, each with torch loaded; as many as there are cores unless given.")  # fmt: skip
@click.option("--scheduler", metavar="local|slurm|ADDRESS", help="Grade through Dask: processes of this machine, Slurm jobs, or a scheduler that runs.")  # fmt: skip
@click.option("--shard", callback=_part, metavar="i/n", help="Grade only part i of n, as a job of a Slurm array.")  # fmt: skip
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), help="Folder of the result files; FOLDER-results beside FOLDER unless given.")  # fmt: skip
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where kernels run, on every machine that grades: in Triton's interpreter, or on its GPU.")  # fmt: skip
@click.option("--speed/--no-speed", default=True, help="Whether speed is measured, with --device cuda.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Draws the cases; the class keeps it, and one is drawn unless given.")  # fmt: skip
@click.option("--timeout", type=_Seconds(), default=grading.DEFAULT_TIMEOUT, show_default=True, help="Seconds that one case may run.")  # fmt: skip
def batch(folder, **options):
    """Grades a class: FOLDER/STUDENT/EXERCISE/NOTEBOOK. Run again, it grades only what has changed."""
    from autograder.batch import command

    sys.exit(command.run_batch(folder, **options))


@main.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--html", type=OUTPUT, required=True, help="Write the page to this file.")
def leaderboard(results, html):
    """The best verified speed of each step and GPU model in RESULTS: result files, or folders of them."""
    from autograder.batch import leaderboard as board

    written = {"html": html}
    outputs.check(written, board.files(results), "read")
    page = board.page(board.best(board.read(results)))
    if unwritten := outputs.write(written, {"html": lambda: page}):
        raise BadInput(unwritten[0])


@main.command()
@click.option("--course", "whole_course", is_flag=True, help="Check the course instead: choices, notebooks, solutions, pages.")  # fmt: skip
@click.option("--quick", is_flag=True, help="With --course: do not grade the reference solutions.")
def doctor(whole_course, quick):
    """What this machine can and cannot grade, and why."""
    from autograder import course_check
    from autograder import doctor as checks
    from autograder.report import terminal
    from autograder.sandbox import Sandbox

    if quick and not whole_course:
        raise BadInput("--quick belongs to --course")
    findings = course_check.examine() if whole_course else checks.examine()
    terminal.show_findings(findings)
    if whole_course and not quick:
        with Sandbox() as sandbox, terminal.progress() as progress:
            graded = course_check.grade_references(sandbox, progress)
        terminal.show_findings(graded)
        findings += graded
    sys.exit(0 if all(f.ok or not f.needed for f in findings) else 1)
