# SPDX-License-Identifier: Apache-2.0
"""What a frame is to somebody who looks for the code that holds memory, as in the command's reports
(src/profile/names/frame_role.cc): the program's own, or something that only allocates for it."""
from __future__ import annotations

import functools
import os
import re

from memprof._model import StackFrame

# The text of kDropFramesRegex in src/format/pprof/pprof_schema.h: tests/test_roles.py compares them.
_DROPPED = (r"malloc|calloc|realloc|reallocarray|posix_memalign|aligned_alloc|memalign|valloc|pvalloc|"
            r"__libc_(malloc|calloc|realloc|memalign|valloc|pvalloc)|"
            r"operator new(\[\])?( ?\(.*\))?|_Zn[aw][jmy].*|memprof_report_(re)?alloc(_end|_inline)?")
# What these allocate is their caller's.
_ALLOCATOR = re.compile(
    rf"{_DROPPED}|.*::operator new(\[\])?( ?\(.*\))?|_?Py(Mem|Object)_(Raw)?(Malloc|Calloc|Realloc)|"
    r"PyDataMem_(NEW|RENEW|NEW_ZEROED|UserNEW|UserNEW_ZEROED|UserRENEW)|default_(malloc|calloc|realloc)")

_LIBRARY = re.compile(r"(libc|libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libm|libdl|libpthread|librt)\.so|ld-linux|"
                      r"ld-musl|libc\.musl")
_LIBRARY_SCOPE = re.compile(r"(std|__gnu_cxx|__cxxabiv1)::")
# The files of interpreters, as in src/profile/names/interpreter_frames.cc.
_INTERPRETER = re.compile(r"(lib)?python[0-9.td]*(\.so.*)?|node|nodejs|libnode\.so.*")
_NAMELESS = re.compile(r".+\+0x[0-9a-f]+|0x[0-9a-f]+")
STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGES = re.compile(r"/(site|dist)-packages/")


def is_allocator(frame: StackFrame) -> bool:
    """Whether a native frame is a function that hands out memory."""
    return not frame.is_python and _ALLOCATOR.fullmatch(frame.function) is not None


def is_import(frame: StackFrame) -> bool:
    """Whether it is Python's import machinery: what that allocates is the importing line's."""
    return frame._is_import_machinery


def is_standard(file: str) -> bool:
    """Whether a source file of Python is of its own library."""
    return file.startswith("<frozen ") or (file.startswith(STANDARD_LIBRARY) and _PACKAGES.search(file) is None)


def installed_package(file: str) -> str:
    """The top-level package that a source file of Python is installed with; "": it is the program's own."""
    if file.startswith("<frozen "):
        return file[len("<frozen "):].rstrip(">").partition(".")[0]
    packages = list(_PACKAGES.finditer(file))
    if packages:
        inside = file[packages[-1].end():]
    elif file.startswith(STANDARD_LIBRARY):
        inside = file[len(STANDARD_LIBRARY):]
    else:
        return ""
    return inside.partition("/")[0].partition(".")[0]


def is_nameless(frame: StackFrame) -> bool:
    """Whether a native frame has no function's name."""
    return not frame.is_python and _NAMELESS.fullmatch(frame.function) is not None


def is_library(frame: StackFrame) -> bool:
    """Whether a native frame is of the standard libraries of C and C++."""
    if frame.is_python:
        return False
    if _LIBRARY.match(frame.module.rpartition("/")[2]):
        return True
    return _LIBRARY_SCOPE.match(_without_return_type(frame.function)) is not None


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


@functools.cache
def _program() -> str:
    try:
        return os.readlink("/proc/self/exe")
    except OSError:
        return ""


def own_modules(stack: tuple[StackFrame, ...], program: str | None = None) -> frozenset[str]:
    """Where native code of the program's own lies, which lines of Python call: nowhere in a Python program; in one that
    embeds Python its executable, and the modules through which it called Python in this stack (innermost frame first)."""
    program = _program() if program is None else program
    if not program or _INTERPRETER.fullmatch(_file_name(program)):
        return frozenset()
    outermost = max((i for i, frame in enumerate(stack) if frame.is_python), default=len(stack))
    callers = {frame.module for frame in stack[outermost + 1:]
               if frame.module and not is_library(frame) and not _INTERPRETER.fullmatch(_file_name(frame.module))}
    return frozenset(callers | {program})


def python_part(stack: tuple[StackFrame, ...], program: str | None = None) -> tuple[StackFrame, ...]:
    """Of a stack with lines of Python these, and what stands for frames that are missing; of a program that embeds Python
    the functions of its own, too.  Of any other stack all of it."""
    if not any(frame.is_python for frame in stack):
        return stack
    own = own_modules(stack, program)
    return tuple(frame for frame in stack
                 if frame.is_python or frame.function.startswith("[") or (frame.module in own and not is_allocator(frame)))


def _without_return_type(name: str) -> str:
    """Instances of templates have one: `std::vector<int> make<int>(int)` is `make<int>(int)`."""
    begin = depth = 0
    for i, c in enumerate(name):
        if depth == 0 and (c == "(" or name.startswith("operator", i)):
            break
        if c in "<([{":
            depth += 1
        elif c in ">)]}":
            depth -= 1
        elif c == " " and depth == 0:
            begin = i + 1
    return name[begin:]
