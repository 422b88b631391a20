"""`mlc_llm serve`: an OpenAI-compatible HTTP server over the same core as the SDK.

`app.create_app(registry, options)` is the ASGI application; `cli/serve.py` runs it.
"""
