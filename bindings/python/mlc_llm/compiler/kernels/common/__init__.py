"""What the kernels of CPUs and of GPUs share."""
