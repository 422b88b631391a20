"""The parts of `./dev bench gpu`."""
