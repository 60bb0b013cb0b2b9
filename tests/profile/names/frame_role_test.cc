// SPDX-License-Identifier: Apache-2.0
#include "profile/names/frame_role.h"

#include <gtest/gtest.h>

#include "profile/names/frame_grouping.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using report_fixture::row;

FrameRole role_of(const std::string& name, const std::string& symbol = "", const std::string& file = "",
                  const std::string& module = "server") {
  Frame frame;
  frame.name = name;
  frame.symbol = symbol.empty() ? name : symbol;
  frame.file = file;
  frame.module = module;
  frame.is_named = true;
  return frame_role(frame);
}

FrameRole python(const std::string& name, const std::string& file) {
  Frame frame;
  frame.name = frame.symbol = name;
  frame.file = file;
  frame.is_named = frame.is_executed = true;
  return frame_role(frame);
}

TEST(FrameRole, AllocationFunctionsAndKnownWrappers) {
  EXPECT_EQ(role_of("malloc"), FrameRole::kAllocation);
  EXPECT_EQ(role_of("operator new(unsigned long)", "_Znwm"), FrameRole::kAllocation);
  for (const char* name :
       {"zmalloc_usable",
        "AllocSetAllocFromNewBlock",
        "palloc0",
        "ngx_alloc",
        "xmalloc",
        "xmalloc.part.0",
        "g_malloc0_n",
        "CRYPTO_zalloc",
        "os::malloc(unsigned long, MEMFLAGS)",
        "llvm::allocate_buffer(unsigned long, unsigned long)",
        "llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
        "successful_malloc",
        "stgMallocBytes",
        "BigAlloc",
        "monoeg_malloc0",
        "moz_xmalloc",
        "isc__mem_get",
        "PL_malloc_atomic",
        "Perl_safesysrealloc",
        "moz_arena_calloc",
        "av_mallocz",
        "sqlite3Malloc",
        "PyMem_RawMalloc",
        "Node::operator new(unsigned long)",
        "Node<A>::operator new[](unsigned long)"}) {
    EXPECT_EQ(role_of(name), FrameRole::kWrapper) << name;
  }
}

TEST(FrameRole, WhatGivesRustsLibraryItsMemoryIsAWrapper) {
  for (const char* name : {"<rcount::Counting as core::alloc::global::GlobalAlloc>::alloc",
                           "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::realloc",
                           "<mimalloc::MiMalloc as core::alloc::global::GlobalAlloc>::alloc_zeroed",
                           "<bump::Bump<N> as core::alloc::Allocator>::allocate"}) {
    EXPECT_EQ(role_of(name, "_RNvX"), FrameRole::kWrapper) << name;
  }
  for (const char* name : {"<rcount::Counting as core::fmt::Debug>::fmt", "rcount::leak_one",
                           "<rcount::Counting as rcount::GlobalAlloc>::alloc"}) {
    EXPECT_EQ(role_of(name, "_RNvX"), FrameRole::kOwn) << name;
  }
}

TEST(FrameRole, WhatSoundsAlikeIsTheProgramsOwn) {
  for (const char* name :
       {"main", "my_malloc", "Pool::malloc(int)", "make_xmalloc", "g_main_loop_run", "allocate",
        "Stdio::open()", "stdx::f()", "Thing::operator new_thing()", "av_frame_alloc", "std"}) {
    EXPECT_EQ(role_of(name), FrameRole::kOwn) << name;
  }
}

TEST(FrameRole, LibraryOfCxx) {
  for (const char* name : {"std::vector<int>::push_back(int const&)", "std::__1::vector<int>::f()",
                           "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
                           "void std::__cxx11::basic_string<char>::_M_construct<char*>(char*, char*)",
                           "std::string std::operator+<char>(char const*, std::string const&)"}) {
    EXPECT_EQ(role_of(name, "_ZSt1f"), FrameRole::kLibrary) << name;
  }
  // What it returns is not where it is.
  for (const char* name : {"std::vector<int> make<int>(int)", "std::shared_ptr<A> ns::make<A>()",
                           "void (*std_choose<int>(int))(char)", "std::string (*choose<int>(int))(char)"}) {
    EXPECT_EQ(role_of(name, "_Z4makeIiE"), FrameRole::kOwn) << name;
  }
}

TEST(FrameRole, LibrariesByTheirFiles) {
  for (const char* module : {"libc.so.6", "libmemprof.so.0.1.0", "libstdc++.so.6", "libc++.so.1",
                             "ld-linux-x86-64.so.2", "libc.musl-x86_64.so.1"}) {
    EXPECT_EQ(role_of("f", "", "", module), FrameRole::kLibrary) << module;
  }
  for (const char* module : {"libcurl.so.4", "libz.so.1", "libcache.so", "libc", ""}) {
    EXPECT_EQ(role_of("f", "", "", module), FrameRole::kOwn) << module;
  }
  EXPECT_EQ(role_of("_start"), FrameRole::kLibrary);
}

