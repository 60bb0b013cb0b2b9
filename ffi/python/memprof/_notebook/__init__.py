# SPDX-License-Identifier: Apache-2.0
"""What IPython and Jupyter have of memprof."""
