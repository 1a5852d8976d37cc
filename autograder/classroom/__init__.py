"""A class: nbgrader keeps the gradebook, this project's engine gives the verdicts.

`nbgrader_config.py` plugs these modules into nbgrader's own commands:

    nbgrader generate_assignment 04_first_kernels      exercises/ → release/
    nbgrader release_assignment, collect, zip_collect  as always; hand-ins lie in submitted/
    nbgrader autograde 04_first_kernels                submitted/ → autograded/ and the gradebook
    nbgrader generate_feedback 04_first_kernels        autograded/ → feedback/
    nbgrader export                                    grades.csv
    nbgrader export --exporter=autograder.classroom.gradescope.GradescopeExport
    nbgrader export --exporter=autograder.classroom.canvas.CanvasExport --CanvasExport.gradebook=FILE

`nbgrader db student import` before, so that who hands in nothing is in the exports too. In
nbgrader_config.py, `c.GradeSteps.timeout` and `c.GradeSteps.seed` are `autograder grade`'s options.
The formgrader's buttons do the same as the commands.

What is graded is the released notebook with the learner's solution cells in it, so nothing else of
a hand-in can count. No learner's code runs in nbgrader's process.
"""

RELEASE = "release"  # the folder, below the course's, of what learners were given
KEY = "autograder"  # in the metadata of an autograded notebook: all that we know about it
CHECK = "-check"  # a step's name and this: the grade_id of the cell that holds its points
