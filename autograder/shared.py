"""What the grader and the worker must agree on: margins, and how unwritten memory looks.

Constants only. Must never hold anything that a submission may not know.
"""

# Elements of NaN before and after each operand and each tensor that a submission allocates: more
# than one row of tiles reaches over.
MARGIN = 16 * 1024

# Bit patterns of memory that nobody has written yet: a NaN that no arithmetic produces,
# without a sign, so that it is no neutral element of an atomic maximum either.
UNWRITTEN = {"float16": 0x7EAD, "bfloat16": 0x7FAD, "float32": 0x7FDEAD01}

# Milliseconds of the host on the pretended device of chapter 2: to queue work, and to read the clock
# or ask an event, so that whoever waits in a loop gets on.
LAUNCH_MS = 0.002
LOOK_MS = 0.0001

# What keeps a run apart, each where the system offers it: worker/isolation.py says what each does.
LAYERS = ("privileges", "namespaces", "landlock", "seccomp")

# The mailbox of a timed run, in words of eight bytes. The referee writes which turn comes next (or
# STOP), how many calls it has, and whether a profiler is to watch them; the contestant, that it is
# ready for that turn; the referee, that it begins; the contestant, the nanoseconds that its own events
# give it, and that it is done. From ORDER on: for every call, the index of each operand in its pool.
NEXT, CALLS, PROFILED, READY, TURN, NANOSECONDS, DONE, ORDER = 0, 1, 2, 3, 4, 5, 6, 8
STOP = -1
