"""Python reads this file when it starts: the tests put its folder on PYTHONPATH."""

import quick_compile

quick_compile.install()