TEST(FrameRole, LibraryOfRust) {
  const std::string symbol = "_RNvMs_NtCs1_5alloc7raw_vec";
  for (const char* name :
       {"<alloc::raw_vec::RawVecInner>::finish_grow", "alloc::alloc::realloc", "std::rt::lang_start::<()>",
        "<alloc::vec::Vec<r::Item> as core::clone::Clone>::clone", "<str>::to_string", "<[r::Item]>::to_vec",
        "<i32 as core::fmt::Display>::fmt", "hashbrown::raw::RawTable<r::A>::reserve_rehash",
        "__rustc::__rust_alloc"}) {
    EXPECT_EQ(role_of(name, symbol), FrameRole::kLibrary) << name;
    EXPECT_EQ(role_of(name, "_ZN5alloc7raw_vec17h0123456789abcdefE"), FrameRole::kLibrary) << name;
  }
  // A trait of the program on a type of the library, and the other way round.
  for (const char* name : {"r::Cache::insert", "<r::Cache>::insert", "<r::Item as core::clone::Clone>::clone",
                           "<alloc::vec::Vec<u8> as r::Store>::put", "<&r::Item as core::fmt::Display>::fmt",
                           "r::run::<alloc::vec::Vec<u8>>", "corelib::f"}) {
    EXPECT_EQ(role_of(name, symbol), FrameRole::kOwn) << name;
  }
  // Namespaces of a C++ program.
  EXPECT_EQ(role_of("core::Engine::load()", "_ZN4core6Engine4loadEv"), FrameRole::kOwn);
  EXPECT_EQ(role_of("alloc::Pool::get()", "_ZN5alloc4Pool3getEv"), FrameRole::kOwn);
}

TEST(FrameRole, BrokenNamesDoNoHarm) {
  for (const char* name :
       {"<", "<>", "<a as ", "<<", "><", "<a as b", "< as >", "operator", "::operator new"}) {
    for (const char* symbol : {"_R", "_ZN17h", "_Z", ""}) role_of(name, symbol);
  }
}

TEST(FrameRole, ImportMachineryOfPython) {
  EXPECT_EQ(python("_call_with_frames_removed", "<frozen importlib._bootstrap>"), FrameRole::kImport);
  EXPECT_EQ(python("_compile_bytecode", "<frozen importlib._bootstrap_external>"), FrameRole::kImport);
  EXPECT_EQ(python("import_module", "/usr/lib/python3.12/importlib/__init__.py"), FrameRole::kImport);
  EXPECT_EQ(python("malloc", "m.py"), FrameRole::kOwn);
  EXPECT_EQ(python("f", "/srv/importlib_tools/__init__.py"), FrameRole::kOwn);
  EXPECT_EQ(python("version", "/usr/lib/python3.12/importlib/metadata/__init__.py"), FrameRole::kOwn);
}

TEST(FrameRole, NodesOwnScripts) {
  EXPECT_EQ(python("alloc", "node:buffer"), FrameRole::kImport);
  EXPECT_EQ(python("listOnTimeout", "node:internal/timers"), FrameRole::kImport);
  EXPECT_EQ(python("Builtin:ArrayMap", ""), FrameRole::kImport);
  EXPECT_EQ(python("(async)", ""), FrameRole::kWrapper);
  EXPECT_EQ(python("(async)", "a.js"), FrameRole::kOwn);
  EXPECT_EQ(python("[unknown JavaScript code]", ""), FrameRole::kImport);
  EXPECT_EQ(python("fill", "/srv/app.js"), FrameRole::kOwn);
  EXPECT_EQ(python("fill", "/srv/node:x.js"), FrameRole::kOwn);
}

TEST(FrameRole, FramesWithoutAName) {
  Frame frame;
  frame.name = "algos.so+0x89d0";
  frame.module = "algos.so";
  EXPECT_EQ(frame_role(frame), FrameRole::kNameless);
  EXPECT_EQ(role_of("[frames left out]"), FrameRole::kGap);
}

