"""Step `attention_tile` of chapter 12: one tile of queries against all keys, without a mask.

A case is one of flash attention with one head, without its first two axes; the same hypotheses say
what mistakes compute.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from autograder.steps import attention, attention_mistakes
from autograder.steps.case import Case, Operand, Task, ragged

QUERIES = 32


def _flat(case: Case) -> Case:
    """The case without batch and head."""
    operands = tuple(Operand(o.name, o.values[0, 0], dtype=o.dtype) for o in case.operands)
    size = {name: case.size[name] for name in ("Nk", "D", "dtype")}
    coarse = case.coarse[0, 0] if isinstance(case.coarse, np.ndarray) else case.coarse
    flat = {"expected": case.expected[0, 0], "bound": case.bound[0, 0], "coarse": coarse}
    return replace(case, size=size, operands=operands, **flat)


def _with_heads(case: Case) -> Case:
    """The case again with one batch and one head."""
    operands = tuple(Operand(o.name, o.values[None, None], dtype=o.dtype) for o in case.operands)
    return replace(case, operands=operands, expected=case.expected[None, None])


def _cases(rng: np.random.Generator) -> list[Case]:
    def case(name, nk, d=64, **options):
        return _flat(attention.draw_case(rng, name, QUERIES, nk, d, **options))

    def odd(low, high):
        return ragged(rng, low, high)

    above, below = attention.shift_scores(36, 44, 1), attention.shift_scores(36, 44, -1)
    far_below = attention.shift_scores(380, 440, -1)
    return [
        case("whole blocks", 128),
        case("ragged Nk", 64 + odd(3, 60), 32, focus="N"),
        case("fewer keys than a block", odd(3, 9), 32, focus="N"),
        case("one key", 1, 16, focus="N"),
        case("D = 128", odd(33, 60), 128, focus="D"),
        case("D = 16", odd(33, 90), 16, focus="D"),
        case("scores far above zero", odd(65, 80), change=above, focus="large"),
        case("scores far below zero", odd(65, 80), change=below, focus="below"),
        case("scores about -20000", odd(33, 60), change=far_below, focus="far below"),
        case("two needles", 128, change=attention.needles, focus="large"),
        case("float32", odd(65, 90), 32, dtype="float32", focus="dtype"),
        case("bfloat16", odd(33, 60), 32, dtype="bfloat16", focus="dtype"),
        case("many keys", 512 + odd(3, 30), 32, change=attention.around_one, focus="precision"),
    ]


def _hypotheses(case: Case, tiles: set[int]) -> Iterator[tuple[str, np.ndarray]]:
    for cause, wrong in attention_mistakes.hypotheses(_with_heads(case), tiles):
        if not np.isnan(wrong).all():  # a memory that is read far outside explains nothing here
            yield cause, wrong[0, 0]
    # exp(new - old) is infinite in the first block, where the sums are 0.
    yield "rescale_missing", np.full(case.shape, np.nan)


attention_tile = Task(_cases, _hypotheses)
