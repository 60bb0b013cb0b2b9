// SPDX-License-Identifier: Apache-2.0
#include "profile/names/frame_grouping.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

FrameView native() {
  FrameView view;
  view.native = true;
  return view;
}

// Groups of the profile's stacks, leaf first.
std::string groups_of(Builder& b, GroupBy by, const FrameView& view = {}) {
  FrameGrouping grouping(b.profile(), by, view);
  std::vector<GroupedFrame> frames;
  std::string text;
  for (const Stack& stack : b.profile().stacks) {
    grouping.frames_of(stack, &frames);
    for (const GroupedFrame& frame : frames) text += grouping.groups()[frame.group].name + " ";
    text += "| ";
  }
  return text;
}

TEST(FrameGrouping, TheAllocatorsFramesAtTheLeafAreLeftOut) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t malloc = b.at("malloc");
  b.stack({malloc, malloc, main}, 1, 1)
      .stack({main, malloc, main}, 1, 1)
      .stack({malloc}, 1, 1)
      .stack({}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "main | main malloc main | malloc | [unknown] | ");
}

TEST(FrameGrouping, TheInterpretersOwnFunctionsAreLeftOutAmongPythonFrames) {
  Builder b;
  const uint32_t thread = b.at("start_thread");
  b.module("libpython3.12.so.1.0");
  const uint32_t list = b.at("PyList_New");
  const uint32_t call = b.at("_PyObject_Call");
  b.module("_numpy.so");
  const uint32_t empty = b.at("array_empty");
  const uint32_t f = b.python("f", "f.py", 3);
  const uint32_t main = b.python("main", "m.py", 9);
  b.stack({list, f, call, main, call, thread}, 1, 1)
      .stack({list, empty, call, f}, 1, 1)
      .stack({list, call, thread}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction),
            "f main start_thread | f | PyList_New _PyObject_Call start_thread | ");
  FrameView interpreter;
  interpreter.interpreter = true;
  EXPECT_EQ(groups_of(b, GroupBy::kFunction, interpreter),
            "PyList_New f _PyObject_Call main _PyObject_Call start_thread | PyList_New array_empty "
            "_PyObject_Call f | "
            "PyList_New _PyObject_Call start_thread | ");
  EXPECT_EQ(
      groups_of(b, GroupBy::kModule),
      "[Python] [Python] server | _numpy.so [Python] | libpython3.12.so.1.0 libpython3.12.so.1.0 server | ");
}

TEST(FrameGrouping, InlinedCallersAreFramesInnermostFirst) {
  Builder b;
  const uint32_t outer = b.at("outer", "/src/o.cc", 7);
  const uint32_t middle = b.at("middle", "/src/m.h", 5);
  const uint32_t place = b.at("inner", "/src/i.h", 3);
  for (const uint32_t caller : {middle, outer}) {
    b.profile().locations[place].lines.push_back(b.profile().locations[caller].lines[0]);
  }
  b.stack({place}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "inner middle outer | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFile), "/src/i.h /src/m.h /src/o.cc | ");
  EXPECT_EQ(groups_of(b, GroupBy::kModule), "server server server | ");
}

TEST(FrameGrouping, AllocatorFunctionsThatWereInlinedAreLeftOutToo) {
  Builder b;
  const uint32_t caller = b.at("grow");
  const uint32_t place = b.at("operator new(unsigned long)");
  b.profile().locations[place].lines.push_back(b.profile().locations[caller].lines[0]);
  b.stack({place}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "grow | ");
}

TEST(FrameGrouping, FunctionsAreKnownWhateverIsGroupedBy) {
  Builder b;
  b.stack({b.at("f"), b.at("main")}, 1, 1);
  FrameGrouping grouping(b.profile(), GroupBy::kModule);
  std::vector<GroupedFrame> frames;
  grouping.frames_of(b.profile().stacks[0], &frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].group, frames[1].group);
  EXPECT_EQ(grouping.functions()[frames[0].function], "f");
  EXPECT_EQ(grouping.functions()[frames[1].function], "main");
}

TEST(FrameGrouping, NamesOfGroups) {
  EXPECT_EQ(group_by_from_name("file"), GroupBy::kFile);
  EXPECT_EQ(group_by_from_name("files"), std::nullopt);
  EXPECT_STREQ(group_by_name(GroupBy::kModule), "module");
}

