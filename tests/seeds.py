"""The seed of every test that draws cases; printed when the tests begin."""

SEED = 20240607
