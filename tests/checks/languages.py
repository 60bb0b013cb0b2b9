#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No name of a language outside its runtime's folder (src/runtime/<language>) and the presentation rules of src/profile/names.

usage: languages.py SOURCE_FOLDER  prints each mention as file:line, exits 1 if there is one
       languages.py --self-test    plants mentions and checks that each is found
"""
import pathlib
import re
import sys
import tempfile

from check_main import check_main

ROOMS = ["src", "capi", "tools"]
SUFFIXES = {".h", ".cc", ".c"}
ALLOWED = re.compile(r"src/runtime/\w+/|src/profile/names/")
# Languages that have a runtime, as names, files and variables have them; "node" and "go" are words of the field.
LANGUAGE = re.compile(r"python|javascript|node\.?js|\bv8\b|\b(lib)?jvm\b|\bjava\b|\bruby\b|\bperl\b|\blua\b|\bphp\b|dotnet", re.I)
# File -> (what each line that mentions one must match, why).
PUBLIC = "a public name, which stays as it is beside the general form"
EXCEPTIONS = {
    "src/runtime/registry.cc": (r"^  RUNTIME\(\w+\)", "the line of each runtime"),
    "src/format/pprof/comments.h": (r'\{"python", "python_objects", "python_stacks", nullptr\}', "what files call the first runtime"),
    "src/unwind/walk/frame_record.cc": (r"^ *//", "why a constant is what it is: the machine code that it was measured on"),
    "src/unwind/walk/frame_record.h": (r"^ *//", "an example of machine code that has no unwind table"),
    "src/profile/model/cut_stacks.cc": (r"", "a table of advice by the library that makes code at run time; a line for each"),
    "src/profile/model/cut_stacks.h": (r"^ *const char\* name;", "an example of its content"),
    "src/profile/symbolize/jit/jitdump.h": (r"^ *//", "who writes the format"),
    "src/profile/symbolize/jit/perf_map.h": (r"^ *//", "who writes the format, and how"),
    "src/profile/symbolize/jit/perf_map.cc": (r"^ *//", "who writes the format, and how"),
    "src/format/resident.h": (r"V8|Jvm", "runtimes that have a heap of their own; a value for each"),
    "src/resident/mapping_list.cc": (r"", "a table of libraries by which a runtime with a heap of its own is known; a line for each"),
    "src/resident/mapping_list.h": (r"has_python", "whether pools are looked for"),
    "src/resident/pymalloc.h": (r"^//", "whose pools they are: the file for them"),
    "src/resident/read_resident.cc": (r"CPython|has_python", "whether pools are looked for, and their classes of sizes"),
    "src/profile/memory/resident_text.cc": (r"V8|JVM|DotNet", "what the heap of each runtime is called"),
    "src/profile/memory/resident_text.h": (r"V8", "an example"),
    "src/profile/memory/unseen_heap.cc": (r"", "a table of runtimes whose heap is not malloc's; a line for each"),
    "capi/include/memprof.h": (r"", PUBLIC),
    "capi/memprof.cc": (r"python_?|MEMPROF_RUNTIME_CPYTHON", PUBLIC),
    "capi/statistics.cc": (r"python_?|MEMPROF_RUNTIME_CPYTHON", PUBLIC),
    "tools/memprof/host/command_names.cc": (r'^constexpr std::string_view kInterpreters|^ *"', "a table of the interpreters that scripts are run by"),
    "tools/memprof/host/command_names.h": (r"^//", "examples of command lines"),
    "tools/memprof/commands/leaks_command.cc": (r"For the JavaScript heap", "help: a heap in which it looks for leaks"),
    "tools/memprof/run/run_environment.cc": (r"options\.python|MEMPROF_PYTHON", "an option of `memprof run`"),
    "tools/memprof/files_only/without_processes.cc": (r"python_program|with_python", "in place of that file"),
    "tools/memprof/commands/check_command.cc": (r"python_program|with_python", "scripts run as with `memprof run`"),
    "tools/memprof/attach/linux/start_settings.cc": (r"options\.python|to\.python", "an option of `memprof attach`"),
    "tools/memprof/attach/linux/target/survey.cc": (r"or_by_python|rfind\(\"python\"|--python", "an option of `memprof attach`"),
    "tools/memprof/attach/attach.h": (r"bool python\b", "an option of `memprof attach`"),
    "tools/memprof/attach/linux/python/python_runtime.cc": (r"", "attaching by an interface of the language: a folder for it"),
    "tools/memprof/attach/linux/python/python_runtime.h": (r"", "attaching by an interface of the language: a folder for it"),
    "tools/memprof/attach/linux/python/python_script.cc": (r"", "attaching by an interface of the language: a folder for it"),
    "tools/memprof/attach/linux/python/python_script.h": (r"", "attaching by an interface of the language: a folder for it"),
    "tools/memprof/attach/linux/python/shared_folder.cc": (r"", "attaching by an interface of the language: a folder for it"),
    "tools/memprof/attach/linux/python/start_by_python.cc": (r"", "attaching by an interface of the language: a folder for it"),
    "tools/memprof/attach/python/start_by_python.h": (r"", "attaching by an interface of the language: a folder for it"),
    "src/profile/files/source_file.cc": (r'^    "', "a table of the endings that source files of languages have"),
    "src/profile/foreign/foreign_profile.h": (r"^//", "whose formats they are"),
    "src/profile/foreign/sample_type.h": (r"^//", "whose sample types they are"),
    "src/profile/foreign/v8_heap.h": (r"^//", "whose format it is"),
    "src/profile/foreign/v8_heap.cc": (r"fail\(", "whose format it is"),
    "src/profile/formats/heapprofile.h": (r"^// Writes", "whose format it is"),
    "src/profile/page/page_html.h": (r"^// JavaScript", "what the page is written in"),
    "src/profile/page/page_frames.cc": (r"", "what the page's switches hide: rules of presentation"),
    "tools/memprof/commands/attach_command.cc": (r"", "options of `memprof attach`, and their help"),
    "tools/memprof/console/shared_options.cc": (r"evaluation loop", "help: what --native-interpreter keeps"),
    "tools/memprof/console/report_options.cc": (r"", "help: what --native-interpreter shows"),
    "tools/memprof/commands/report_command.cc": (r"line of Python|below Python", "help: what stands beside a row"),
    "tools/memprof/run/run_options.cc": (r"", "options of `memprof run`"),
    "tools/memprof/run/run_options.h": (r"", "options of `memprof run`"),
    "tools/memprof/run/python_program.cc": (r"", "scripts as programs: a file for the language"),
    "tools/memprof/run/python_program.h": (r"", "scripts as programs: a file for the language"),
    "tools/memprof/doctor/doctor_python.cc": (r"", "what doctor says of a program before it runs: a file for the language"),
    "tools/memprof/doctor/doctor_python.h": (r"", "what doctor says of a program before it runs: a file for the language"),
    "tools/memprof/doctor/doctor_v8.cc": (r"", "what doctor says of a program before it runs: a file for the engine"),
    "tools/memprof/doctor/doctor_v8.h": (r"", "what doctor says of a program before it runs: a file for the engine"),
    "tools/memprof/doctor/doctor_program.cc": (r"", "calls that file"),
    "tools/memprof/doctor/doctor_program.h": (r"", "variables for that file"),
    "tools/memprof/doctor/doctor_process.cc": (r"", "variables for that file"),
    "tools/memprof/doctor/doctor_runtime.cc": (r"MEMPROF_RUNTIME_(CPYTHON|V8)", "those that have a file of their own are left to it"),
    "tools/memprof/doctor/doctor_runtime.h": (r"^//", "an example, and that file"),
    "tools/memprof/host/linux/program/python_facts.cc": (r"", "what a program's file says of itself: a file for the language"),
    "tools/memprof/host/program/python_facts.h": (r"", "what a program's file says of itself: a file for the language"),
    "tools/memprof/host/linux/program/code_library.cc": (r"", "launchers, as distributions build them"),
    "tools/memprof/host/program/code_library.h": (r"", "launchers, as distributions build them"),
}


def check(root, exceptions):
    """Returns (number of files, what is wrong)."""
    count, wrong, used = 0, [], set()
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            relative = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or ALLOWED.match(relative):
                continue
            count += 1
            pattern = exceptions[relative][0] if relative in exceptions else None
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                found = LANGUAGE.search(line)
                if found and pattern is not None and re.search(pattern, line):
                    used.add(relative)
                elif found:
                    wrong.append(f"{relative}:{number}: '{found.group()}' belongs into src/runtime/<language>")
    stale = sorted(exceptions.keys() - used)
    return count, wrong + [f"{path}: mentions no language any more: take it off the list" for path in stale]


def self_test():
    cases = [
        ("src/core/engine/x.cc", "void note_python();", 1),
        ("src/core/engine/x.cc", "// as CPython does it", 1),
        ("src/platform/linux/stack/x.h", '#include "runtime/cpython/runs.h"', 1),
        ("src/runtime/x.cc", "struct V8Frame;  // of V8", 1),
        ("capi/x.cc", "// JavaScript", 1),
        ("tools/memprof/x.cc", "// libjvm", 1),
        ("src/runtime/cpython/x.cc", "// Python", 0),
        ("src/profile/names/x.cc", '"[Python]"', 0),
        ("src/core/x.cc", "// a node of a tree; go on", 0),
        ("src/core/excepted.cc", "python = 1;", 0),
        ("src/core/excepted.cc", "python = 2;", 2),  # and the exception is not used
        ("src/core/excepted.cc", "", 1),
    ]
    for path, line, expected in cases:
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name, path)
            file.parent.mkdir(parents=True)
            file.write_text(f"// a file\n{line}\n")
            _, wrong = check(pathlib.Path(name), {path: (r"= 1;", "a reason")} if "excepted" in path else {})
            if len(wrong) != expected:
                sys.exit(f"{path}: {line}: {len(wrong)} instead of {expected}: {wrong}")
    print("the planted mentions were found")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, lambda root: check(root, EXCEPTIONS), self_test,
                        fine=lambda count: f"{count} files name no language; {len(EXCEPTIONS)} have a reason to"))
