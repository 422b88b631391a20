"""Kernels, one folder for each kind of processor; `kernels.common` is what they share.

`kernels.cpu` is hand-vectorized TIR.
"""
