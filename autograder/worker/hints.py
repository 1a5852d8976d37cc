"""Whether a hint to the compiler is true of the values that it is given for.

`tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` are promises: a GPU reads several
elements at once because of them. The interpreter ignores them, but has the values.
Must never call a hint untrue that the compiler would not be misled by.
"""

import numpy as np

NAMES = {
    "tt.divisibility": "multiple_of",
    "tt.contiguity": "max_contiguous",
    "tt.constancy": "max_constancy",
}


def first_untrue(key: str, promised: list[int], values: np.ndarray, step: int) -> int | None:
    """The first of `values` that breaks the hint, or None.

    `promised` has a number for each axis; `step` is the distance of neighbours: 1 for integers,
    the size of an element for pointers.
    """
    values = np.asarray(values).astype(np.int64)
    starts = np.ones(values.shape, bool)  # of runs of neighbours
    for axis, number in zip(range(values.ndim), promised):
        steps = np.diff(values, axis=axis)
        first = np.take(starts, [0], axis)
        follows = np.concatenate([~first, steps == step], axis)
        starts &= ~follows
        wanted = {"tt.contiguity": step, "tt.constancy": 0}.get(key)
        if wanted is None or number <= 1:
            continue
        shape = [-1 if a == axis else 1 for a in range(values.ndim)]
        within = (np.arange(values.shape[axis]) % number > 0).reshape(shape)
        equal = np.concatenate([first, steps == wanted], axis)
        broken = np.broadcast_to(within, values.shape) & ~equal
        if broken.any():
            return int(values[broken][0])
    if key == "tt.divisibility":
        # Of a run only the first must be a multiple: the others are known to follow it.
        for number in promised:
            broken = starts & (values % max(number, 1) != 0)
            if broken.any():
                return int(values[broken][0])
    return None
