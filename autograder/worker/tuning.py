"""Autotuned kernels in the interpreter: a stand-in for the GPU's driver, and one config at a time.

The grader says which config a run must use, or that the run must tune, and which config then is to
win; nothing here is timed. Tried on Triton 3.6.0, 3.7.1, 3.8.0 and 3.9.0.
Must never choose a config that the kernel's own pruning left out.
"""

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner

REHEARSALS = 2  # a GPU runs each config hundreds of times; two show what running again changes


class _Utilities:
    """What kernels ask a device: the limits of an A100, with few processors so that loops over
    tiles go round more than once."""

    def get_device_properties(self, device) -> dict:
        return {
            "multiprocessor_count": 4,
            "max_shared_mem": 166912,
            "max_num_regs": 65536,
            "warpSize": 32,
            "sm_clock_rate": 1410000,
            "mem_clock_rate": 1215000,
            "mem_bus_width": 5120,
        }


class StandIn:
    """A driver without a device: enough for `triton.runtime.driver.active` and for autotuning."""

    utils = _Utilities()

    def __init__(self, benchmark):
        self._benchmark = benchmark

    def get_active_torch_device(self):
        return torch.device("cpu")

    def get_current_target(self):
        return GPUTarget("cuda", 80, 32)

    def get_device_capability(self, device=0):
        return (8, 0)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=0):
        return 0

    def get_device_interface(self):
        return torch.cpu

    def get_benchmarker(self):
        return self._benchmark


class Tuning:
    """What the autotuners of one run do, and what they are: `tuners`, for the report.

    `config` is the index of the config to use without tuning. If it is None, the tuner tunes:
    the config with the index `winner` is then told to be the fastest; with `rehearse`, each is
    run as well, as a GPU would.
    """

    def __init__(self, config: int | None, winner: int, rehearse: bool):
        self.config = config
        self.winner = winner
        self.rehearse = rehearse
        self.tuners: dict[int, dict] = {}
        self._timed = 0

    def install(self, stand_in: bool = True) -> None:
        """Takes over the autotuners of this process. Once, before the learner's code is loaded.

        `stand_in`: whether there is no GPU, so that something must stand in for its driver.
        """
        if stand_in:
            triton.runtime.driver.set_active(StandIn(self.benchmark))
        native = Autotuner.run
        tuning = self

        def run(self, *args, **kwargs):
            tuning._timed = 0
            if tuning.config is None:
                known = len(self.cache)
                result = native(self, *args, **kwargs)
                tuning._note(self, self.best_config, measured=len(self.cache) > known)
                return result
            self.nargs = dict(zip(self.arg_names, args))
            left = self.prune_configs(kwargs)
            configs, self.configs = self.configs, [left[tuning.config % len(left)]]
            try:
                tuning._note(self, self.configs[0], len(configs))
                return native(self, *args, **kwargs)
            finally:
                self.configs = configs

        Autotuner.run = run
        Autotuner.do_bench = property(lambda self: tuning.benchmark)

    def benchmark(self, kernel_call, quantiles=None, **_) -> list[float]:
        """Stands in for `triton.testing.do_bench`: milliseconds, made up."""
        for _ in range(REHEARSALS * self.rehearse):
            kernel_call()
        told = 1.0 + abs(self._timed - self.winner)
        self._timed += 1
        return [told] * len(quantiles or (0.5,))

    def forget(self) -> None:
        """What has been noted so far is of earlier calls: the report is of the next one."""
        self.tuners.clear()

    def _note(self, tuner: Autotuner, chosen, configs: int = 0, measured: bool = False) -> None:
        earlier = self.tuners.get(id(tuner), {})  # of the same call, which may launch it again
        shown = chosen.kwargs or {"num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
        self.tuners[id(tuner)] = {
            "kernel": tuner.base_fn.__name__,
            "configs": configs or len(tuner.configs),
            "prunes": bool(tuner.early_config_prune or tuner.perf_model),
            "measured": measured or earlier.get("measured", False),
            "chosen": ", ".join(f"{name}={value}" for name, value in shown.items()),
        }
