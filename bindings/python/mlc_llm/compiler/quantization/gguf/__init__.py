"""GGUF's own types, as schemes that keep them."""
