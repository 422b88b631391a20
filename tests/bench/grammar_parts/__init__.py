"""The parts of `./dev bench grammars`."""
