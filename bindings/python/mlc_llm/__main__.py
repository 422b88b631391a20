"""`python -m mlc_llm` is the command `mlc_llm`."""

import sys

from mlc_llm.cli import main

sys.exit(main())
