"""Kernels, one folder for each kind of processor. `kernels.cpu` is hand-vectorized TIR."""
