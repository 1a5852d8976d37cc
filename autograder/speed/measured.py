"""What a referee measured, as plain numbers. Must be importable without torch, and never decide."""

import statistics
from dataclasses import dataclass, field


@dataclass
class Measured:
    """Seconds of one call, a list entry for each round; `events` are the contestant's own."""

    calls: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    copies: list[float] = field(default_factory=list)  # what taking a result away adds to a call
    profiled: list[float] = field(default_factory=list)  # calls that a profiler watched
    alone: float = 0.0  # of the reference, before there was a contestant
    after: float = 0.0  # of the reference, when the contestant is gone
    reference_bytes: int = 0  # that one call of it moves
    first_call_s: float = 0.0
    bandwidth: float = 0.0  # bytes a second, read and written
    product_rate: float = 0.0  # operations a second

    @property
    def copy(self) -> float:
        """Seconds that taking a result out of the contestant's hands adds to a call."""
        return max(0.0, statistics.median(self.copies))
