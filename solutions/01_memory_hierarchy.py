# %% [markdown]
# # Where data lives: the limits of a GPU in four functions
#
# No kernel yet: four short calculations in plain Python. Later chapters use them to say how fast a
# kernel could be at best.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `dram_bandwidth_tb_s(bus_bits, transfers_gt_s)` | where a bandwidth comes from | 2 |
# | 2 | `matmul_intensity(M, N, K, itemsize)` | work for each byte moved | 3 |
# | 3 | `attainable_tflops(intensity, peak_tflops, bandwidth_tb_s)` | the roofline | 3 |
# | 4 | `least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s)` | a time that no kernel beats | 4 |
#
# The ideas are explained in [chapter 1](../../book/01_memory_hierarchy.md). Fill in each cell that
# says `YOUR CODE HERE`, delete its `raise` line, look at a number that you can work out by hand, then
# run the check below it. No GPU is needed.
#
# **Units, once for all.** Rates count in thousands: 1 TB/s is 10¹² bytes a second, 1 TFLOPS is 10¹²
# operations a second, 1 ms is a thousandth of a second.

# %%
from autograder import check

# %% [markdown]
# If this computer has a GPU, here is what it says about itself. If not, go on.

# %% tags=["active-ipynb"]
# import torch
#
# if torch.cuda.is_available():
#     print(torch.cuda.get_device_properties(0))
# else:
#     print("no GPU here")

# %% [markdown]
# ## Step 1: `dram_bandwidth_tb_s`
#
# **A worked example first.** The shared memory of one SM has 32 banks. Each delivers 4 bytes a tick,
# and the clock ticks `clock_ghz` times 10⁹ a second. An A100 has 108 SMs and runs at up to 1.41 GHz.
# Bytes a tick, times ticks a second, times how many there are: that is every bandwidth.

# %% tags=["active-ipynb"]
# def shared_bandwidth_tb_s(sms, clock_ghz):
#     bytes_per_second = sms * 32 * 4 * clock_ghz * 1e9
#     return bytes_per_second / 1e12
#
#
# shared_bandwidth_tb_s(108, 1.41)

# %% [markdown]
# **Your task.** The memory outside the chip is reached over a **bus**: `bus_bits` wires, each of which
# carries one **bit** at a transfer. `transfers_gt_s` says how many transfers a second each wire makes,
# in units of 10⁹ (gigatransfers, GT/s).
#
# ```text
# dram_bandwidth_tb_s(bus_bits, transfers_gt_s)
#   bus_bits         wires of the bus, a whole number
#   transfers_gt_s   transfers of one wire, 10⁹ a second
#   returns          TB/s, a float
# ```
#
# <details><summary>Hint 1: where to begin</summary>
#
# How many bits does the whole bus carry in one second? Then change bits into bytes, and bytes into TB.
# </details>
#
# <details><summary>Hint 2: the units</summary>
#
# A byte is 8 bits. `transfers_gt_s` is in 10⁹ and the result in 10¹², so a factor of 1000 is left.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# Bits a second: `bus_bits * transfers_gt_s * 1e9`. Divide by 8, then by `1e12`.
# </details>


# %% nbgrader={"grade_id": "dram_bandwidth_tb_s", "solution": true}
def dram_bandwidth_tb_s(bus_bits, transfers_gt_s):
    # Bits in a second, then bytes, then TB.
    ### BEGIN SOLUTION
    bytes_per_transfer = bus_bits / 8
    return bytes_per_transfer * transfers_gt_s * 1e9 / 1e12
    ### END SOLUTION


# %% [markdown]
# Look before you check. A T4 has a bus of 256 bits at 10 GT/s, and NVIDIA says 320 GB/s, which is
# 0.32 TB/s.

# %% tags=["active-ipynb"]
# print(dram_bandwidth_tb_s(256, 10.0), "should be 0.32")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "dram_bandwidth_tb_s-check", "grade": true}
# check(dram_bandwidth_tb_s)

