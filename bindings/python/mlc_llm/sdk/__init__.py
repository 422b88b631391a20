"""The engine as programs see it: MLCEngine, AsyncMLCEngine, and what they share.

Programs import both from `mlc_llm` itself.
"""
