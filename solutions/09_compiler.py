# %% [markdown]
# # What the compiler made
#
# Four small calculations about one program and the multiprocessor (SM) that it runs on. They are plain
# Python: whole numbers in, whole numbers out.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `layout_owner(row, col, layout)` | a tile is spread over threads | 5 |
# | 2 | `shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages)` | buffers of a pipelined loop | 4 |
# | 3 | `resident_programs(registers_per_thread, shared_bytes, num_warps, sm)` | four limits, and the units in which memory is given out | 8 |
# | 4 | `deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm)` | stages against resident programs | 5 |
#
# The ideas are explained in [chapter 9](../../book/09_compiler.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# No GPU is needed.

# %%
from autograder import check
from autograder.targets import TARGETS, limits

# %% [markdown]
# ## Step 1: `layout_owner`
#
# **A worked layout first**, with one dimension. 128 elements lie on two warps of 32 threads. Each
# thread holds two neighbours; after 64 elements the second warp begins.

# %% tags=["active-ipynb"]
# def owner_in_a_row(i):
#     block = i // 2                      # two neighbours make one block
#     return block // 32, block % 32      # warp, lane
#
#
# [owner_in_a_row(i) for i in (0, 1, 2, 63, 64, 127)]

# %% [markdown]
# **Your task.** The same for a tile with rows and columns. A layout is a dict:
#
# | key | for rows and columns | example |
# | --- | --- | --- |
# | `"size_per_thread"` | elements of one block, which one thread holds | `(1, 8)` |
# | `"threads_per_warp"` | blocks side by side in one warp, one for each lane | `(4, 8)` |
# | `"warps_per_program"` | warps side by side | `(4, 1)` |
# | `"order"` | the axes, fastest first: `(1, 0)` counts lanes and warps along a row first | `(1, 0)` |
#
# Return `(warp, lane)` of the element in row `row` and column `col`, both counted from 0.
#
# - In the example, lane 0 of warp 0 holds columns 0 to 7 of row 0, lane 1 the next eight, lane 8
#   columns 0 to 7 of row 1, and warp 1 begins with row 4.
# - A tile may be larger than what the layout covers (16 by 64 in the example). Then the layout is
#   repeated, and element (16, 0) belongs to lane 0 of warp 0 again.
# - With `"order"` `(0, 1)` lanes and warps are counted down the columns.
#
# <details>
# <summary>Hint 1: three questions along each axis</summary>
#
# Which block is it? Which lane of its warp, along this axis? Which warp, along this axis? The first is
# a quotient, the second a remainder; the third is a quotient and then, because the layout is repeated,
# a remainder.
#
# </details>
#
# <details>
# <summary>Hint 2: from two numbers to one</summary>
#
# Lanes are numbered like the elements of a matrix. If rows are the slow axis, the lane is
# `lane_row * lanes_in_a_row + lane_col`. Warps are numbered in the same way.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `place = (row, col)`; `warp` and `lane` begin at 0.
# 2. Go through the axes, slowest first: `for axis in reversed(layout["order"]):`
# 3. `block` is `place[axis]` divided by `size_per_thread[axis]`, rounded down.
# 4. `lane` becomes `lane * lanes + block % lanes`, with `lanes = threads_per_warp[axis]`.
# 5. `warp` becomes `warp * warps + block // lanes % warps`, with `warps = warps_per_program[axis]`.
#
# </details>


# %% nbgrader={"grade_id": "layout_owner", "solution": true}
def layout_owner(row, col, layout):
    """Return (warp, lane) of the thread that holds element (row, col)."""
    ### BEGIN SOLUTION
    place, warp, lane = (row, col), 0, 0
    for axis in reversed(layout["order"]):  # the slowest axis first
        block = place[axis] // layout["size_per_thread"][axis]
        lanes = layout["threads_per_warp"][axis]
        warps = layout["warps_per_program"][axis]
        lane = lane * lanes + block % lanes
        warp = warp * warps + block // lanes % warps  # % warps: the layout is repeated
    return warp, lane
    ### END SOLUTION


