"""Schemes that keep GGUF's own types."""
