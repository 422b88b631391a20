"""The parts of `./dev bench cpu`."""
