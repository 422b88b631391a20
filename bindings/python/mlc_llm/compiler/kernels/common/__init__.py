"""The parts that kernels of CPUs and GPUs share."""