TEST(FrameGrouping, AMadeUpGroupIsMadeOnce) {
  Builder b;
  FrameGrouping grouping(b.profile(), GroupBy::kFunction);
  EXPECT_EQ(grouping.made_up_group("[root]"), grouping.made_up_group("[root]"));
  EXPECT_EQ(grouping.groups().size(), 1u);
}

TEST(FrameGrouping, ByHeapAllFramesOfAStackAreItsHeap) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  b.stack({f, main}, 1, 1).stack({f, main}, 1, 1).stack({}, 1, 1);
  b.profile().stacks[1].heap = "pool:a";
  EXPECT_EQ(groups_of(b, GroupBy::kHeap), "[default] [default] | pool:a pool:a | [default] | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "f main | f main | [unknown] | ");
  EXPECT_EQ(group_by_from_name("heap"), GroupBy::kHeap);
}

TEST(FrameGrouping, LibrariesAreLeftOutWhereverTheyAre) {
  Builder b;
  const uint32_t allocate = b.symbol("std::__new_allocator<int>::allocate(unsigned long)", "_ZNSt1a");
  const uint32_t wrapper = b.at("xmalloc");
  const uint32_t insert = b.at("Cache::insert(int)");
  const uint32_t invoke = b.symbol("void std::__invoke<int>(int)", "_ZSt8__invokeIiEvi");
  const uint32_t main = b.at("main");
  const uint32_t start = b.at("_start");
  b.stack({b.at("operator new(unsigned long)"), allocate, insert, invoke, main, start}, 1, 1)
      .stack({wrapper, allocate, main}, 1, 1)
      .stack({insert, wrapper, main}, 1, 1)  // what is above a wrapper was called by it
      .stack({allocate, invoke}, 1, 1)
      .stack({wrapper, start}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction),
            "Cache::insert(int) main | main | Cache::insert(int) xmalloc main | "
            "std::__new_allocator<>::allocate(unsigned long) std::__invoke<>(int) | xmalloc _start | ");
  FrameView all;
  all.all = all.full_names = true;
  EXPECT_EQ(
      groups_of(b, GroupBy::kFunction, all).substr(0, 122),
      "std::__new_allocator<int>::allocate(unsigned long) Cache::insert(int) void std::__invoke<int>(int) "
      "main _start | xmalloc s");
}

TEST(FrameGrouping, TheLineThatImportsHoldsWhatImportingTakes) {
  Builder b;
  const uint32_t compile = b.python("_compile_bytecode", "<frozen importlib._bootstrap_external>", 729);
  const uint32_t call = b.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
  const uint32_t module = b.python("<module>", "pandas/__init__.py", 3);
  const uint32_t main = b.python("<module>", "app.py", 1);
  b.stack({compile, call, module, call, main}, 1, 1).stack({compile, call}, 1, 1);
  EXPECT_EQ(
      groups_of(b, GroupBy::kFile),
      "pandas/__init__.py app.py | <frozen importlib._bootstrap_external> <frozen importlib._bootstrap> | ");
}

TEST(FrameGrouping, NamelessCodeUnderPythonIsTheLines) {
  Builder b;
  const uint32_t start = b.at("");
  b.module("hashtable.cpython-312-x86_64-linux-gnu.so");
  const uint32_t nameless = b.at("");
  const uint32_t named = b.at("kh_resize");
  const uint32_t f = b.python("f", "f.py", 3);
  b.stack({nameless, f, start}, 1, 1).stack({nameless, named, f}, 1, 1).stack({nameless, start}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "f server+0x100 | f | hashtable.so+0x101 server+0x100 | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFunction, native()),
            "f server+0x100 | kh_resize f | hashtable.so+0x101 server+0x100 | ");
  EXPECT_EQ(groups_of(b, GroupBy::kModule),
            "hashtable.so [Python] server | hashtable.so hashtable.so [Python] | hashtable.so server | ");
}

// Of the profile's only stack: the function that its first frame allocated through, and the line that called it.
std::string beside(Builder& b, const FrameView& view = {}) {
  FrameGrouping grouping(b.profile(), GroupBy::kFunction, view);
  std::vector<GroupedFrame> frames;
  grouping.frames_of(b.profile().stacks[0], &frames);
  std::string text = grouping.groups()[frames.front().group].name;
  if (const NativeCallee* callee = grouping.native_callee())
    text += " through " + callee->function + " of " + callee->module;
  if (const auto line = grouping.own_caller())
    text += " for " + line->function + " " + line->file + ":" + std::to_string(line->line);
  return text;
}

