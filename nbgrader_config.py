"""How nbgrader runs this course; autograder/classroom/__init__.py lists the commands.

Only what differs from nbgrader's defaults stands here.
"""

import os
import sys
import warnings
from pathlib import Path

from autograder.classroom import RELEASE

# nbgrader makes the gradebook with a program `alembic` that it looks for by name. It lies beside
# this Python, which need not be on the path: .venv/bin/nbgrader works without activating anything.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Three of these for each new submission would hide the sentences on hand-ins; nbgrader means no harm.
warnings.filterwarnings("ignore", "Object of type .* not in session", module="nbgrader")

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "triton"
# Notebooks without answers, made from solutions/ by `make exercises`.
c.CourseDirectory.source_directory = "exercises"
c.CourseDirectory.release_directory = RELEASE

CONVERTING = "autograder.classroom.converting"
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.LockCells",
    f"{CONVERTING}.ClearMarkedSolutions",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Hand-ins are rebuilt from the release and graded in the sandbox; nbgrader runs no cell of theirs.
c.Autograde.pre_convert_hook = f"{CONVERTING}.as_released"
c.Autograde.exporter_class = f"{CONVERTING}.RebuiltNotebook"
c.Autograde.sanitize_preprocessors = []
c.Autograde.autograde_preprocessors = [
    f"{CONVERTING}.GradeSteps",
    f"{CONVERTING}.SaveVerdicts",
    "nbgrader.preprocessors.AssignLatePenalties",
]

c.ExportApp.plugin_class = "autograder.classroom.exports.CsvExport"
