#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source has its test: src/x/y.cc has tests/x/y_test.cc; tools/x.cc and capi/x.cc have tests/tools/x_test.cc
and tests/capi/x_test.cc.

usage: mirror.py ROOT         names each source without a test, exits 1 if there is one
       mirror.py --self-test  plants a source without a test, a stale exception, and a good tree
"""
import pathlib
import sys
import tempfile

from check_main import check_main

# Source -> why it has no test file of its own. An entry that is not needed any more is an error.
INTERPOSER = "defines malloc, so it cannot be linked into a test; tests/e2e runs programs with it"
PATCHER = "changes the code of its process; tests/e2e/inner_allocators_test.py runs programs with it"
MUSL = "does something only in what is built for musl; tests/musl runs programs with it"
MACOS = "needs macOS's headers; tests/macos/macos_test.py runs programs with it in a loader"
WINDOWS = "tests/windows/windows_test.py runs programs with it"
ONE_FILE = "only in the command as one file; tests/release/one_file_test.py runs it"
REFUSES = "refuses: not written for that processor yet"
EXCEPTIONS = {
    "src/cpu/aarch64/platform/code/relocation.cc": REFUSES,
    "src/cpu/aarch64/platform/linux/inline_hooks/code/no_stubs.cc": REFUSES,
    "src/cpu/aarch64/platform/code/code_rule.cc": REFUSES,
    "src/platform/darwin/hooks/imports.cc": MACOS,
    "src/platform/darwin/hooks/malloc_log.cc": MACOS,
    "src/platform/darwin/hooks/zones.cc": MACOS,
    "src/platform/darwin/library/interposed.cc": MACOS,
    "src/platform/darwin/library/library.cc": MACOS,
    "src/platform/darwin/memory/memory.cc": MACOS,
    "src/platform/darwin/modules/image_list.cc": MACOS,
    "src/platform/darwin/modules/modules.cc": MACOS,
    "src/platform/darwin/process/clock.cc": MACOS,
    "src/platform/darwin/process/process.cc": MACOS,
    "src/platform/darwin/process/thread_data.cc": MACOS,
    "src/platform/darwin/stack/stack.cc": MACOS,
    "src/platform/linux/execute/execute.cc": "defines exec, only in libmemprof.so; tests/e2e/executed_test.py runs programs with it",
    "src/platform/linux/inline_hooks/complaints.cc": PATCHER,
    "src/platform/linux/inline_hooks/inline_hooks.cc": PATCHER,
    "src/platform/linux/inline_hooks/inner_functions.cc": "tests/e2e/inner_allocators_test.py runs programs whose functions it finds",
    "src/platform/linux/inline_hooks/inner_module.cc": PATCHER,
    "src/platform/linux/inline_hooks/light_paths.cc": PATCHER,
    "src/platform/linux/inline_hooks/loader_watch.cc": PATCHER,
    "src/platform/linux/inline_hooks/slow_paths.cc": PATCHER,
    "src/platform/linux/inline_hooks/verification.cc": PATCHER,
    "src/platform/linux/interpose/bootstrap.cc": INTERPOSER,
    "src/platform/linux/interpose/process/deep_binding.cc": INTERPOSER,
    "src/platform/linux/interpose/process/dlclose.cc": INTERPOSER,
    "src/platform/linux/interpose/process/dlopen.cc": INTERPOSER,
    "src/platform/linux/interpose/frame_tables.cc": INTERPOSER,
    "src/platform/linux/interpose/malloc.cc": INTERPOSER,
    "src/platform/linux/interpose/nested.cc": INTERPOSER,
    "src/platform/linux/interpose/operators/behind_operators.cc": "changes what its module exports; tests/e2e/operators_test.py runs programs with it",
    "src/platform/linux/interpose/operators/operators.cc": INTERPOSER,
    "src/platform/linux/interpose/process/process.cc": INTERPOSER,
    "src/platform/linux/interpose/process/sandbox.cc": INTERPOSER,
    "src/platform/linux/interpose/hook_table.cc": "a table; tests/platform/linux/imports/import_patch_test.cc goes through all of it",
    "src/platform/linux/interpose/loader_calls.cc": "tests/platform/linux/imports/import_patch_test.cc calls through its hooks",
    "src/platform/linux/interpose/process/mappings.cc": INTERPOSER,
    "src/platform/linux/interpose/real.cc": INTERPOSER,
    "src/platform/linux/interpose/real_mappings.cc": INTERPOSER,
    "src/platform/linux/libc/musl/c_library.cc": MUSL,
    "src/platform/linux/libc/musl/malloc_areas.cc": MUSL,
    "src/platform/linux/stack/untabled_code.cc": MUSL,
    "src/runtime/cpython/collections.cc": "calls the interpreter; tests/e2e/capi_test.py runs it in one",
    "src/platform/linux/stack/operator_frames.cc": "looks at a standard library behind the hooks; tests/e2e/early_test.py runs a program with it",
    "src/platform/linux/stack/libunwind_stack.cc": "only in a build of its own; tests/install/libunwind_test.py makes one",
    "src/platform/windows/hooks/child_hook.cc": WINDOWS,
    "src/platform/windows/hooks/heap_hooks.cc": WINDOWS,
    "src/platform/windows/hooks/heap_owners.cc": WINDOWS,
    "src/platform/windows/hooks/imports.cc": "says that there are none",
    "src/platform/windows/hooks/mapping_hooks.cc": WINDOWS,
    "src/platform/windows/hooks/mapping_notes.cc": WINDOWS,
    "src/platform/windows/hooks/patches.cc": WINDOWS,
    "src/platform/windows/library/library.cc": WINDOWS,
    "src/platform/windows/library/runtime.cc": WINDOWS,
    "src/platform/windows/process/injection.cc": WINDOWS,
    "tools/memprof/host/linux/program/carried_nothing.cc": "says that there are none",
    "tools/memprof/one_file/carried.cc": ONE_FILE,
    "tools/memprof/one_file/formats.cc": ONE_FILE,
    "tools/memprof/one_file/no_loader.cc": ONE_FILE,
    "tools/memprof/windows/main.cc": WINDOWS,
    "tools/memprof/windows/run.cc": WINDOWS,
    "tools/memprof/files_only/without_processes.cc": "refuses; tests/e2e/files_only_test.py runs the command",
    "tools/memprof/main.cc": "calls cli.cc, which has the tests; tests/e2e runs the program",
}


def test_of(source):
    path = source.removeprefix("src/")
    return "tests/" + path.removesuffix(".cc") + "_test.cc"


def check(root, exceptions):
    """Returns (number of sources, what is wrong)."""
    sources = sorted(p.relative_to(root).as_posix() for room in ("src", "capi", "tools")
                     for p in (root / room).rglob("*.cc"))
    wrong = []
    for source in sources:
        has_test = (root / test_of(source)).exists()
        if not has_test and source not in exceptions:
            wrong.append(f"{source} has no test {test_of(source)}")
        if has_test and source in exceptions:
            wrong.append(f"{source} has a test: take it off the list of exceptions")
    wrong += [f"{source} is on the list of exceptions and does not exist" for source in exceptions
              if source not in sources]
    return len(sources), wrong


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path in ("src/core/a.cc", "src/platform/linux/b.cc", "capi/c.cc", "tools/memprof/d.cc",
                     "tests/core/a_test.cc", "tests/platform/linux/b_test.cc", "tests/capi/c_test.cc",
                     "tests/tools/memprof/d_test.cc"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        cases = [(4, 0, {}), (4, 1, {"src/core/a.cc": "stale"}), (4, 1, {"src/gone.cc": "stale"})]
        (root / "src/core/main.cc").touch()
        cases_planted = [(5, 1, {}), (5, 0, {"src/core/main.cc": "a reason"})]
        for count, errors, exceptions in cases_planted:
            assert (check(root, exceptions)[0], len(check(root, exceptions)[1])) == (count, errors), exceptions
        (root / "src/core/main.cc").unlink()
        for count, errors, exceptions in cases:
            assert (check(root, exceptions)[0], len(check(root, exceptions)[1])) == (count, errors), exceptions
    print("the planted violations were found")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, lambda root: check(root, EXCEPTIONS), self_test,
                        fine=lambda count: f"{count} sources have their tests"))