# %% [markdown]
# ## Step 2: `matmul_intensity`
#
# **A worked example first.** Adding two vectors of `n` numbers takes `n` operations. It reads two
# vectors and writes one. The **arithmetic intensity** is the quotient: operations for each byte moved.
# `n` cancels, so it is the same for every length: 1/12 in fp32, where a number has 4 bytes.

# %% tags=["active-ipynb"]
# def vector_add_intensity(n, itemsize):
#     flop = n
#     bytes_moved = (2 * n + n) * itemsize
#     return flop / bytes_moved
#
#
# vector_add_intensity(1000, 4)

# %% [markdown]
# **Your task.** The product of an (M, K) and a (K, N) matrix. Each of its M·N results is a sum of K
# products. A multiplication is one operation and an addition is one, and it is the custom to count K
# additions for a sum of K terms. Every element of A and of B is read once, every element of C is
# written once; a matrix product cannot move less.
#
# ```text
# matmul_intensity(M, N, K, itemsize)
#   M, N, K    sizes, whole numbers from 1
#   itemsize   bytes of one element: 2 for fp16, 4 for fp32
#   returns    FLOP per byte, a float
# ```
#
# <details><summary>Hint 1: where to begin</summary>
#
# Two numbers: the operations, and the bytes. For the bytes ask of each matrix in turn how many elements
# it has. Three matrices, three shapes.
# </details>
#
# <details><summary>Hint 2: the operations</summary>
#
# M·N results, K products each, and for each product one addition: so twice M·N·K.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# `flop = 2 * M * N * K`. A has `M * K` elements, B has `K * N`, C has `M * N`; add them up and multiply
# by `itemsize`.
# </details>


# %% nbgrader={"grade_id": "matmul_intensity", "solution": true}
def matmul_intensity(M, N, K, itemsize):
    # The operations, the bytes, their quotient.
    ### BEGIN SOLUTION
    flop = 2 * M * N * K  # a multiplication and an addition for each of M·N·K products
    elements = M * K + K * N + M * N
    return flop / (elements * itemsize)
    ### END SOLUTION


# %% [markdown]
# Look before you check. With M = N = K = n the formula shrinks to n / 6 for fp32. And a product with a
# vector, M = 1, stays below 1 however large the matrix is.

# %% tags=["active-ipynb"]
# print(matmul_intensity(600, 600, 600, 4), "should be 100")
# print(matmul_intensity(1, 4096, 4096, 2), "should be a little below 1")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "matmul_intensity-check", "grade": true}
# check(matmul_intensity)

# %% [markdown]
# ## Step 3: `attainable_tflops`
#
# **A worked example first.** Where do arithmetic and memory take equally long? At the **ridge point**:
# the intensity of a kernel that keeps both busy all the time. A T4 multiplies fp32 numbers at up to
# 8.1 TFLOPS and reads 0.32 TB/s. The prefix "tera" cancels.

# %% tags=["active-ipynb"]
# def ridge_point(peak_tflops, bandwidth_tb_s):
#     return peak_tflops / bandwidth_tb_s
#
#
# ridge_point(8.1, 0.32)

# %% [markdown]
# **Your task.** How many TFLOPS can a kernel of a given intensity reach at best? Two things limit it.
# The arithmetic units do not compute faster than their peak. And memory does not bring the operands of
# more operations than its bandwidth allows: `bandwidth` bytes a second, `intensity` operations for each
# of them. The lower limit decides. Drawn over the intensity this gives the **roofline**.
#
# ```text
# attainable_tflops(intensity, peak_tflops, bandwidth_tb_s)
#   intensity        FLOP per byte of the kernel, from 0 upwards
#   peak_tflops      what the arithmetic units can do, TFLOPS
#   bandwidth_tb_s   what the memory can bring, TB/s
#   returns          TFLOPS, a float
# ```
#
# <details><summary>Hint 1: where to begin</summary>
#
# TB a second times FLOP per byte: which unit does the product have?
# </details>
#
# <details><summary>Hint 2: two limits</summary>
#
# One limit is `peak_tflops`, whatever the intensity. The other grows with the intensity. A kernel must
# respect both.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# The smaller of `peak_tflops` and `intensity * bandwidth_tb_s`.
# </details>