TEST(FrameRole, TellsInstalledPackagesByTheirFolders) {
  const struct {
    const char* file;
    const char* package;
  } kFiles[] = {{"/srv/venv/lib/python3.12/site-packages/numpy/lib/__init__.py", "numpy"},
                {"/usr/lib/python3/dist-packages/six.py", "six"},
                {"/usr/lib/python3.11/json/decoder.py", "json"},
                {"/usr/lib64/python3.14t/re/_parser.py", "re"},
                {"/opt/python/lib/python313.zip/ast.py", "ast"},
                {"<frozen os>", "os"},
                {"<frozen encodings.utf_8>", "encodings"},
                {"<string>", ""},
                {"app.py", ""},
                {"/srv/lib/app/models.py", ""},
                {"/srv/lib/python3-tools/app.py", ""},
                {"/srv/lib/python3/app.py", ""},
                {"", ""}};
  for (const auto& f : kFiles) {
    Frame frame;
    frame.is_executed = true;
    frame.file = f.file;
    EXPECT_EQ(f.package, installed_package(frame)) << f.file;
    EXPECT_EQ(frame.file != "<string>" && !frame.file.empty(), has_known_package(frame)) << f.file;
    frame.is_executed = false;
    EXPECT_EQ("", installed_package(frame)) << f.file;
  }
}

TEST(FrameRole, CodeThatNoFileHas) {
  const struct {
    const char* file;
    bool is_made, is_typed;
  } kFiles[] = {{"<string>", true, false},        {"<template>", true, false},
                {"<stdin>", true, true},          {"<ipython-input-1-02ec4a2b768f>", true, true},
                {"<python-input-3>", true, true}, {"<frozen os>", false, false},
                {"app.py", false, false},         {"", false, false}};
  for (const auto& f : kFiles) {
    Frame frame;
    frame.file = f.file;
    EXPECT_FALSE(is_made_code(frame)) << f.file;
    frame.is_executed = true;
    EXPECT_EQ(f.is_made, is_made_code(frame)) << f.file;
    EXPECT_EQ(f.is_typed, is_typed_code(frame)) << f.file;
  }
}

size_t end_of_last(Builder& b) {
  return AllocatorEnds(b.profile()).of(b.profile().stacks.back());
}

TEST(AllocatorEnds, WhatAKnownWrapperCallsInItsModuleIsOfIt) {
  Builder b;
  const uint32_t main = b.at("main");
  b.module("libtcl8.6.so");
  const uint32_t malloc = b.at("malloc");
  const uint32_t pieces = b.at("");
  const uint32_t blocks = b.at("blocks_alloc");
  const uint32_t wrapper = b.at("TclpAlloc");
  const uint32_t outer = b.at("Tcl_Alloc");
  const uint32_t caller = b.at("TclNewObj");
  b.stack({malloc, pieces, blocks, wrapper, outer, caller, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 5u);
  b.stack({malloc, wrapper, outer, caller, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u) << "as for every wrapper";
  b.stack({malloc, pieces, caller, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
  const Report report = build_report(b.profile(), {});
  EXPECT_NE(row(report, "TclNewObj"), nullptr);
  EXPECT_EQ(row(report, "blocks_alloc"), nullptr);
}

// Code that has a name of its own stays a row, whoever calls it.
TEST(AllocatorEnds, AFunctionThatDoesNotSoundLikeAllocationStays) {
  Builder b;
  b.stack({b.at("Cache::insert(int)"), b.at("xmalloc"), b.at("main")}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

TEST(AllocatorEnds, WhatIsOfAnotherModuleIsNot) {
  Builder b;
  const uint32_t hook = b.at("hook_alloc");
  const uint32_t main = b.at("main");
  b.module("libtcl8.6.so");
  const uint32_t wrapper = b.at("TclpAlloc");
  b.stack({hook, wrapper, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

TEST(AllocatorEnds, ALongWayInsideIsMoreThanAllocation) {
  Builder b;
  const uint32_t f[] = {b.at(""), b.at(""), b.at(""), b.at(""), b.at("")};
  static_assert(AllocatorEnds::kMaxInside == 4);
  const uint32_t wrapper = b.at("xmalloc");
  const uint32_t main = b.at("main");
  b.stack({f[0], f[1], f[2], f[3], wrapper, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 5u);
  b.stack({f[0], f[1], f[2], f[3], f[4], wrapper, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

// `main` is the caller of a wrapper that was inlined into it, and stays.
TEST(AllocatorEnds, AWrapperThatIsInlinedEndsWithItsCaller) {
  Builder b;
  const uint32_t pieces = b.at("");
  const uint32_t place = b.at("xmalloc");
  const uint32_t main = b.at("main");
  auto& lines = b.profile().locations[place].lines;
  lines.push_back(b.profile().locations[main].lines.front());
  b.stack({pieces, place}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

TEST(AllocatorEnds, NotAcrossCodeOfARuntime) {
  Builder b;
  const uint32_t leaf = b.at("");
  const uint32_t line = b.python("f", "f.py", 3);
  const uint32_t wrapper = b.at("xmalloc");
  b.stack({leaf, line, wrapper}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

}  // namespace
}  // namespace memprof::profile
