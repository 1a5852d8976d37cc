"""benchmarks/attention_cases.py: what its random calls cover, and that it counts wrong answers."""

import sys

import numpy as np
import pytest

from autograder import course
from autograder.steps import attention, attention_backward

sys.path.insert(0, str(course.ROOT / "benchmarks"))
import attention_cases


@pytest.mark.parametrize("step", attention_cases.STEPS)
def test_random_calls_cover_the_contract(step, monkeypatch):
    # No call is judged here, and bounds take most of the time.
    monkeypatch.setattr(attention, "bound_of", lambda problem, expected, dtype: expected)
    monkeypatch.setattr(
        attention_backward, "bounds_of", lambda problem, dout, exact, *_, **__: exact
    )
    found = set()
    for number in range(100):
        case, values = attention_cases.random_case(step, 0, number)
        assert case.size["H"] % case.size.get("Hkv", case.size["H"]) == 0
        assert (case.backward is not None) == (step == "attention")
        found.update(attention_cases.features(case, values))
    expected = {f"D = {d}" for d in (16, 32, 64, 128)} | {"float16", "bfloat16", "float32"}
    expected |= {f"values {values}" for values in attention_cases.VALUES}
    expected |= set(attention_cases.LAYOUTS) | {"causal", "one query", "one key"}
    expected |= {"shared key heads", "scale given", "queries without keys"}
    assert expected <= found


def test_a_call_depends_on_seed_step_and_number_alone():
    def draw(*key):
        case, _ = attention_cases.random_case(*key)
        return case.size, case.operands[0].values.tolist()

    calls = [
        ("attention", 0, 1),
        ("attention", 0, 2),
        ("attention", 1, 1),
        ("flash_attention", 0, 1),
    ]
    drawn = [draw(*key) for key in calls]
    assert drawn == [draw(*key) for key in calls]
    assert all(one != other for i, one in enumerate(drawn) for other in drawn[:i])


@pytest.mark.parametrize("wrong", [None, "outside", "nan", "raises"])
def test_wrong_answers_are_counted_and_named(wrong, monkeypatch):
    def answer(step, case, device):
        if wrong == "raises":
            raise ValueError("no such stride")
        result = case.expected.copy()
        result.flat[-1] += {"outside": 2 * case.bound.flat[-1], "nan": np.nan}.get(wrong, 0.0)
        return result

    monkeypatch.setattr(attention_cases, "answer", answer)
    row = attention_cases.counted("attention", 0, "cpu", 3)
    assert row["right"] == (0 if wrong else 3) == row["calls"] - len(row["failing"])
    for number, failing in enumerate(row["failing"]):
        case, _ = attention_cases.random_case("attention", 0, number)
        assert failing["number"] == number and failing["size"] == case.size
        if wrong == "raises":
            assert failing["raised"] == "ValueError: no such stride"
        else:
            last = list(case.parts)[-1]
            assert failing["wrong"] == {
                last: {
                    "elements": 1,
                    "of": int(np.prod(case.parts[last])),
                    "first": [n - 1 for n in case.parts[last]],
                }
            }
