"""The 15 configs that a published matmul tutorial tunes over, as data: a yardstick for the course's own.

Columns: BLOCK_M, BLOCK_N, BLOCK_K, num_stages, num_warps; the group has 8 rows of tiles in all.
The numbers were read from that project's repository. Must never be edited to suit a GPU.
"""

SOURCE_CONFIGS = (
    (128, 256, 64, 3, 8),
    (256, 128, 64, 3, 8),
    (128, 128, 64, 3, 8),
    (128, 128, 32, 4, 4),
    (128, 64, 32, 4, 4),
    (64, 256, 32, 4, 4),
    (256, 64, 32, 4, 4),
    (64, 128, 32, 4, 4),
    (64, 64, 64, 3, 4),
    (64, 64, 32, 4, 4),
    (128, 32, 32, 4, 4),
    (32, 128, 32, 4, 4),
    (64, 32, 32, 5, 2),
    (32, 64, 32, 5, 2),
    (32, 32, 32, 5, 2),
)
# That project's fixed kernels: square tiles of 64, also along K, with Triton's own defaults.
SOURCE_FIXED = (64, 64, 64, 3, 4)


def options(config: tuple[int, ...], group: int = 8) -> dict:
    """A row as keyword arguments of a launch of `grouped_matmul_kernel`."""
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_stages", "num_warps")
    return {**dict(zip(names, config)), "GROUP_M": group}
