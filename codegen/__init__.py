"""The generator: schema (pydantic) -> IR -> text in each language. `python -m codegen`."""
