"""What the grader and the worker must agree on: margins, and how unwritten memory looks.

Constants only. Must never hold anything that a submission may not know.
"""

# Elements of NaN before and after each operand and each tensor that a submission allocates: more
# than one row of tiles reaches over.
MARGIN = 16 * 1024

# Bit patterns of memory that nobody has written yet: a NaN that no arithmetic produces.
UNWRITTEN = {"float16": 0xFEAD, "bfloat16": 0xFFAD, "float32": 0xFFDEAD01}

# What keeps a run apart, each where the system offers it: worker/isolation.py says what each does.
LAYERS = ("privileges", "namespaces", "landlock", "seccomp")
