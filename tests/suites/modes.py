# SPDX-License-Identifier: Apache-2.0
"""The ways in which a suite runs, and the environment of each: MODES, or those of the suite, or MEMPROF_SUITES_MODES.

preloaded: libmemprof.so in front of malloc. patched: programs/patched.c, preloaded, loads libmemprof.so at run time
in every process and starts it, which points the import tables at it. everything: preloaded, with allocators inside
modules and with mappings. Fork children are followed in all. Each process writes its profile into `profiles`, which
shows that it was profiled.
"""
import os
import pathlib
import re

LIBRARY = os.environ.get("MEMPROF_SUITES_LIBRARY", "")
STARTER = os.environ.get("MEMPROF_SUITES_STARTER", "")
COMMAND = os.environ.get("MEMPROF_SUITES_COMMAND", "false")

MODES = ("without", "preloaded 512", "preloaded 0", "patched 512", "patched 0")


def environment(mode, profiles):
    """The variables of a process in this mode; `profiles` is a folder that exists."""
    result = {k: v for k, v in os.environ.items() if not k.startswith(("MEMPROF_", "PATCHED_", "LD_PRELOAD"))}
    result["LC_ALL"] = "C.UTF-8"
    if mode == "without":
        return result
    how, rate = mode.split()
    pattern = str(pathlib.Path(profiles) / "%n.%p.%t.pb")
    result.update(MEMPROF_RATE=rate, MEMPROF_FOLLOW_FORK="1")
    if how in ("preloaded", "everything"):
        result.update(LD_PRELOAD=LIBRARY, MEMPROF_PROFILE=pattern)
        if how == "everything":
            result.update(MEMPROF_INLINE_HOOKS="1", MEMPROF_MMAP="1")
    else:
        result.update(LD_PRELOAD=STARTER, PATCHED_LIBRARY=LIBRARY, PATCHED_PROFILE=pattern,
                      PATCHED_MAY_FAIL="1")  # to write the profile: where the test may not write there
    return result


def wanted(default=MODES):
    """Those of the suite; MEMPROF_SUITES_MODES, like "patched 0, preloaded 4k", says others. Without memprof comes first."""
    chosen = [m.strip() for m in os.environ.get("MEMPROF_SUITES_MODES", "").split(",") if m.strip()]
    for mode in chosen:
        if mode != MODES[0] and not re.fullmatch(r"(preloaded|everything|patched) \d+[kKmM]?", mode):
            raise SystemExit(f"suites: MEMPROF_SUITES_MODES: {mode}: not \"preloaded RATE\", \"everything RATE\" or \"patched RATE\", like \"preloaded 4k\"")
    return [MODES[0], *(m for m in chosen or default if m != MODES[0])]
