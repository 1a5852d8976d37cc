"""A grading as JUnit XML: a test suite for each submission and step, a test case for each check.

Points, seed, environment and speed are properties of the suite. Must never decide a verdict, only show it.
"""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from autograder.report import performance
from autograder.report.words import cut, printable, sizes
from autograder.result import Check, Grading, StepResult, SubmissionResult

KEPT_PRINTED = 4000
# What JUnit calls a check that did not pass. An error is a run that came to no result.
ELEMENTS = {
    "failed": "failure",
    "refused": "failure",
    "error": "error",
    "crashed": "error",
    "timed_out": "error",
    "not_measured": "skipped",
}


def document(grading: Grading) -> str:
    """The file's text."""
    root = Element("testsuites", name="autograder")
    for submission in grading.submissions:
        for step in submission.steps:
            _suite(root, grading, submission, step)
    _count(root, [check for step in grading.steps() for check in step.checks])
    root.set("time", f"{sum(step.seconds for step in grading.steps()):.3f}")
    ElementTree.indent(root)
    xml = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{xml}\n'


def _suite(root: Element, grading: Grading, submission: SubmissionResult, step: StepResult) -> None:
    path = printable(submission.path)
    suite = SubElement(root, "testsuite", name=f"{path}: {step.step}", time=f"{step.seconds:.3f}")
    _count(suite, step.checks)
    facts = {"points": f"{step.points:g}", "max_points": f"{step.max_points:g}"}
    facts |= {"seed": str(grading.seed)} | grading.environment
    if step.hint:
        facts["cause"] = step.hint.cause
    measured = performance.measured(step)
    if measured is not None:
        facts["speed"] = performance.speed(measured).removeprefix("speed: ")
    properties = SubElement(suite, "properties")
    for name, value in facts.items():
        SubElement(properties, "property", name=name, value=printable(value))
    for check in step.checks:
        _case(suite, f"{path}.{step.step}", check)
    said = [f"note: {note}" for note in step.notes]
    if step.hint:
        said.append(f"hint: {step.hint.text} Read {step.hint.read}.")
    if said:
        SubElement(suite, "system-out").text = printable("\n".join(said))


def _case(suite: Element, classname: str, check: Check) -> None:
    case = SubElement(suite, "testcase", classname=classname, name=printable(check.name))
    if check.status in ELEMENTS:
        message = printable(check.message)
        found = SubElement(case, ELEMENTS[check.status], message=message)
        if check.status != "not_measured":
            found.set("type", check.status)
            found.text = "\n".join(filter(None, (message, printable(sizes(check)))))
    if check.printed.strip():
        SubElement(case, "system-out").text = cut(check.printed, KEPT_PRINTED)


def _count(element: Element, checks: list[Check]) -> None:
    kinds = [ELEMENTS.get(check.status) for check in checks]
    element.set("tests", str(len(kinds)))
    element.set("failures", str(kinds.count("failure")))
    element.set("errors", str(kinds.count("error")))
    element.set("skipped", str(kinds.count("skipped")))
