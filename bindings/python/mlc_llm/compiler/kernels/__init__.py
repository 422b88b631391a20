"""Kernels: one folder for CPUs, one for GPUs; both share `kernels.common`.

`kernels.cpu` is hand-vectorized TIR.
"""
