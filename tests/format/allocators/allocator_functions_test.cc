// SPDX-License-Identifier: Apache-2.0
#include "format/allocators/allocator_functions.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace memprof {
namespace {

// What is found of a name in a module that has these, too.
struct Found {
  std::string allocator;  // family, and prefix
  AllocatorSignature signature;
};
Found find(const char* name, std::initializer_list<const char*> others, bool is_program) {
  AllocatorNames names(is_program);
  names.note(name);
  for (const char* other : others) {
    names.note(other);
  }
  Found found;
  const int i = names.match(name, &found.signature);
  if (i >= 0) {
    found.allocator =
        std::string(names[static_cast<uint32_t>(i)].family) + " " + names[static_cast<uint32_t>(i)].prefix;
  }
  return found;
}

TEST(AllocatorFunctions, NamesThatNeedNoSecondLook) {
  AllocatorNames names(true);
  EXPECT_TRUE(names.note("malloc"));
  EXPECT_TRUE(names.note("_Znwm"));
  EXPECT_TRUE(names.note("_RNvCsc47_7___rustc11___rg_alloc"));
  AllocatorSignature signature;
  for (const char* name : {"_ZN2v87Context3NewEPNS_7IsolateE", "_RNvCsc47_5alloc5alloc", "_RNvXs_3std"}) {
    EXPECT_FALSE(names.note(name)) << name;
    EXPECT_EQ(names.match(name, &signature), -1) << name;
  }
}

TEST(AllocatorFunctions, JemallocWithAnyPrefix) {
  EXPECT_EQ(find("_rjem_malloc", {}, false).allocator, "jemalloc _rjem_");
  EXPECT_EQ(find("je_arrow_calloc", {"je_arrow_mallocx"}, false).allocator, "jemalloc je_arrow_");
  EXPECT_EQ(find("zzz_free", {"zzz_sdallocx"}, false).allocator, "jemalloc zzz_");
  EXPECT_EQ(find("zzz_free", {}, false).allocator, "");
  EXPECT_EQ(find("malloc", {"mallocx"}, true).allocator, "jemalloc ");
  // A library's malloc is called through import tables, where it is seen.
  EXPECT_EQ(find("malloc", {"mallocx"}, false).allocator, "");
  EXPECT_EQ(find("_ZN3foo7mallocxEv", {}, true).allocator, "");
  EXPECT_EQ(find("_rjem_malloc_stats_print", {}, false).allocator, "");
}

TEST(AllocatorFunctions, CallersThatItWasInlinedInto) {
  const char* const allocate = "_ZN6duckdb9Allocator15DefaultAllocateEPNS_20PrivateAllocatorDataEm";
  const Found found = find(allocate, {"duckdb_je_malloc"}, false);
  EXPECT_EQ(found.allocator, "jemalloc duckdb_je_");
  EXPECT_EQ(found.signature.call, AllocatorCall::kAllocate);
  EXPECT_EQ(found.signature.size, 1);
  EXPECT_EQ(find(allocate, {}, false).allocator, "") << "built without jemalloc: it calls malloc";
  EXPECT_EQ(find(allocate, {"other_mallocx"}, false).allocator, "");
  EXPECT_EQ(find("_ZN6duckdb9Allocator8FreeDataEPhm", {"duckdb_je_malloc"}, false).allocator, "");
  const Found moved = find("_ZN6duckdb9Allocator17DefaultReallocateEPNS_20PrivateAllocatorDataEPhmm",
                           {"duckdb_je_malloc"}, false);
  EXPECT_EQ(moved.signature.block, 1);
  EXPECT_EQ(moved.signature.old_size, 2);
  EXPECT_EQ(moved.signature.size, 3);
}

TEST(AllocatorFunctions, Families) {
  EXPECT_EQ(find("mi_heap_malloc_aligned", {}, false).allocator, "mimalloc ");
  EXPECT_EQ(find("tc_newarray", {}, false).allocator, "tcmalloc ");
  EXPECT_EQ(find("TCMallocInternalFree", {}, false).allocator, "tcmalloc ");
  EXPECT_EQ(find("sn_rust_realloc", {}, false).allocator, "snmalloc ");
  EXPECT_EQ(find("rpaligned_realloc", {}, false).allocator, "rpmalloc ");
  EXPECT_EQ(find("dlmemalign", {}, false).allocator, "dlmalloc ");
  EXPECT_EQ(find("__rg_alloc", {}, false).allocator, "Rust's allocator ");
  EXPECT_EQ(find("_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", {}, false).allocator, "Rust's allocator ");
  EXPECT_EQ(find("_RNvCsfLfy6EI15iL_7___rustc26___rust_alloc_error_handler", {}, false).allocator, "");
  EXPECT_EQ(find("_RNvC7___rustc12___rust_alloc", {}, false).allocator, "Rust's allocator ");
  EXPECT_EQ(find("_RNvCs1_7___rustc", {}, false).allocator, "");
  EXPECT_EQ(find("_RNvCsf", {}, false).allocator, "");
  EXPECT_EQ(find("_RNvNtCsfLfy6EI15iL_7___rustc5alloc12___rust_alloc", {}, false).allocator, "");
  EXPECT_EQ(find("_R", {}, false).allocator, "");
  EXPECT_EQ(find("strdup", {}, true).allocator, "");
}

TEST(AllocatorFunctions, MallocOfAProgramIsThatOfTheFamilyInIt) {
  EXPECT_EQ(find("malloc", {"free"}, true).allocator, "malloc ");
  EXPECT_EQ(find("malloc", {"tc_malloc"}, true).allocator, "tcmalloc ");
  EXPECT_EQ(find("_ZdlPvm", {"mi_malloc"}, true).allocator, "mimalloc ");
  EXPECT_EQ(find("_ZdlPvm", {"mi_malloc"}, false).allocator, "");
}

TEST(AllocatorFunctions, Signatures) {
  AllocatorSignature s = find("calloc", {}, true).signature;
  EXPECT_EQ(s.call, AllocatorCall::kAllocate);
  EXPECT_EQ(s.count, 0);
  EXPECT_EQ(s.size, 1);
  EXPECT_EQ(s.block, kNoArgument);
  EXPECT_EQ(s.arguments, 2);
  s = find("__rust_realloc", {}, true).signature;
  EXPECT_EQ(s.call, AllocatorCall::kReallocate);
  EXPECT_EQ(s.block, 0);
  EXPECT_EQ(s.old_size, 1);
  EXPECT_EQ(s.alignment, 2);
  EXPECT_EQ(s.size, 3);
  s = find("posix_memalign", {}, true).signature;
  EXPECT_EQ(s.call, AllocatorCall::kAllocateInto);
  EXPECT_EQ(s.result, 0);
  EXPECT_EQ(s.size, 2);
  s = find("mi_heap_realloc_aligned_at", {}, true).signature;
  EXPECT_EQ(s.heap, 0);
  EXPECT_EQ(s.block, 1);
  EXPECT_EQ(s.size, 2);
  EXPECT_EQ(s.arguments, 5);
  EXPECT_EQ(find("_Znwm", {}, true).signature.call, AllocatorCall::kThrowingAllocate);
  EXPECT_TRUE(find("mi_cfree", {}, true).signature.calls_another);
  EXPECT_FALSE(find("mi_free", {}, true).signature.calls_another);
  EXPECT_TRUE(find("mi_malloc_small", {}, true).signature.is_small);
}

TEST(AllocatorFunctions, SanitizersAndMemprofAreLeftAlone) {
  for (const char* name : {"__asan_init", "__tsan_init", "memprof_init"}) {
    AllocatorNames names(true);
    names.note("malloc");
    EXPECT_FALSE(names.is_excluded());
    names.note(name);
    EXPECT_TRUE(names.is_excluded()) << name;
  }
}

TEST(AllocatorFunctions, FunctionsThatMapMemory) {
  AllocatorNames names(true);
  const std::initializer_list<const char*> all = {"_rjem_mallocx", "_rjem_malloc", "mallocx",
                                                  "malloc",        "mi_malloc",    "tc_malloc"};
  for (const char* name : all) names.note(name);
  const auto found = [&](const char* name) -> std::string {
    const int i = names.mapped_for(name);
    if (!AllocatorNames::may_map(name)) return i < 0 ? "never" : "wrong";
    return i < 0 ? "none"
                 : std::string(names[static_cast<uint32_t>(i)].family) + " " +
                       names[static_cast<uint32_t>(i)].prefix;
  };
  EXPECT_EQ(found("_rjem_je_pages_map"), "none") << "no allocator was found yet";
  AllocatorSignature signature;
  for (const char* name : all) names.match(name, &signature);
  EXPECT_EQ(found("_rjem_je_pages_map"), "jemalloc _rjem_");
  EXPECT_EQ(found("_rjem_pages_map"), "jemalloc _rjem_");
  EXPECT_EQ(found("je_extent_alloc_mmap"), "jemalloc ");
  EXPECT_EQ(found("os_pages_map.constprop.0"), "jemalloc _rjem_");
  EXPECT_EQ(found("_mi_prim_alloc"), "mimalloc ");
  EXPECT_EQ(found("_Z20TCMalloc_SystemAllocmPmm"), "tcmalloc ");
  EXPECT_EQ(found("other_pages_map"), "none");
  EXPECT_EQ(found("pages_map"), "none");
  EXPECT_EQ(found("my_os_pages_map2"), "never");
  EXPECT_EQ(found("x_mi_prim_alloc"), "never");
  EXPECT_EQ(found("malloc"), "never");
  EXPECT_EQ(found(".map"), "never");
}

TEST(AllocatorFunctions, MoreThanThereIsRoomFor) {
  AllocatorNames names(false);
  for (int i = 0; i < 20; ++i) {
    names.note(("p" + std::to_string(i) + "_mallocx").c_str());
  }
  AllocatorSignature s;
  int found = 0;
  for (int i = 0; i < 20; ++i) {
    found += names.match(("p" + std::to_string(i) + "_malloc").c_str(), &s) >= 0;
  }
  EXPECT_EQ(found, static_cast<int>(AllocatorNames::kMax));
  const std::string longest(1000, 'x');
  names.note((longest + "mallocx").c_str());
  EXPECT_EQ(names.match((longest + "malloc").c_str(), &s), -1);
}

}  // namespace
}  // namespace memprof
