"""Ways to show a result. Each reads a result object and decides nothing."""
