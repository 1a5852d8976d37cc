"""The course's own table: its matmul kernels beside the library, timed on the GPU of this machine.

`autograder bench` makes it, and the scripts in benchmarks/ time with the same clock and kernels.
Must not import Jupyter's packages: a machine that only measures has none.
"""
