"""The parts of `./dev bench adapters`."""
