"""`python bench` is `python bench/run.py`."""

import sys

from run import main

sys.exit(main())
