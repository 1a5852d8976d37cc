"""The families of graded steps: what is asked, the exact answer, and how much error is right.

One module per family. Grader's process only; must never be imported by the worker.
"""
