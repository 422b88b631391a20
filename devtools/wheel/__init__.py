"""Wheels for PyPI: `./dev wheel`."""
