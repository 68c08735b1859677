"""How fast the engine is: each workload beside the loop that a reader would write and beside the machine's own limit.

`python -m benchmarks` measures and writes `book/evidence/speed.json`.
"""
