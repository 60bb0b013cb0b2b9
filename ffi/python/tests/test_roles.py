# SPDX-License-Identifier: Apache-2.0
"""Which frame of a stack holds what was allocated."""
import pathlib
import re

import pytest

from memprof import StackFrame
from memprof._sites import native_leaf, place


def native(function, module="/opt/server"):
    return StackFrame(1, function, module, 0, False, module)


def python(function, file):
    return StackFrame(0, function, file, 3, True)


IMPORT = python("_call_with_frames_removed", "<frozen importlib._bootstrap>")
COMPILE = python("_compile_bytecode", "<frozen importlib._bootstrap_external>")
MODULE = python("<module>", "/srv/app.py")


def test_the_importing_line_holds_what_importing_takes():
    assert place((native("malloc"), COMPILE, IMPORT, MODULE, IMPORT)) is MODULE
    assert place((native("malloc"), COMPILE, IMPORT)) is COMPILE
    assert place((python("import_module", "/usr/lib/python3.12/importlib/__init__.py"), MODULE)) is MODULE
    other = python("version", "/usr/lib/python3.12/importlib/metadata/__init__.py")
    assert place((other, MODULE)) is other


@pytest.mark.parametrize("folded", [native("std::vector<int>::push_back(int const&)"), native("x.so+0x89d0"), native("0x7f12"),
                                    native("void std::__invoke<int>(int)"), native("operator new(unsigned long)"),
                                    native("strdup", "/lib/libc.so.6"), native("default_malloc"),
                                    native("Node::operator new(unsigned long)")])
def test_what_is_not_the_extensions_own(folded):
    own = native("kh_resize")
    assert native_leaf((folded, own, MODULE)) is own
    assert native_leaf((folded, MODULE)) is folded


@pytest.mark.parametrize("name", ["std::vector<int> make<int>(int)", "my_malloc", "stdx::f()", "operator<<(A, B)"])
def test_what_is_its_own(name):
    assert native_leaf((native(name), native("caller"))).function == name


def test_a_program_that_embeds_python_keeps_its_own_functions():
    spawn, run, sort = native("Engine::spawn()"), native("Engine::run()"), native("qsort", "/lib/libc.so.6")
    empty = native("array_empty", "/lib/_umath.so")
    call = native("PyObject_Call", "/lib/libpython3.12.so.1.0")
    library = native("engine_call()", "/opt/libengine.so")
    malloc = native("malloc", "/opt/server")
    for stack, leaf in (((malloc, empty, MODULE, call, run), MODULE), ((malloc, spawn, MODULE, call, run), spawn),
                        ((malloc, empty, spawn, MODULE, run), empty), ((library, MODULE, library, sort, run), library),
                        ((library, MODULE, sort, run), MODULE), ((call, MODULE, call, run), MODULE),
                        ((empty, MODULE, spawn, MODULE), MODULE)):
        assert place(stack, "/opt/server") is leaf
        assert place(stack, "/usr/bin/python3.12") is MODULE


def test_stacks_of_little():
    assert place(()).function == "[unknown]"
    assert native_leaf((MODULE,)) is None
    assert native_leaf((native("malloc"),)).function == "malloc"


def test_the_allocators_names_are_those_that_profiles_drop():
    from memprof._roles import _DROPPED
    schema = (pathlib.Path(__file__).resolve().parents[3] / "src/format/pprof/pprof_schema.h").read_text()
    literal = re.search(r"kDropFramesRegex\[\] =\n((?: +\".*\"\n?)+);", schema).group(1)
    assert "".join(re.findall(r'"(.*)"', literal)).replace("\\\\", "\\") == _DROPPED
