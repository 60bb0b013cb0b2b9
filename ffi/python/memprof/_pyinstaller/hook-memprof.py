# SPDX-License-Identifier: Apache-2.0
"""PyInstaller runs this for programs that import memprof."""
import os

from PyInstaller.utils.hooks import collect_submodules, get_package_paths

_FOLDER = get_package_paths("memprof")[1]
# Modules that are loaded when they are asked for; not those of pytest, notebooks and this one.
hiddenimports = ["_cffi_backend", *collect_submodules("memprof", lambda name: "_py" not in name.partition(".")[2])]
# Only %memprof imports it, and a notebook has it.
excludedimports = ["IPython"]
# The command as well: it writes files with all names.
binaries = [(os.path.join(_FOLDER, "_native", *part), os.path.join("memprof", "_native", part[0]))
            for part in (("lib", "libmemprof.so"), ("bin", "memprof"))]
