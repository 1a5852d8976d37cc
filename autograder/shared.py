"""What the grader and the worker must agree on: margins, and how unwritten memory looks.

Constants only. Must never hold anything that a submission may not know.
"""

# Elements of NaN before and after each operand and each tensor that a submission allocates: more
# than one row of tiles reaches over.
MARGIN = 16 * 1024

# Bit patterns of memory that nobody has written yet: a NaN that no arithmetic produces.
UNWRITTEN = {"float16": 0xFEAD, "bfloat16": 0xFFAD, "float32": 0xFFDEAD01}

# Milliseconds of the host on the pretended device of chapter 2: to queue work, and to read the clock
# or ask an event, so that whoever waits in a loop gets on.
LAUNCH_MS = 0.002
LOOK_MS = 0.0001

# What keeps a run apart, each where the system offers it: worker/isolation.py says what each does.
LAYERS = ("privileges", "namespaces", "landlock", "seccomp")

# The mailbox of a timed run, in words of eight bytes: the number of the turn that the referee asks for
# (or STOP), how many calls it has, the turn that is done, the nanoseconds that the contestant's own
# events give it, and whether a turn is about to come, so that waiting for it must not sleep. From ORDER
# on: for every call, the index of each operand in its pool.
TURN, CALLS, DONE, NANOSECONDS, HOT, ORDER = 0, 1, 2, 3, 4, 8
STOP = -1