TEST(FrameGrouping, WhatPythonsLinesAllocateThrough) {
  Builder b;
  b.module("_multiarray_umath.cpython-312-x86_64-linux-gnu.so");
  const uint32_t nameless = b.at("");
  const uint32_t wrapper = b.at("PyDataMem_UserNEW");
  const uint32_t make = b.at("PyArray_NewFromDescr_int");
  const uint32_t empty = b.at("array_empty");
  const uint32_t f = b.python("f", "f.py", 3);
  const auto of = [&](std::initializer_list<uint32_t> stack, const FrameView& view = {}) {
    b.profile().stacks.clear();
    b.stack(stack, 1, 1);
    return beside(b, view);
  };
  EXPECT_EQ(of({b.at("malloc"), wrapper, nameless, make, empty, f}),
            "f through PyArray_NewFromDescr_int of _multiarray_umath.so");
  EXPECT_EQ(of({wrapper, nameless, f}), "f through  of _multiarray_umath.so");
  EXPECT_EQ(of({f, empty, f}), "f") << "what called the line is not what it allocated through";
  EXPECT_EQ(of({make, f}, native()), "PyArray_NewFromDescr_int");
  EXPECT_EQ(of({make, b.python("[frames left out]", "", 0), f}), "PyArray_NewFromDescr_int");
  EXPECT_EQ(of({make, empty}), "PyArray_NewFromDescr_int") << "no line called it";
}

TEST(FrameGrouping, AProgramThatEmbedsPythonKeepsItsOwnNativeCode) {
  Builder b;  // of the program "server"
  const uint32_t spawn = b.at("Engine::spawn()");
  const uint32_t run = b.at("Engine::run()");
  b.module("libengine.so");
  const uint32_t library = b.at("engine_call()");
  const uint32_t grow = b.at("engine_grow()");
  b.module("libc.so.6");
  const uint32_t sort = b.at("qsort");
  b.module("_numpy.so");
  const uint32_t empty = b.at("array_empty");
  const uint32_t script = b.python("on_event", "/srv/script.py", 4);
  b.stack({empty, script, library, sort, run}, 1, 1)  // what a line calls in numpy is the line's
      .stack({spawn, script, run}, 1, 1)              // what it calls in the program is the program's
      .stack({empty, spawn, script, run}, 1, 1)       // and what that calls
      .stack({grow, script, library, sort, run}, 1,
             1)                                // libengine called Python here, and so is the program's
      .stack({grow, script, sort, run}, 1, 1)  // and not here
      .stack({empty, script, spawn, script, run}, 1, 1);
  const std::string kept =
      "on_event engine_call() Engine::run() | Engine::spawn() on_event Engine::run() | "
      "array_empty Engine::spawn() on_event Engine::run() | engine_grow() on_event engine_call() Engine::run() | "
      "on_event Engine::run() | on_event Engine::spawn() on_event Engine::run() | ";
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), kept);
  // In a file of several processes each has its own program.
  for (Stack& stack : b.profile().stacks) stack.process = "server 4711";
  b.profile().program = "python3.12";
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), kept);
  // Where the program is Python, nothing native is the program's.
  for (Stack& stack : b.profile().stacks) stack.process = "python3.12 12 #2";
  EXPECT_EQ(
      groups_of(b, GroupBy::kFunction),
      "on_event engine_call() Engine::run() | on_event Engine::run() | on_event Engine::run() | "
      "on_event engine_call() Engine::run() | on_event Engine::run() | on_event on_event Engine::run() | ");
}