# %% nbgrader={"grade_id": "attainable_tflops", "solution": true}
def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    # Two limits. Which one holds?
    ### BEGIN SOLUTION
    return min(peak_tflops, intensity * bandwidth_tb_s)
    ### END SOLUTION


# %% [markdown]
# Look before you check: a T4 at intensity 10, at 1000, and at its ridge point.

# %% tags=["active-ipynb"]
# print(attainable_tflops(10, 8.1, 0.32), "should be 3.2")
# print(attainable_tflops(1000, 8.1, 0.32), "should be 8.1")
# print(attainable_tflops(8.1 / 0.32, 8.1, 0.32), "should be 8.1 too")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "attainable_tflops-check", "grade": true}
# check(attainable_tflops)

# %% [markdown]
# ## Step 4: `least_ms`
#
# **A worked example first.** How long does it take at least to copy `n_bytes`? They are read and
# written, so 2 · `n_bytes` pass the bus. Bytes divided by bytes a second are seconds; a second has 1000
# milliseconds.

# %% tags=["active-ipynb"]
# def least_copy_ms(n_bytes, bandwidth_tb_s):
#     seconds = 2 * n_bytes / (bandwidth_tb_s * 1e12)
#     return seconds * 1e3
#
#
# least_copy_ms(1e9, 0.32)

# %% [markdown]
# **Your task.** The shortest time that any kernel can take which has `flop` operations to do and
# `bytes_moved` bytes to move. Loads and arithmetic can go on at the same time, so the two times do not
# add up: the kernel must wait for the longer one.
#
# ```text
# least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s)
#   flop             operations, from 0
#   bytes_moved      bytes read and written, from 0
#   peak_tflops      TFLOPS
#   bandwidth_tb_s   TB/s
#   returns          milliseconds, a float
# ```
#
# <details><summary>Hint 1: where to begin</summary>
#
# Two times, as in the worked example: one for the bytes, one for the operations.
# </details>
#
# <details><summary>Hint 2: at the same time</summary>
#
# While one tile is multiplied, the next one is already on its way. At best the shorter time is hidden
# behind the longer one.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# `compute_s = flop / (peak_tflops * 1e12)`, `memory_s` in the same way; then the larger of the two,
# times 1000.
# </details>


# %% nbgrader={"grade_id": "least_ms", "solution": true}
def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):
    # The time of the arithmetic, the time of the memory. Which one must be waited for?
    ### BEGIN SOLUTION
    compute_s = flop / (peak_tflops * 1e12)
    memory_s = bytes_moved / (bandwidth_tb_s * 1e12)
    return max(compute_s, memory_s) * 1e3
    ### END SOLUTION


# %% [markdown]
# Look before you check. 8.1 · 10¹² operations keep a T4 busy for a second; so do 0.32 · 10¹² bytes.

# %% tags=["active-ipynb"]
# print(least_ms(8.1e12, 0, 8.1, 0.32), "should be 1000")
# print(least_ms(8.1e9, 0.32e12, 8.1, 0.32), "should be 1000 too")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "least_ms-check", "grade": true}
# check(least_ms)

# %% [markdown]
# ## If you want more
#
# - `flop / least_ms(...)` and `attainable_tflops(...)` say the same thing in two ways. Show it with a
#   few numbers, and mind the units.
# - Look up your own GPU. Where is its ridge point for fp32, and where for fp16?
# - From which n on is a square fp16 product limited by arithmetic on that GPU?
