"""Python reads this file when it starts: the tests put its folder on PYTHONPATH. It hides the file
of this name that the machine's Python may have, so it runs that one too."""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

import quick_compile

quick_compile.install()
here = os.path.dirname(os.path.abspath(__file__))
theirs = PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p) != here])
if theirs is not None and theirs.loader is not None:
    theirs.loader.exec_module(module_from_spec(theirs))
