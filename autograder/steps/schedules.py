"""Which tile of C each program computes: in group-major order, and by the usual slips in it.

Used by hypotheses, on answers already known to be wrong; must never decide a verdict.
"""

from collections.abc import Iterator

import numpy as np

USUAL_GROUPS = range(2, 17)
USUAL_SIDES = (16, 32, 64, 128)


def group_major(pid: np.ndarray, tall: int, broad: int, group: int) -> tuple:
    """(row, column) of the tiles of C, `tall` rows by `broad` columns of them."""
    first = pid // (group * broad) * group
    height = np.minimum(tall - first, group)
    place = pid % (group * broad)
    return first + place % height, place // height


def wrong_maps(pid: np.ndarray, tall: int, broad: int, group: int) -> Iterator[tuple]:
    """(cause, row, column) for maps that are not one to one on every grid.

    Division by zero gives 0, as it does in Triton's interpreter.
    """
    first = pid // (group * broad) * group
    height = np.minimum(tall - first, group)
    place = pid % (group * broad)
    with np.errstate(divide="ignore"):
        yield "group_not_clamped", first + place % group, place // group
        yield "group_not_clamped", first + place % group, place // height
        yield "group_not_clamped", first + place % height, place // group
        yield "group_map_wrong", place % height, place // height  # first row of the group left out
        yield "group_map_wrong", first + pid % height, pid // height  # place in the group left out
        yield "group_map_wrong", first // group + place % height, place // height
        for rest in (np.minimum(tall - first - 1, group), np.minimum(tall - first + 1, group)):
            yield "group_map_wrong", first + place % rest, place // rest
        for rest in (
            np.where(first + group < tall, group, tall % group),
            np.minimum(tall - first // group, group),
            np.minimum(broad - first, group),
        ):
            yield "group_map_wrong", first + place % rest, place // rest
        first_by_rows = pid // (group * tall) * group
        height = np.minimum(tall - first_by_rows, group)
        for place in (pid % (group * tall), pid % (group * broad)):
            yield "group_map_wrong", first_by_rows + place % height, place // height
        place = pid % (group * tall)
        height = np.minimum(tall - first, group)
        yield "group_map_wrong", first + place % height, place // height
        # Groups one column of tiles wide, as if the grid had `tall` columns.
        yield "group_map_wrong", *group_major(pid, broad, tall, group)


def reached(rows, columns, tall: int, broad: int) -> np.ndarray:
    """Which tiles of the grid are among those listed; those outside of it count for nothing."""
    found = np.zeros((tall, broad), bool)
    inside = (rows >= 0) & (rows < tall) & (columns >= 0) & (columns < broad)
    found[rows[inside], columns[inside]] = True
    return found


def spread(tiles: np.ndarray, bm: int, bn: int, shape: tuple[int, int]) -> np.ndarray:
    """One value per tile, repeated over the elements of a matrix of that shape."""
    return np.repeat(np.repeat(tiles, bm, axis=0)[: shape[0]], bn, axis=1)[:, : shape[1]]


def cut(matrix: np.ndarray, bm: int, bn: int) -> np.ndarray:
    """The tiles of a matrix, (rows, columns, bm, bn), the last ones filled up with 0."""
    rows, cols = matrix.shape
    padded = np.pad(matrix, ((0, -rows % bm), (0, -cols % bn)))
    return padded.reshape(padded.shape[0] // bm, bm, -1, bn).swapaxes(1, 2)


def joined(tiles: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The inverse of `cut`."""
    tall, broad, bm, bn = tiles.shape
    return tiles.swapaxes(1, 2).reshape(tall * bm, broad * bn)[: shape[0], : shape[1]]


def sides(constexprs: dict[str, int], dimension: str) -> list[int]:
    """Tile sizes along M or N: by the constexpr's name (BLOCK_M, bn), or all that may be one."""
    usable = {
        name.upper(): value
        for name, value in constexprs.items()
        if not _is_group(name) and 16 <= value <= 512 and value & (value - 1) == 0
    }
    named = {value for name, value in usable.items() if name.endswith(dimension)}
    return sorted(named or set(usable.values()) or set(USUAL_SIDES))


def groups(constexprs: dict[str, int]) -> list[int]:
    """Rows of tiles in a group: by the constexpr's name, or the usual ones."""
    named = {v for name, v in constexprs.items() if _is_group(name) and 0 < v <= 64}
    return sorted(named or USUAL_GROUPS)


def _is_group(name: str) -> bool:
    return "GROUP" in name.upper() or name.upper() in ("G", "GM", "GSZ", "GSM")
