"""Compatibility names: MLC-LLM's protocol for Python, as its programs and tests import it.

Answers are this engine's own types under other names; requests are pydantic models, which `create`
takes where it takes a mapping (`ChatCompletionRequest(...).model_dump(exclude_none=True)`).
"""
