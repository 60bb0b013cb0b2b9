# SPDX-License-Identifier: Apache-2.0
"""`python -m memprof` is `memprof`."""
from memprof._command import main

main()