# %% tags=["active-ipynb"]
# rowwise = {
#     "size_per_thread": (1, 8),
#     "threads_per_warp": (4, 8),
#     "warps_per_program": (4, 1),
#     "order": (1, 0),
# }
# for row in (0, 1, 4, 16):
#     print(row, [layout_owner(row, col, rowwise) for col in (0, 7, 8, 63)])

# %% tags=["active-ipynb"] nbgrader={"grade_id": "layout_owner-check", "grade": true}
# check(layout_owner)

# %% [markdown]
# ## Step 2: `shared_memory_bytes`
#
# A pipelined loop over K holds the tiles of `num_stages` turns in shared memory at once: those that
# wait, and those that are on their way. A turn needs a tile of A, `block_m` by `block_k`, and a tile of
# B, `block_k` by `block_n`. An element takes `itemsize` bytes. Return the bytes of all of them.
#
# This is what the compiler takes for sm_90. For sm_80 it takes one pair of tiles less, so the answer is
# on the safe side.
#
# <details>
# <summary>Hint 1: what is not in it</summary>
#
# The tile of C stays in registers.
#
# </details>
#
# <details>
# <summary>Hint 2: one pair</summary>
#
# A tile of A has `block_m * block_k` elements. Add those of a tile of B.
#
# </details>
#
# <details>
# <summary>Hint 3: a number to compare with</summary>
#
# 128 by 128 by 64 in 16-bit numbers with 3 stages: 98,304 bytes, or 96 KB.
#
# </details>


# %% nbgrader={"grade_id": "shared_memory_bytes", "solution": true}
def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    """Return the bytes of the operand buffers of a pipelined loop over K."""
    ### BEGIN SOLUTION
    elements = block_m * block_k + block_k * block_n
    return elements * itemsize * num_stages
    ### END SOLUTION


# %% tags=["active-ipynb"]
# print([shared_memory_bytes(128, 128, 64, 2, stages) for stages in range(1, 6)])

# %% tags=["active-ipynb"] nbgrader={"grade_id": "shared_memory_bytes-check", "grade": true}
# check(shared_memory_bytes)

# %% [markdown]
# ## Step 3: `resident_programs`
#
# How many programs of one kernel can be on one SM at a time? `sm` is a dict with the SM's limits:

# %% tags=["active-ipynb"]
# limits(TARGETS["sm_90"])

# %% [markdown]
# | key | meaning |
# | --- | --- |
# | `warp_size` | threads of a warp |
# | `warps`, `blocks` | most warps, and most programs, on one SM |
# | `registers`, `partitions` | 32-bit registers of the SM, and the equal parts it is divided into |
# | `register_unit` | a warp gets its registers in multiples of this |
# | `shared_sm`, `shared_block` | bytes of shared memory of the SM, and what one program may ask for |
# | `shared_reserved` | bytes that the system takes from each program on top |
# | `shared_unit` | a program gets its shared memory in multiples of this, what the system takes included |
#
# Four things can be the limit:
#
# - **Warps**: together at most `warps`.
# - **Programs**: at most `blocks`.
# - **Registers**: a warp takes `registers_per_thread` for each of its threads, rounded up to whole units.
#   It lives in one partition, so what is left over in a partition is lost. First find out how many warps
#   fit the registers of one partition, then of all, then how many programs these are.
# - **Shared memory**: a program takes `shared_bytes` plus what is reserved, rounded up to whole units. A
#   program that asks for more than `shared_block` cannot start: the answer is 0. It may also ask for
#   none, on a GPU that reserves none.
#
# `num_warps` is a power of two up to 32, `registers_per_thread` at least 16. Return an int.
#
# **A worked part.** Warps and programs alone:

# %% tags=["active-ipynb"]
# def by_warps_and_programs(num_warps, sm):
#     return min(sm["warps"] // num_warps, sm["blocks"])
#
#
# [by_warps_and_programs(w, limits(TARGETS["sm_90"])) for w in (1, 2, 4, 8)]

# %% [markdown]
# **Given**, for your use: rounding up to whole units.


# %%
def round_up(value, unit):
    """The least multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit


# %% [markdown]
# <details>
# <summary>Hint 1: what to work out, in order</summary>
#
# For registers: first what one warp takes, then how many such warps the SM holds, and only then how
# many programs these are. For shared memory: what one program takes, and how many of that the SM holds.
#
# </details>
#
# <details>
# <summary>Hint 2: registers, with numbers</summary>
#
# 97 registers for 32 threads are 3,104, or 13 units of 256: 3,328. A partition of an SM with 65,536
# registers has 16,384, enough for 4 such warps. Four partitions hold 16 warps: 4 programs of 4 warps.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. If `shared_bytes` is more than `shared_block`: 0.
# 2. `per_warp`: `registers_per_thread * warp_size`, rounded up to `register_unit`.
# 3. `warps`: `registers // partitions // per_warp * partitions`.
# 4. `shared`: `shared_bytes + shared_reserved`, rounded up to `shared_unit`.
# 5. The least of `sm["warps"] // num_warps`, `sm["blocks"]` and `warps // num_warps`; and, where `shared`
#    is not 0, of `sm["shared_sm"] // shared`.
#
# </details>


# %% nbgrader={"grade_id": "resident_programs", "solution": true}
def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    """Return how many such programs fit one SM with the limits `sm`."""
    ### BEGIN SOLUTION
    if shared_bytes > sm["shared_block"]:
        return 0
    per_warp = round_up(registers_per_thread * sm["warp_size"], sm["register_unit"])
    warps = sm["registers"] // sm["partitions"] // per_warp * sm["partitions"]
    programs = min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps)
    shared = round_up(shared_bytes + sm["shared_reserved"], sm["shared_unit"])
    return min(programs, sm["shared_sm"] // shared) if shared else programs
    ### END SOLUTION


# %% tags=["active-ipynb"]
# for name in ("sm_80", "sm_90"):
#     print(name, resident_programs(168, 65536, 8, limits(TARGETS[name])))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "resident_programs-check", "grade": true}
# check(resident_programs)

# %% [markdown]
# ## Step 4: `deepest_pipeline`
#
# More stages hide more waiting. But they take shared memory, and then fewer programs fit. Return the
# largest `num_stages` with which `programs` programs are still on one SM together, as far as shared memory
# goes; 0 if not even one stage is possible. Count the bytes of a stage as in step 2.
#
# - `sm` is as in step 3. Each program gets an equal share of `shared_sm`, of which the system takes
#   `shared_reserved`. No program gets more than `shared_block`.
# - The sides of tiles are powers of two from 16 on. Then every stage is a whole number of units, and you
#   can leave `shared_unit` aside.
#
# <details>
# <summary>Hint 1: the other way round</summary>
#
# Step 3 went from bytes to programs. Go from programs to bytes: what may one of them take?
#
# </details>
#
# <details>
# <summary>Hint 2: the room</summary>
#
# `shared_sm // programs - shared_reserved`, but at most `shared_block`, and never below 0.
#
# </details>
#
# <details>
# <summary>Hint 3: the last line</summary>
#
# Divide the room by `shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)`, rounding down.
#
# </details>


# %% nbgrader={"grade_id": "deepest_pipeline", "solution": true}
def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    """Return the most stages with which `programs` programs fit the shared memory of one SM."""
    ### BEGIN SOLUTION
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
    ### END SOLUTION


# %% tags=["active-ipynb"]
# for programs in (1, 2, 3, 4):
#     print(programs, deepest_pipeline(128, 128, 64, 2, programs, limits(TARGETS["sm_90"])))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "deepest_pipeline-check", "grade": true}
# check(deepest_pipeline)