TEST(FrameGrouping, AThreadIsTheFunctionThatItBeganWith) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t work = b.at("work", "work.c", 3);
  const uint32_t serve = b.python("serve", "/srv/app.py", 7);
  const uint32_t pool = b.python("_worker", "/usr/lib/python3.11/concurrent/futures/thread.py", 83);
  const uint32_t bootstrap = b.python("_bootstrap", "/usr/lib/python3.11/threading.py", 995);
  b.module("libc.so.6");
  const uint32_t start = b.at("start_thread");
  b.stack({work, main}, 1, 1).stack({work, start}, 1, 1).stack({serve, pool, bootstrap, start}, 1, 1);
  b.stack({serve, start}, 1, 1).stack({start}, 1, 1).stack({work, start}, 1, 1);
  b.profile().stacks.back().walk = Walk::kDepthLimit;
  EXPECT_EQ(groups_of(b, GroupBy::kThread),
            "[main thread] [main thread] | work | serve serve serve | serve | [unknown thread] | "
            "[unknown thread] | ");
  EXPECT_EQ(group_by_from_name("thread"), GroupBy::kThread);
}

TEST(FrameGrouping, CodeThatAJitMadeIsKept) {
  Builder b;
  const uint32_t made = b.python("numba_sum", kMadeCode, 0);
  b.module("_helperlib.so");
  const uint32_t allocate = b.at("NRT_Allocate");
  b.stack({allocate, made, b.python("f", "f.py", 3)}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "numba_sum f | ");
}

