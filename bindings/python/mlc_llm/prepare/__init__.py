"""From a model argument to a folder and a library that the core can load: finds, fetches, converts,
compiles and keeps models. `model_source.resolve_model` is the way in.
"""
