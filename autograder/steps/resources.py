"""Steps of chapter 9: `layout_owner`, `shared_memory_bytes`, `resident_programs`, `deepest_pipeline`.

What a program takes of an SM, worked out by hand. How many programs fit is the grader's own
`occupancy`, the one that xray shows; must never hold a limit of a GPU itself, targets.py does.
"""

from dataclasses import replace

from autograder.steps.calls import CallCase, CallTask, calls_of
from autograder.targets import TARGETS, Target, limits, occupancy

SIDES = (16, 32, 64, 128, 256)


# --- layout_owner -----------------------------------------------------------------------------


def _layout(size, threads, warps, order=(1, 0)) -> dict:
    return {
        "size_per_thread": size,
        "threads_per_warp": threads,
        "warps_per_program": warps,
        "order": order,
    }


def layout_owner(row: int, col: int, layout: dict) -> tuple[int, int]:
    """(warp, lane) that hold an element in Triton's blocked layout."""
    place, warp, lane = (row, col), 0, 0
    for axis in reversed(layout["order"]):
        block = place[axis] // layout["size_per_thread"][axis]
        lanes, warps = layout["threads_per_warp"][axis], layout["warps_per_program"][axis]
        lane = lane * lanes + block % lanes
        warp = warp * warps + block // lanes % warps
    return warp, lane


def _owner_gone_wrong(row, col, layout, order=None, wraps=True, sized=True, spread=False):
    """`spread`: neighbouring blocks go to different warps before they go to different lanes."""
    place, warp, lane = (row, col), 0, 0
    for axis in reversed(order or layout["order"]):
        block = place[axis] // (layout["size_per_thread"][axis] if sized else 1)
        lanes, warps = layout["threads_per_warp"][axis], layout["warps_per_program"][axis]
        inner, outer = (block // warps, block) if spread else (block, block // lanes)
        lane = lane * lanes + (inner % lanes if wraps else inner)
        warp = warp * warps + (outer % warps if wraps else outer)
    return warp, lane


def _by_thread(row, col, layout):
    warp, lane = layout_owner(row, col, layout)
    return warp, 32 * warp + lane


def _warps_endless(row, col, layout):
    """The lanes wrap round, the warps do not."""
    place, warp = (row, col), 0
    for axis in reversed(layout["order"]):
        covered = layout["size_per_thread"][axis] * layout["threads_per_warp"][axis]
        warp = warp * layout["warps_per_program"][axis] + place[axis] // covered
    return warp, layout_owner(row, col, layout)[1]


def _layout_cases(rng) -> list[CallCase]:
    def case(name, layout, places):
        calls = calls_of(layout_owner, [(int(r), int(c), layout) for r, c in places])
        return CallCase(name, {**layout}, calls)

    def random_places(rows, cols, count=8):
        return zip(rng.integers(0, rows, count), rng.integers(0, cols, count))

    rowwise = _layout((1, 8), (4, 8), (4, 1))
    columns = _layout((8, 1), (8, 4), (1, 4), (0, 1))
    both = _layout((1, 4), (2, 16), (2, 4))
    crossed = _layout((2, 2), (4, 8), (2, 2), (0, 1))
    return [
        case("one row, one warp", rowwise, [(0, c) for c in (0, 7, 8, 16, 63)]),
        case("rows and warps", rowwise, [(r, 8 * (r % 8)) for r in (1, 3, 4, 7, 12, 15)]),
        case("order (0, 1)", columns, [(0, 0), (8, 0), (0, 1), (63, 3), (16, 4), (5, 15)]),
        case("tile larger than the layout", rowwise, [(16, 0), (37, 9), (63, 40), (20, 70)]),
        case("warps along both axes", both, [(0, 64), (2, 0), (3, 250), *random_places(4, 256)]),
        case("order (0, 1), warps along both axes", crossed, random_places(64, 64)),
    ]


layout_owner_task = CallTask(
    _layout_cases,
    (
        ("layout_map_wrong", lambda r, c, l: _owner_gone_wrong(r, c, l, order=(1, 0))),
        ("layout_map_wrong", lambda r, c, l: _owner_gone_wrong(r, c, l, order=(0, 1))),
        ("layout_map_wrong", lambda r, c, l: _owner_gone_wrong(r, c, l, order=l["order"][::-1])),
        ("layout_map_wrong", lambda r, c, l: _owner_gone_wrong(r, c, l, spread=True)),
        ("layout_map_wrong", _by_thread),
        ("layout_map_wrong", lambda r, c, l: layout_owner(r, c, l)[::-1]),
        ("layout_map_wrong", lambda r, c, l: _owner_gone_wrong(r, c, l, sized=False)),
        ("layout_not_repeated", lambda r, c, l: _owner_gone_wrong(r, c, l, wraps=False)),
        ("layout_not_repeated", _warps_endless),
    ),
    otherwise="layout_map_wrong",
)


# --- shared_memory_bytes ----------------------------------------------------------------------


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages) -> int:
    """Bytes of `num_stages` pairs of operand tiles."""
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def _shared_cases(rng) -> list[CallCase]:
    def case(name, *arguments):
        names = ("block_m", "block_n", "block_k", "itemsize", "num_stages")
        size = dict(zip(names, arguments[0])) if len(arguments) == 1 else {"calls": len(arguments)}
        return CallCase(name, size, calls_of(shared_memory_bytes, arguments))

    def anything():
        sides = (int(s) for s in rng.choice(SIDES, 3))
        return (*sides, int(rng.choice((1, 2, 4))), int(rng.integers(1, 7)))

    return [
        case("one stage", (128, 128, 64, 2, 1)),
        case("the kernel of chapter 8", (128, 128, 64, 2, 3)),
        case("tile of C not square", (256, 64, 32, 2, 4)),
        case("one to five stages", *((64, 64, 64, 4, s) for s in range(1, 6))),
        case("8-bit and 32-bit numbers", (128, 256, 128, 1, 3), (64, 32, 16, 4, 2)),
        case("any tiles", *(anything() for _ in range(6))),
    ]


