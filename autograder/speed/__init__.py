"""Speed on a GPU: the learner's function against a library's, timed by somebody who owns the clock.

`workloads` says what is timed and which share of the library is asked for, `referee` measures,
`answers` decides whether timed results are right, `judging` makes the verdict, `grade` does it all
for one step. Nothing here runs learner code. Only `referee`, `answers`, `gpu_limits` and `grade` import torch.
"""
