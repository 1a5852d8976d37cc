# %% [markdown]
# # Timing without fooling yourself
#
# Four functions that measure. You will use them in every later chapter, so they have to be right.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `matmul_tflops(M, N, K, ms)` | work per time | 2 |
# | 2 | `vector_add_gb_s(n, itemsize, ms)` | bytes per time | 2 |
# | 3 | `bench_ms(fn, warmup, repeats)` | warm-up, waiting, the median | 6 |
# | 4 | `cold_bench_ms(fn, clear_cache, warmup, repeats)` | a broken benchmark, repaired | 5 |
#
# The ideas are explained in [chapter 2](../../book/02_benchmarking.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a result, then run the check below it. No GPU is
# needed: the grader runs steps 3 and 4 on a pretended GPU with a clock of its own, where the right
# answer is known.

# %%
from autograder import check
import statistics
import time
import torch

# %% [markdown]
# ## Step 1: `matmul_tflops`
#
# **A worked example first.** A copy reads `n_bytes` and writes as many. Divide by the time to get its
# bandwidth. The time comes in milliseconds, the result is wanted in GB/s: 10⁹ bytes a second. So two
# powers of ten meet, and `/ (ms * 1e-3) / 1e9` says it plainly.

# %% tags=["active-ipynb"]
# def copy_gb_s(n_bytes, ms):
#     return 2 * n_bytes / (ms * 1e-3) / 1e9
#
#
# copy_gb_s(1e9, 10)

# %% [markdown]
# **Your task.** The speed of one product of an (M, K) with a (K, N) matrix that took `ms` milliseconds.
# A multiplication and an addition are two operations, as in chapter 1.
#
# ```text
# matmul_tflops(M, N, K, ms)
#   M, N, K   sizes, whole numbers from 1
#   ms        the time of one product, milliseconds
#   returns   TFLOPS, 10¹² operations a second, a float
# ```
#
# <details><summary>Hint 1: where to begin</summary>
#
# Operations divided by seconds. How many operations does the product have, and how many seconds is `ms`?
# </details>
#
# <details><summary>Hint 2: the units</summary>
#
# `ms * 1e-3` seconds. And "tera" is 10¹².
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# `2 * M * N * K` operations, divided by `(ms * 1e-3)`, divided by `1e12`.
# </details>


# %% nbgrader={"grade_id": "matmul_tflops", "solution": true}
def matmul_tflops(M, N, K, ms):
    # Operations, seconds, and the prefix.
    ### BEGIN SOLUTION
    flop = 2 * M * N * K
    return flop / (ms * 1e-3) / 1e12
    ### END SOLUTION


# %% [markdown]
# Look before you check: 5000³ has 0.25 · 10¹² operations.

# %% tags=["active-ipynb"]
# print(matmul_tflops(5000, 5000, 5000, 1000), "should be 0.25")
# print(matmul_tflops(5000, 5000, 5000, 1), "should be 250")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "matmul_tflops-check", "grade": true}
# check(matmul_tflops)

# %% [markdown]
# ## Step 2: `vector_add_gb_s`
#
# **A worked example first.** The sum of a vector reads `n` numbers and writes one. The one does not
# count: it is nothing beside `n`. What is read twice by the algorithm counts twice only if it really
# has to come from memory twice.

# %% tags=["active-ipynb"]
# def sum_gb_s(n, itemsize, ms):
#     return n * itemsize / (ms * 1e-3) / 1e9
#
#
# sum_gb_s(1_000_000, 4, 0.01)

# %% [markdown]
# **Your task.** The **effective bandwidth** of `out = x + y` for vectors of `n` numbers: the bytes that
# the addition has to read and write, divided by its time.
#
# ```text
# vector_add_gb_s(n, itemsize, ms)
#   n          numbers in each vector, a whole number from 1
#   itemsize   bytes of one number
#   ms         the time of one addition, milliseconds
#   returns    GB/s, 10⁹ bytes a second, a float
# ```
#
# <details><summary>Hint 1: where to begin</summary>
#
# How many vectors does the memory see? Ask of each of `x`, `y` and `out`.
# </details>
#
# <details><summary>Hint 2: the units</summary>
#
# As in the worked example: `ms * 1e-3` seconds, and `1e9` bytes in a GB. Not `2**30`, which is a GiB.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# Two vectors are read and one is written: `3 * n * itemsize` bytes.
# </details>


# %% nbgrader={"grade_id": "vector_add_gb_s", "solution": true}
def vector_add_gb_s(n, itemsize, ms):
    # Bytes read and written, seconds, and the prefix.
    ### BEGIN SOLUTION
    bytes_moved = 3 * n * itemsize  # x and y are read, out is written
    return bytes_moved / (ms * 1e-3) / 1e9
    ### END SOLUTION


# %% [markdown]
# Look before you check: a thousand million fp32 numbers in 12 ms are 1000 GB/s.

# %% tags=["active-ipynb"]
# print(vector_add_gb_s(1_000_000_000, 4, 12), "should be 1000")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "vector_add_gb_s-check", "grade": true}
# check(vector_add_gb_s)

# %% [markdown]
# ## Step 3: `bench_ms`
#
# **A worked example first.** This takes the time of *one* call, on a CPU or a GPU. A GPU works on its
# own: calling `fn` only hands it the work. So we wait until it is done with everything *before* the
# clock is read the first time, and again before it is read the second time.