def _product_of_c(m, n, k, size, stages):
    return m * n * size * stages


def _with_c(m, n, k, size, stages):
    return shared_memory_bytes(m, n, k, size, stages) + m * n * size


shared_memory_task = CallTask(
    _shared_cases,
    (
        ("buffers_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * size),
        ("buffers_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * size * (stages - 1)),
        ("buffers_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * size * (stages + 1)),
        ("buffers_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * size * max(1, stages - 1)),
        ("buffers_miscounted", lambda m, n, k, size, stages: m * k * size * stages),
        ("buffers_miscounted", lambda m, n, k, size, stages: k * n * size * stages),
        ("buffers_miscounted", lambda m, n, k, size, stages: 2 * m * k * size * stages),
        ("buffers_miscounted", lambda m, n, k, size, stages: m * k * k * n * size * stages),
        ("buffers_miscounted", _product_of_c),
        ("buffers_miscounted", _with_c),
        ("bytes_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * stages),
        ("bytes_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * 2 * stages),
        ("bytes_miscounted", lambda m, n, k, size, stages: (m * k + k * n) * 4 * stages),
        ("bytes_miscounted", lambda m, n, k, size, stages: 8 * (m * k + k * n) * size * stages),
    ),
    otherwise="buffers_miscounted",
)  # fmt: skip


# --- resident_programs ------------------------------------------------------------------------


def _target(sm: dict) -> Target:
    fields = {name: value for name, value in sm.items() if name != "partitions"}
    return replace(TARGETS["sm_90"], **fields)


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm) -> int:
    """What `occupancy` says, for the limits in `sm`."""
    return occupancy(_target(sm), registers_per_thread, shared_bytes, num_warps).programs


def _limit(name: str):
    """The limits as if one did not exist: more of it than any program can take."""
    return lambda regs, shared, warps, sm: resident_programs(
        regs, shared, warps, sm | {name: 2**40}
    )


def _changed(**changes):
    return lambda regs, shared, warps, sm: resident_programs(regs, shared, warps, sm | changes)


def _fits(regs, shared, warps, sm, registers, memory=None) -> int:
    """The least of the four, with the answers of the two that are rounded given."""
    if shared > sm["shared_block"]:
        return 0
    if memory is None:
        memory = resident_programs(
            1, shared, 1, sm | {"warps": 2**40, "blocks": 2**40, "registers": 2**40}
        )
    return min(sm["warps"] // warps, sm["blocks"], registers, memory)  # fmt: skip


def _without_partitions(regs, shared, warps, sm):
    per_warp = -(-regs * sm["warp_size"] // sm["register_unit"]) * sm["register_unit"]
    return _fits(regs, shared, warps, sm, sm["registers"] // per_warp // warps)


def _plain_registers(regs, shared, warps, sm):
    taken = regs * sm["warp_size"] * warps
    return _fits(regs, shared, warps, sm, sm["registers"] // taken)


def _rounded_once(regs, shared, warps, sm):
    unit = sm["register_unit"]
    taken = -(-regs * sm["warp_size"] * warps // unit) * unit
    return _fits(regs, shared, warps, sm, sm["registers"] // taken)


def _registers_of_a_warp(regs, shared, warps, sm):
    return _fits(regs, shared, warps, sm, sm["registers"] // (regs * sm["warp_size"]))


def _registers_of_a_thread(regs, shared, warps, sm):
    return _fits(regs, shared, warps, sm, sm["registers"] // (regs * warps))


def _plain_shared(regs, shared, warps, sm):
    right = resident_programs(regs, 0, warps, sm)
    if shared > sm["shared_block"]:
        return 0
    return min(right, sm["shared_sm"] // shared)


def _block_limit_shared_out(regs, shared, warps, sm):
    right = resident_programs(regs, 0, warps, sm)
    return min(right, sm["shared_block"] // shared)


def _too_large_allowed(regs, shared, warps, sm):
    return resident_programs(regs, shared, warps, sm | {"shared_block": 2**40})


def _largest_refused(regs, shared, warps, sm):
    return 0 if shared == sm["shared_block"] else resident_programs(regs, shared, warps, sm)


def _warps_for_programs(regs, shared, warps, sm):
    return resident_programs(regs, shared, warps, sm) * warps


def _resident_cases(rng) -> list[CallCase]:
    a100, h100, t4 = (limits(TARGETS[name]) for name in ("sm_80", "sm_90", "sm_75"))

    def case(name, sm, *programs):
        calls = calls_of(resident_programs, [(*p, sm) for p in programs])
        size = dict(zip(("registers_per_thread", "shared_bytes", "num_warps"), programs[0]))
        return CallCase(name, size, calls)

    def anything():
        warps = int(2 ** rng.integers(0, 5))
        return int(rng.integers(16, 256)), int(rng.integers(0, 160)) * 1024, warps

    return [
        case("the kernel of chapter 8 on an A100", a100, (168, 65536, 8), (128, 32768, 4)),
        case("limited by warps", h100, (32, 1024, 8), (16, 2048, 16), (24, 4096, 32)),
        case("limited by programs", h100, (32, 1024, 1), (16, 512, 1)),
        case("limited by registers", h100, (255, 1024, 4), (128, 8192, 8), (96, 1024, 4)),
        case("registers rounded up for each warp", h100, (97, 1024, 4), (41, 1024, 4), (73, 0, 8)),
        case("registers of four partitions", a100, (112, 1024, 2), (144, 1024, 1), (80, 1024, 2)),
        case("limited by shared memory", a100, (32, 49152, 4), (64, 32768, 4)),
        case("shared memory that the system takes", a100, (32, 83968, 4), (32, 55979, 4), (32, 41984, 2)),
        case("shared memory rounded up", h100, (32, 24916, 2), (32, 32329, 2)),
        case("the largest program", h100, (64, 232448, 8)),
        case("too large to start", h100 | {"shared_block": 48 * 1024}, (64, 49153, 8), (64, 65536, 4)),
        case("no shared memory", t4, (32, 0, 4), (64, 0, 1)),
        case("any program", h100, *(anything() for _ in range(8))),
    ]  # fmt: skip


resident_programs_task = CallTask(
    _resident_cases,
    (
        ("limit_forgotten", _limit("warps")),
        ("limit_forgotten", _limit("blocks")),
        ("limit_forgotten", lambda regs, shared, warps, sm: resident_programs(1, shared, warps, sm)),
        ("limit_forgotten", lambda regs, shared, warps, sm: 0 if shared > sm["shared_block"] else resident_programs(regs, 0, warps, sm)),
        ("limit_forgotten", lambda regs, shared, warps, sm: resident_programs(regs, 0, warps, sm)),
        ("register_units", _changed(register_unit=1)),
        ("register_units", _without_partitions),
        ("register_units", _plain_registers),
        ("register_units", _rounded_once),
        ("register_units", _registers_of_a_warp),
        ("register_units", _registers_of_a_thread),
        ("shared_units", _changed(shared_reserved=0)),
        ("shared_units", _changed(shared_unit=1)),
        ("shared_units", _plain_shared),
        ("shared_units", _block_limit_shared_out),
        ("too_large_to_start", _too_large_allowed),
        ("too_large_to_start", _largest_refused),
        ("warps_for_programs", _warps_for_programs),
    ),
    otherwise="limit_forgotten",
)  # fmt: skip


# --- deepest_pipeline -------------------------------------------------------------------------


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm) -> int:
    """The most stages with which `programs` programs fit the shared memory of one SM.

    The sides of tiles are powers of two from 16 on, so that every size is a whole number of units.
    """
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)


def _deepest(room, pair=shared_memory_bytes):
    """`room`: bytes that one of so many programs may take; `pair`: what a stage takes."""

    def wrong(m, n, k, size, programs, sm):
        return room(programs, sm) // pair(m, n, k, size, 1)

    return wrong


def _room(programs: int, sm: dict) -> int:
    return max(0, min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"]))


def _may_be_negative(m, n, k, size, programs, sm):
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    return room // shared_memory_bytes(m, n, k, size, 1)


def _at_least_one(m, n, k, size, programs, sm):
    return max(1, deepest_pipeline(m, n, k, size, programs, sm))


def _one_too_many(m, n, k, size, programs, sm):
    return deepest_pipeline(m, n, k, size, programs, sm) + 1


def _deepest_cases(rng) -> list[CallCase]:
    a100, h100, rtx = (limits(TARGETS[name]) for name in ("sm_80", "sm_90", "sm_86"))

    def case(name, sm, *tiles):
        names = ("block_m", "block_n", "block_k", "itemsize", "programs")
        calls = calls_of(deepest_pipeline, [(*t, sm) for t in tiles])
        return CallCase(name, dict(zip(names, tiles[0])), calls)

    def anything():
        m, n, k = (int(s) for s in rng.choice((16, 32, 64, 128), 3))
        return m, n, k, int(rng.choice((1, 2, 4))), int(rng.integers(1, 9))

    return [
        case("one program", h100, (128, 128, 64, 2, 1), (64, 64, 32, 4, 1)),
        case("two programs", h100, (128, 128, 64, 2, 2), (128, 64, 32, 2, 2)),
        case("what the system takes from each", rtx, (128, 32, 64, 2, 1), (128, 32, 32, 2, 2), (64, 32, 32, 2, 16)),
        case("programs may ask for 48 KB", h100 | {"shared_block": 48 * 1024}, (64, 64, 64, 2, 1), (64, 64, 32, 2, 4)),
        case("not even one stage", rtx, (256, 256, 64, 4, 1), (128, 128, 64, 2, 4)),
        case("tile of C not square", a100, (128, 32, 64, 2, 1), (32, 256, 32, 2, 2)),
        case("any tiles", a100, *(anything() for _ in range(8))),
    ]  # fmt: skip


deepest_pipeline_task = CallTask(
    _deepest_cases,
    (
        ("too_large_to_start", _deepest(lambda programs, sm: max(0, sm["shared_sm"] // programs - sm["shared_reserved"]))),
        ("shared_units", _deepest(lambda programs, sm: min(sm["shared_sm"] // programs, sm["shared_block"]))),
        ("shared_units", _deepest(lambda programs, sm: sm["shared_sm"] // programs)),
        ("shared_units", _deepest(lambda programs, sm: sm["shared_block"] // programs)),
        ("shared_units", _deepest(lambda programs, sm: min(sm["shared_block"], (sm["shared_sm"] - sm["shared_reserved"]) // programs))),
        ("shared_units", _may_be_negative),
        ("too_large_to_start", _at_least_one),
        ("limit_forgotten", _deepest(lambda programs, sm: sm["shared_block"])),
        ("buffers_miscounted", _one_too_many),
        ("buffers_miscounted", _deepest(_room, lambda m, n, k, size, stages: m * k * size)),
        ("buffers_miscounted", _deepest(_room, lambda m, n, k, size, stages: 2 * m * k * size)),
        ("buffers_miscounted", _deepest(_room, _product_of_c)),
        ("buffers_miscounted", _deepest(_room, _with_c)),
        ("bytes_miscounted", _deepest(_room, lambda m, n, k, size, stages: m * k + k * n)),
    ),
    otherwise="shared_units",
)  # fmt: skip
