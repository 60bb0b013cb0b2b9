#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of known stacks, preloaded, under the emulator of the processor that it was built for.

usage: known_stacks_test.py LIBRARY NM PROGRAM... -- EMULATOR ARGUMENT...
"""
import bisect
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

# What e2e.py asks for; its reader of profiles is all that is used here.
for name in ("LIBRARY", "COMMAND", "PROGRAMS", "SOURCE"):
    os.environ.setdefault(f"MEMPROF_E2E_{name}", "")
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
import e2e  # pylint: disable=wrong-import-position

# (size of the blocks, functions of the program from the leaf up) -> blocks
LARGE = ("large_frame",) * 4
HANDLER = ("leaf", "middle", "on_signal")
PLAIN = {
    (101, ("leaf", "middle", "from_loop", "main")): 1000,
    (103, ("leaf", "middle", "compare", "from_library", "main")): 1,
    (105, ("leaf", "middle", *LARGE, "main")): 1,
    (107, ("leaf", "middle", "on_thread")): 1,
}
SIGNALS = PLAIN | {
    (109, (*HANDLER, "spin", "interrupted_leaf", "main")): 1,
    (111, (*HANDLER, "interrupted_library", "main")): 1,
    (113, (*HANDLER, "spin", "interrupted_leaf", "on_a_stack_of_its_own", "main")): 1,
}
# Where the timer's signals come is chance: these are the places that there are.
BUSY = {(*HANDLER, *where, "busy", "main") for where in (
    (), ("busy_outer",), ("busy_inner", "busy_outer"), ("busy_leaf", "busy_inner", "busy_outer"))}
THROWS = {(117, ("in_destructor", *("through",) * n, "catches", "main")): 1 for n in range(1, 6)} | {
    (119, ("in_destructor", "catches", "main")): 1}


def functions(nm, program):
    text = subprocess.run([nm, "--defined-only", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sorted((int(line.split()[0], 16), line.split()[2]) for line in text.splitlines()
                  if line.split()[1] in "tT" and not line.split()[2].startswith("$"))


def check(library, nm, program, emulator):
    # Without tables nothing says where a function that was interrupted keeps its return address.
    arguments = [] if "untabled" in program else ["signals"]
    expected = THROWS if "throws" in program else SIGNALS if arguments else PLAIN
    with tempfile.TemporaryDirectory(prefix="memprof-cross-") as folder:
        path = os.path.join(folder, "out.pb")
        done = subprocess.run([*emulator, "-E", f"LD_PRELOAD={library}", "-E", f"MEMPROF_PROFILE={path}", "-E",
                               "MEMPROF_RATE=0", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              check=False)
        if done.returncode != 0 or done.stderr:
            return [f"ended with {done.returncode}: {done.stderr.decode(errors='replace')}"]
        profile = e2e.Profile(path)
    errors = []
    if profile.facts["walk_root"] != profile.facts["samples"]:
        errors.append(f"only {profile.facts['walk_root']} of {profile.facts['samples']} stacks are whole")
    table = functions(nm, program)
    starts = [start for start, _ in table]
    found = collections.Counter()
    for stack, values, _ in profile.samples:
        if values["alloc_objects"] == 0:
            continue  # live blocks have rows of their own
        # The program is linked to fixed addresses: they are those of its symbols.
        names = []
        for frame in stack:
            if frame.mapping is None and names and names[-1] == "on_signal":
                pass  # the trampoline, which the emulator puts on a page of its own
            elif frame.mapping is None:
                errors.append(f"{frame.address:#x} is in no module")
            elif os.path.basename(frame.mapping["path"]) == os.path.basename(program):
                names.append(table[bisect.bisect_right(starts, frame.address) - 1][1])
        names = tuple(n for n in names if n != "_start")
        leaf = stack[0].mapping if stack else None
        if leaf is not None and os.path.basename(leaf["path"]) == os.path.basename(program):
            found[values["alloc_space"] // values["alloc_objects"], names] += values["alloc_objects"]
    if expected is SIGNALS:
        busy = {key[1]: found.pop(key) for key in list(found) if key[0] == 115}
        errors += [f"not a stack that there is: {names}" for names in busy.keys() - BUSY]
        if sum(busy.values()) < 300 or len(busy) < 2:
            errors.append(f"signals came to too few places: {busy}")
    for key in expected.keys() | found.keys():
        if expected.get(key, 0) != found[key]:
            errors.append(f"{key}: {found[key]} blocks, not {expected.get(key, 0)}")
    return errors


def main():
    if "--" not in sys.argv or len(sys.argv) < 6:
        sys.exit(__doc__)
    split = sys.argv.index("--")
    library, nm, *programs = sys.argv[1:split]
    failed = False
    for program in programs:
        errors = check(library, nm, program, sys.argv[split + 1:])
        failed = failed or bool(errors)
        print(f"{os.path.basename(program)}: " + ("; ".join(errors) or "every block, every stack"))
    return failed


if __name__ == "__main__":
    sys.exit(main())