# %% tags=["active-ipynb"]
# def one_call_ms(fn):
#     if torch.cuda.is_available():
#         torch.cuda.synchronize()
#     start = time.perf_counter()
#     fn()
#     if torch.cuda.is_available():
#         torch.cuda.synchronize()
#     return (time.perf_counter() - start) * 1e3
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# a = torch.randn(256, 256, device=device)
# print([f"{one_call_ms(lambda: a @ a):.3f}" for _ in range(5)])

# %% [markdown]
# The first call is often slower than the others, and one of the others may be slow for no reason of
# its own.
#
# **Your task.** A measurement that you can rely on.
#
# ```text
# bench_ms(fn, warmup, repeats)
#   fn        a function without arguments; its calls may leave work to the GPU
#   warmup    calls made first, which are not timed; may be 0
#   repeats   calls that are timed, one by one; an odd number
#   returns   the median of the timed calls, milliseconds, a float
# ```
#
# *Given:* `finish`, which waits for the GPU if there is one. *Yours:* the warm-up, the loop, the median.
# `fn` is called `warmup + repeats` times in all, and a timed call contains nothing but that call.
#
# <details><summary>Hint 1: where to begin</summary>
#
# Two loops. The first calls `fn` and forgets it. The second does for each call what the worked example
# does, and appends the time to a list.
# </details>
#
# <details><summary>Hint 2: where to wait</summary>
#
# The work of the warm-up may still be running when its loop ends. And each timed call must be over
# before the clock is read again.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# ```python
# finish()                                # after the warm-up
# for _ in range(repeats):
#     start = time.perf_counter()
#     fn()
#     finish()
#     times.append(...)                   # milliseconds since start
# return statistics.median(times)
# ```
# </details>


# %% nbgrader={"grade_id": "bench_ms", "solution": true}
def finish():
    """Waits until the GPU has done all it was given. On a CPU a call is over when it returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def bench_ms(fn, warmup, repeats):
    # The warm-up, then one time for each repeat, then their median.
    ### BEGIN SOLUTION
    for _ in range(warmup):
        fn()
    finish()  # or the first timed call would wait for the warm-up's work
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
    ### END SOLUTION


# %% [markdown]
# Look before you check. `time.sleep` is work whose time we know.

# %% tags=["active-ipynb"]
# print(bench_ms(lambda: time.sleep(0.005), warmup=1, repeats=5), "should be a little above 5")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "bench_ms-check", "grade": true}
# check(bench_ms)

# %% [markdown]
# ## Step 4: `cold_bench_ms`
#
# When `fn` is called again and again on the same tensors, a large cache still holds them: the call runs
# *warm*. In a model other work comes between, and the data have to come from DRAM: the call runs *cold*.
# To time a cold call, fill the cache with something else before each of them. Here is somebody's
# attempt. It runs, it returns a number, and **five things are wrong with it**.

# %% tags=["active-ipynb"]
# def broken_bench(fn, clear_cache, warmup, repeats):
#     start = time.time()
#     for _ in range(repeats):
#         clear_cache()
#         fn()
#     return (time.time() - start) / repeats
#
#
# broken_bench(lambda: time.sleep(0.005), lambda: time.sleep(0.02), warmup=2, repeats=5)

# %% [markdown]
# `time.sleep(0.005)` takes 5 ms. What does the number say, and in which unit?
#
# **Your task.** The same, repaired.
#
# ```text
# cold_bench_ms(fn, clear_cache, warmup, repeats)
#   fn            as in step 3
#   clear_cache   a function without arguments that fills the cache with other data, on the GPU too
#   warmup        calls of fn made first, which are not timed; may be 0
#   repeats       calls of fn that are timed, each after a call of clear_cache; an odd number
#   returns       the median of the timed calls of fn alone, milliseconds, a float
# ```
#
# *Given:* `finish` from step 3.
#
# <details><summary>Hint 1: the five faults</summary>
#
# There is no warm-up. The clearing is timed too. Nobody waits for the GPU. It returns a mean, which one
# slow call spoils. And it returns seconds.
# </details>
#
# <details><summary>Hint 2: where to wait</summary>
#
# `clear_cache()` leaves work to the GPU as well. If you start the clock while it runs, your `fn` waits
# for it and you time both.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# The loop of step 3, with `clear_cache()` and `finish()` before `start = time.perf_counter()`.
# </details>


# %% nbgrader={"grade_id": "cold_bench_ms", "solution": true}
def cold_bench_ms(fn, clear_cache, warmup, repeats):
    # As bench_ms, but no timed call may find its data in the cache.
    ### BEGIN SOLUTION
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        clear_cache()
        finish()  # the clearing, and what is left of the warm-up, must be over
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
    ### END SOLUTION


# %% [markdown]
# Look before you check: again 5 ms, whatever the clearing takes.

# %% tags=["active-ipynb"]
# print(
#     cold_bench_ms(lambda: time.sleep(0.005), lambda: time.sleep(0.02), warmup=2, repeats=5),
#     "should be a little above 5",
# )

# %% tags=["active-ipynb"] nbgrader={"grade_id": "cold_bench_ms-check", "grade": true}
# check(cold_bench_ms)

# %% [markdown]
# ## If you want more
#
# - `triton.testing.do_bench` does most of this on a GPU. Read its source: what does it clear, how does
#   it wait, and how does it choose the number of repeats?
# - Measure `torch.add` for vectors of 16 up to 2²⁴ numbers, and print GB/s. Where does the curve bend?
# - `torch.cuda.Event` reads the GPU's own clock. Write `bench_ms` with two events for each call.
