"""How the reference of `persistent_matmul` chooses its tile, for GPUs that need not be present."""

import pytest
import torch

from autograder.course import load_solution
from autograder.targets import TARGETS

NVIDIA = [target for target in TARGETS.values() if target.backend == "cuda"]
SHAPES = [(1, 1), (8, 4096), (128, 4096), (1024, 1024), (3072, 3072), (4096, 14336), (0, 64)]
GPU = torch.device("cuda")


@pytest.fixture
def gpu(monkeypatch):
    """A function that puts a GPU in place of this computer's, and returns the solution's names."""
    names = load_solution("persistent_matmul").__globals__

    def be(sms: int, shared: int, engine: bool) -> dict:
        monkeypatch.setitem(names, "sm_count", lambda device: sms)
        monkeypatch.setitem(names, "shared_memory", lambda device: shared)
        monkeypatch.setitem(names, "has_copy_engine", lambda device: engine)
        names["choose_tile"].cache_clear()
        return names

    yield be
    names["choose_tile"].cache_clear()


@pytest.mark.parametrize("target", NVIDIA, ids=lambda target: target.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_gpu_has_a_tile_that_fits_it(gpu, target, shape):
    names = gpu(80, target.shared_block, target.arch >= 90)
    block_m, block_n, k_bytes, stages, *_ = names["choose_tile"](*shape, GPU)
    assert (block_m + block_n) * k_bytes * stages <= target.shared_block


def test_a_last_wave_that_is_almost_empty_asks_for_another_tile(gpu):
    names = gpu(132, 232_448, True)
    assert names["choose_tile"](4096, 4096, GPU)[:2] == (128, 256)  # 512 tiles: 4 waves of 132
    assert names["choose_tile"](3072, 3072, GPU)[:2] == (128, 128)  # 288 would be 3, the last of 24


def test_few_rows_get_low_tiles(gpu):
    names = gpu(132, 232_448, True)
    assert names["choose_tile"](8, 4096, GPU)[0] == 16
    assert names["choose_tile"](128, 4096, GPU)[0] == 64