TEST(FrameGrouping, ImportingAPackageIsOneRow) {
  const std::string kPackages = "/usr/lib/python3/dist-packages/";
  Builder b;
  b.module("_umath.so");
  const uint32_t make = b.at("PyInit__umath");
  const uint32_t call = b.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
  const uint32_t pandas = b.python("<module>", kPackages + "pandas/__init__.py", 3);
  const uint32_t frame = b.python("DataFrame", kPackages + "pandas/core/frame.py", 12);
  const uint32_t numpy = b.python("<module>", kPackages + "numpy/__init__.py", 9);
  const uint32_t dedent = b.python("dedent", "/usr/lib/python3.11/textwrap.py", 9);
  const uint32_t made = b.python("made", "<string>", 1);
  const uint32_t main = b.python("<module>", "app.py", 1);
  const uint32_t models = b.python("<module>", "/srv/models.py", 7);
  const auto of = [&](std::initializer_list<uint32_t> stack, const FrameView& view = {}) {
    b.profile().stacks.clear();
    b.stack(stack, 1, 1);
    return groups_of(b, GroupBy::kFunction, view);
  };
  EXPECT_EQ(of({make, call, numpy, call, pandas, call, main}), "importing pandas <module> | ");
  EXPECT_EQ(beside(b), "importing pandas for <module> app.py:1");
  EXPECT_EQ(of({dedent, made, numpy, call, main}), "importing numpy <module> | ");
  EXPECT_EQ(of({made, numpy, call, main}), "importing numpy <module> | ");
  EXPECT_EQ(of({dedent, pandas, call}), "importing pandas | ") << "when Python starts";
  EXPECT_EQ(of({numpy, call, frame, main}), "importing numpy DataFrame <module> | ") << "while pandas works";
  // The program's own modules have rows, whoever imports them.
  EXPECT_EQ(of({models, call, main}), "<module> <module> | ");
  EXPECT_EQ(of({models, call, pandas, call, main}), "<module> <module> <module> | ");
  EXPECT_EQ(of({numpy, call, models, call, main}), "importing numpy <module> <module> | ");
  // No import: a program of an installed package, and what a package's function takes.
  EXPECT_EQ(of({pandas}), "<module> | ");
  EXPECT_EQ(of({dedent, frame, main}), "dedent DataFrame <module> | ");
  EXPECT_EQ(beside(b), "dedent for <module> app.py:1");
  FrameView opened;
  opened.imports = true;
  EXPECT_EQ(of({numpy, call, pandas, call, main}, opened), "<module> <module> <module> | ");
  EXPECT_EQ(groups_of(b, GroupBy::kLine), "importing pandas <module> | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFile), "importing pandas app.py | ");
}

TEST(FrameGrouping, WhatPythonTakesForItsStartIsOneRow) {
  Builder b;
  const uint32_t main = b.at("main");
  b.module("libc.so.6");
  const uint32_t libc = b.at("__libc_start_main");
  b.module("python3.11");
  const uint32_t type = b.at("PyType_Ready");
  const uint32_t init = b.at("Py_InitializeFromConfig");
  const uint32_t embedded = b.at("Py_InitializeEx");
  const uint32_t run = b.at("Py_RunMain");
  const uint32_t bytes_main = b.at("Py_BytesMain");
  const uint32_t finalize = b.at("Py_FinalizeEx");
  const uint32_t machinery = b.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
  const uint32_t site = b.python("main", "<frozen site>", 600);
  const uint32_t own = b.python("<module>", "/srv/sitecustomize.py", 1);
  const uint32_t gap = b.python("[frames left out]", "", 0);
  const auto of = [&](std::initializer_list<uint32_t> stack, GroupBy by = GroupBy::kFunction,
                      const FrameView& view = {}) {
    b.profile().stacks.clear();
    b.stack(stack, 1, 1);
    return groups_of(b, by, view);
  };
  EXPECT_EQ(of({type, type, init, bytes_main, libc}), "starting Python | ");
  EXPECT_EQ(of({type, machinery, init, bytes_main, libc}), "starting Python | ");
  EXPECT_EQ(of({type, site, init, bytes_main, libc}, GroupBy::kLine), "starting Python | ");
  EXPECT_EQ(of({type, init, main}), "starting Python main | ") << "of a program that embeds it";
  EXPECT_EQ(of({type, embedded, main}), "starting Python main | ");
  EXPECT_EQ(of({init}), "starting Python | ");
  EXPECT_EQ(of({type, own, machinery, site, init, bytes_main}), "<module> main | ")
      << "the program's own line";
  EXPECT_EQ(of({type, run, bytes_main, libc}), "starting Python | ") << "compiles the script";
  EXPECT_EQ(of({type, bytes_main, libc}), "starting Python | ") << "before the interpreter is there";
  EXPECT_EQ(of({type, machinery, run, bytes_main, libc}), "starting Python | ") << "looks for the script";
  EXPECT_EQ(of({type, run, main}), "starting Python main | ") << "of a program that embeds it";
  EXPECT_EQ(of({type, finalize, run, bytes_main}), "PyType_Ready Py_FinalizeEx Py_RunMain Py_BytesMain | ")
      << "the end of the program";
  EXPECT_EQ(of({type, own, machinery, run, bytes_main}), "<module> | ") << "the program's own line";
  EXPECT_EQ(of({type, gap, run, bytes_main}), "PyType_Ready [frames left out] Py_RunMain Py_BytesMain | ");
  EXPECT_EQ(of({type, gap, init, bytes_main}),
            "PyType_Ready [frames left out] Py_InitializeFromConfig Py_BytesMain | ");
  FrameView opened;
  opened.imports = true;
  EXPECT_EQ(of({type, init, bytes_main}, GroupBy::kFunction, opened),
            "PyType_Ready Py_InitializeFromConfig Py_BytesMain | ");
  EXPECT_EQ(of({type, init, bytes_main}, GroupBy::kModule), "python3.11 python3.11 python3.11 | ");
}

TEST(FrameGrouping, WhatStandsBeforeAGapIsNotTheCallers) {
  Builder b;
  const uint32_t push = b.symbol("std::vector<int>::push_back(int)", "_ZNSt6vector");
  const uint32_t gap = b.python("[frames left out]", "", 0);
  b.stack({b.at("malloc"), push, gap, b.at("main")}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "std::vector<>::push_back(int) [frames left out] main | ");
}

TEST(FrameGrouping, InstancesAndClonesAreOneFunction) {
  Builder b;
  const uint32_t one = b.symbol("void Pool<A>::get<1>(int)", "_Z1a", "pool.h", 7);
  const uint32_t two = b.symbol("void Pool<B>::get<2>(int)", "_Z1b", "pool.h", 9);
  const uint32_t part = b.symbol("void Pool<B>::get<2>(int) [clone .part.0]", "_Z1b.part.0", "pool.h", 9);
  b.stack({one}, 1, 1).stack({two}, 1, 1).stack({part}, 1, 1);
  const auto count = [&](GroupBy by, bool full_names) {
    FrameView view;
    view.full_names = full_names;
    FrameGrouping grouping(b.profile(), by, view);
    std::vector<GroupedFrame> frames;
    for (const Stack& stack : b.profile().stacks) grouping.frames_of(stack, &frames);
    return grouping.groups().size();
  };
  EXPECT_EQ(count(GroupBy::kFunction, false), 1u);
  EXPECT_EQ(count(GroupBy::kLine, false), 2u);
  EXPECT_EQ(count(GroupBy::kFunction, true), 3u);
}

}  // namespace
}  // namespace memprof::profile
