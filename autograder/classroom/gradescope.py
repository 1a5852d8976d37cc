"""Gradescope's results.json for every hand-in of a class that was graded here.

    nbgrader export --exporter=autograder.classroom.gradescope.GradescopeExport --to FOLDER

writes FOLDER/ASSIGNMENT/STUDENT/results.json. The scores are the gradebook's. Who handed in nothing
has no file. A hand-in without a score has a file without one, which Gradescope reports as a failed
autograder, so that nobody takes it for a zero.
"""

import json
from pathlib import Path

from nbgrader.plugins import ExportPlugin

from autograder.classroom import CHECK
from autograder.classroom.standing import NO_SCORE, NOT_GRADED, NOT_SUBMITTED, Standing, standings
from autograder.files import write_whole


class GradescopeExport(ExportPlugin):
    """One results.json for each student and assignment."""

    def export(self, gradebook):
        target = Path(self.to or "gradescope")
        directory = self.parent.coursedir
        for standing in standings(gradebook, directory, self.assignment, self.student):
            if standing.status == NOT_SUBMITTED:
                continue
            folder = target / standing.assignment / standing.student.id
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps(_results(standing), indent=2) + "\n"
            write_whole(folder / "results.json", text.encode("utf-8"))
        self.log.info("Exported results to %s", target)


def _results(standing: Standing) -> dict:
    told = [about["gradescope"] for about in standing.about if "gradescope" in about]
    tests = {test["name"]: test for one in told for test in one["tests"]}
    lines = [f"Status: {standing.status}.", *standing.notes, *(one["output"] for one in told)]
    result = {"output": "\n".join(lines), "visibility": "visible"}
    if standing.status in (NO_SCORE, NOT_GRADED):
        return result
    if standing.penalty:
        result["output"] += f"\nPenalty for handing in late: {standing.penalty:g} points."
    result["score"] = standing.score
    result["tests"] = []
    for part in standing.parts:
        name = part.grade_id.removesuffix(CHECK)
        known = tests.get(name, {"name": name, "visibility": "visible"})
        result["tests"].append({**known, "score": part.score, "max_score": part.max_score})
    return result
