"""The class of the benchmark: what its students wrote is what it says."""

import ast
import random
import sys
from collections import Counter

from seeds import SEED

from autograder import course

sys.path.insert(0, str(course.ROOT / "benchmarks"))
import class_of_100


def test_a_student_writes_the_reference_a_corpus_file_or_nothing():
    rng = random.Random(SEED)
    seen = Counter()
    for _ in range(200):
        text = class_of_100.written("vector_add", "skeleton", "reference", rng)
        seen[text if text in ("skeleton", "reference") else "corpus"] += 1
        ast.parse(text)
        assert text in ("skeleton", "reference") or "def vector_add" in text
    assert seen["reference"] > seen["skeleton"] > 0 and seen["corpus"] > 0


def test_the_same_seed_writes_the_same_class():
    def draw(seed):
        rng = random.Random(seed)
        return [class_of_100.written("transpose", "s", "r", rng) for _ in range(30)]

    assert draw(SEED) == draw(SEED) != draw(SEED + 1)
