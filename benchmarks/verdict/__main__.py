"""`python -m benchmarks.verdict`."""

import sys

from benchmarks.verdict.run import main

sys.exit(main())
