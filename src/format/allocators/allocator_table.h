// SPDX-License-Identifier: Apache-2.0
// Which functions of allocators are known: the data of allocator_functions.cc.  A family is a list of functions and a line in
// kFamilies; docs/allocators.md says how one is added.
#pragma once

#include <cstdint>

namespace memprof {

// How a function is called, in letters: what it does, a colon, and a letter for each argument.
//   a allocates   t allocates or throws   r reallocates   q reallocates or throws   f frees
//   p posix_memalign   x xallocx   d destroys a heap   u usable size   v visits the blocks of a heap
//   g the heap that is used by default   m, n says what the allocator has, as mallctl and as gperftools do
//   in capitals: it calls another function of the allocator, so nothing is missed where it cannot be hooked itself
//   arguments: s size   S size, at most 1024   c count   l alignment   w old size   b block   h heap   o where the block is stored
//              - anything else, for which 0 may be given
struct AllocatorFunction {
  const char* name;
  const char* call;
};

// Of C, as any allocator may call them; after a prefix those of jemalloc.
inline constexpr AllocatorFunction kC[] = {
    {"malloc", "a:s"},
    {"calloc", "a:cs"},
    {"realloc", "r:bs"},
    {"free", "f:b"},
    {"cfree", "f:b"},
    {"memalign", "a:ls"},
    {"aligned_alloc", "a:ls"},
    {"valloc", "a:s"},
    {"pvalloc", "a:s"},
    {"posix_memalign", "p:ols"},
    {"free_sized", "f:bs"},
    {"free_aligned_sized", "f:bls"},
    {"reallocarray", "r:bcs"},
    {"mallocx", "a:s-"},
    {"rallocx", "r:bs-"},
    {"xallocx", "x:bs--"},
    {"dallocx", "f:b-"},
    {"sdallocx", "f:bs-"},
    {"malloc_usable_size", "u:b"},
    {"mallctl", "m:-----"},
};

// Of C++, in an executable.
inline constexpr AllocatorFunction kOperators[] = {
    {"_Znwm", "t:s"},
    {"_Znam", "t:s"},
    {"_ZnwmRKSt9nothrow_t", "a:s-"},
    {"_ZnamRKSt9nothrow_t", "a:s-"},
    {"_ZnwmSt11align_val_t", "t:sl"},
    {"_ZnamSt11align_val_t", "t:sl"},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", "a:sl-"},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", "a:sl-"},
    {"_ZdlPv", "f:b"},
    {"_ZdaPv", "f:b"},
    {"_ZdlPvm", "f:bs"},
    {"_ZdaPvm", "f:bs"},
    {"_ZdlPvRKSt9nothrow_t", "f:b-"},
    {"_ZdaPvRKSt9nothrow_t", "f:b-"},
    {"_ZdlPvSt11align_val_t", "f:bl"},
    {"_ZdaPvSt11align_val_t", "f:bl"},
    {"_ZdlPvmSt11align_val_t", "f:bsl"},
    {"_ZdaPvmSt11align_val_t", "f:bsl"},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", "f:bl-"},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", "f:bl-"},
};

// Functions of a library's own that a jemalloc of this prefix was inlined into, when all of the library was optimised as one:
// few calls come to jemalloc's own functions then.  Where these call those instead, a block counts once all the same.
struct AllocatorCaller {
  const char* prefix;
  AllocatorFunction function;
};
inline constexpr AllocatorCaller kCallers[] = {
    {"duckdb_je_", {"_ZN6duckdb9Allocator15DefaultAllocateEPNS_20PrivateAllocatorDataEm", "a:-s"}},
    {"duckdb_je_", {"_ZN6duckdb9Allocator11DefaultFreeEPNS_20PrivateAllocatorDataEPhm", "f:-bs"}},
    {"duckdb_je_", {"_ZN6duckdb9Allocator17DefaultReallocateEPNS_20PrivateAllocatorDataEPhmm", "r:-bws"}},
};
// All of them begin so: names of C++ are many, and only these are read further.
inline constexpr char kCallersBegin[] = "_ZN6duckdb9Allocator";

inline constexpr AllocatorFunction kMimalloc[] = {
    {"mi_malloc", "a:s"},
    {"mi_malloc_small", "a:S"},
    {"mi_zalloc", "a:s"},
    {"mi_zalloc_small", "a:S"},
    {"mi_calloc", "a:cs"},
    {"mi_mallocn", "a:cs"},
    {"mi_realloc", "r:bs"},
    {"mi_reallocf", "r:bs"},
    {"mi_reallocn", "r:bcs"},
    {"mi_reallocarray", "R:bcs"},
    {"mi_rezalloc", "r:bs"},
    {"mi_recalloc", "r:bcs"},
    {"mi_free", "f:b"},
    {"mi_cfree", "F:b"},
    {"mi_free_size", "F:bs"},
    {"mi_free_size_aligned", "F:bsl"},
    {"mi_free_aligned", "F:bl"},
    {"mi_malloc_aligned", "a:sl"},
    {"mi_malloc_aligned_at", "a:sl-"},
    {"mi_zalloc_aligned", "a:sl"},
    {"mi_zalloc_aligned_at", "a:sl-"},
    {"mi_calloc_aligned", "a:csl"},
    {"mi_calloc_aligned_at", "a:csl-"},
    {"mi_realloc_aligned", "r:bsl"},
    {"mi_realloc_aligned_at", "r:bsl-"},
    {"mi_rezalloc_aligned", "r:bsl"},
    {"mi_rezalloc_aligned_at", "r:bsl-"},
    {"mi_recalloc_aligned", "r:bcsl"},
    {"mi_recalloc_aligned_at", "r:bcsl-"},
    {"mi_new", "t:s"},
    {"mi_new_n", "t:cs"},
    {"mi_new_aligned", "t:sl"},
    {"mi_new_nothrow", "a:s"},
    {"mi_new_aligned_nothrow", "a:sl"},
    {"mi_new_realloc", "q:bs"},
    {"mi_new_reallocn", "q:bcs"},
    {"mi_memalign", "a:ls"},
    {"mi_aligned_alloc", "a:ls"},
    {"mi_posix_memalign", "p:ols"},
    {"mi_valloc", "A:s"},
    {"mi_pvalloc", "A:s"},
    {"mi_heap_malloc", "a:hs"},
    {"mi_heap_malloc_small", "a:hS"},
    {"mi_heap_zalloc", "a:hs"},
    {"mi_heap_calloc", "a:hcs"},
    {"mi_heap_mallocn", "a:hcs"},
    {"mi_heap_realloc", "r:hbs"},
    {"mi_heap_reallocf", "r:hbs"},
    {"mi_heap_reallocn", "r:hbcs"},
    {"mi_heap_rezalloc", "r:hbs"},
    {"mi_heap_recalloc", "r:hbcs"},
    {"mi_heap_malloc_aligned", "a:hsl"},
    {"mi_heap_malloc_aligned_at", "a:hsl-"},
    {"mi_heap_zalloc_aligned", "a:hsl"},
    {"mi_heap_zalloc_aligned_at", "a:hsl-"},
    {"mi_heap_calloc_aligned", "a:hcsl"},
    {"mi_heap_calloc_aligned_at", "a:hcsl-"},
    {"mi_heap_realloc_aligned", "r:hbsl"},
    {"mi_heap_realloc_aligned_at", "r:hbsl-"},
    {"mi_heap_rezalloc_aligned", "r:hbsl"},
    {"mi_heap_alloc_new", "t:hs"},
    {"mi_heap_alloc_new_n", "t:hcs"},
    {"mi_theap_malloc", "a:hs"},
    {"mi_theap_zalloc", "a:hs"},
    {"mi_theap_calloc", "a:hcs"},
    {"mi_theap_realloc", "r:hbs"},
    {"mi_theap_malloc_aligned", "a:hsl"},
    {"mi_heap_destroy", "d:h"},
    {"mi_heap_visit_blocks", "v:h---"},
    {"mi_heap_get_default", "g:"},
    {"mi_usable_size", "u:b"},
};

inline constexpr AllocatorFunction kTcmalloc[] = {
    {"tc_malloc", "a:s"},
    {"tc_malloc_skip_new_handler", "a:s"},
    {"tc_calloc", "a:cs"},
    {"tc_realloc", "r:bs"},
    {"tc_free", "f:b"},
    {"tc_free_sized", "f:bs"},
    {"tc_cfree", "F:b"},
    {"tc_memalign", "a:ls"},
    {"tc_posix_memalign", "p:ols"},
    {"tc_valloc", "a:s"},
    {"tc_pvalloc", "a:s"},
    {"tc_new", "t:s"},
    {"tc_newarray", "t:s"},
    {"tc_new_nothrow", "a:s-"},
    {"tc_newarray_nothrow", "a:s-"},
    {"tc_new_aligned", "t:sl"},
    {"tc_newarray_aligned", "t:sl"},
    {"tc_new_aligned_nothrow", "a:sl-"},
    {"tc_newarray_aligned_nothrow", "a:sl-"},
    {"tc_delete", "f:b"},
    {"tc_deletearray", "f:b"},
    {"tc_delete_sized", "f:bs"},
    {"tc_deletearray_sized", "f:bs"},
    {"tc_delete_nothrow", "f:b-"},
    {"tc_deletearray_nothrow", "f:b-"},
    {"tc_delete_aligned", "f:bl"},
    {"tc_deletearray_aligned", "f:bl"},
    {"tc_delete_sized_aligned", "f:bsl"},
    {"tc_deletearray_sized_aligned", "f:bsl"},
    {"tc_delete_aligned_nothrow", "f:bl-"},
    {"tc_deletearray_aligned_nothrow", "f:bl-"},
    {"tc_malloc_size", "u:b"},
    {"MallocExtension_GetNumericProperty", "n:--"},
    // the newer one, without gperftools
    {"TCMallocInternalMalloc", "a:s"},
    {"TCMallocInternalCalloc", "a:cs"},
    {"TCMallocInternalRealloc", "r:bs"},
    {"TCMallocInternalFree", "f:b"},
    {"TCMallocInternalCfree", "f:b"},
    {"TCMallocInternalSdallocx", "f:bs-"},
    {"TCMallocInternalFreeSized", "f:bs"},
    {"TCMallocInternalFreeAlignedSized", "f:bls"},
    {"TCMallocInternalMemalign", "a:ls"},
    {"TCMallocInternalAlignedAlloc", "a:ls"},
    {"TCMallocInternalPosixMemalign", "p:ols"},
    {"TCMallocInternalValloc", "a:s"},
    {"TCMallocInternalPvalloc", "a:s"},
    {"TCMallocInternalNew", "t:s"},
    {"TCMallocInternalNewArray", "t:s"},
    {"TCMallocInternalNewNothrow", "a:s-"},
    {"TCMallocInternalNewArrayNothrow", "a:s-"},
    {"TCMallocInternalNewAligned", "t:sl"},
    {"TCMallocInternalNewAlignedNothrow", "a:sl-"},
    {"TCMallocInternalNewArrayAligned", "t:sl"},
    {"TCMallocInternalNewArrayAlignedNothrow", "a:sl-"},
    {"TCMallocInternalDelete", "f:b"},
    {"TCMallocInternalDeleteSized", "f:bs"},
    {"TCMallocInternalDeleteArray", "f:b"},
    {"TCMallocInternalDeleteArraySized", "f:bs"},
    {"TCMallocInternalDeleteAligned", "f:bl"},
    {"TCMallocInternalDeleteSizedAligned", "f:bsl"},
    {"TCMallocInternalDeleteArrayAligned", "f:bl"},
    {"TCMallocInternalDeleteArraySizedAligned", "f:bsl"},
    {"TCMallocInternalMallocSize", "u:b"},
};

// A `#[global_allocator]`.  In new compilers' names these words are the end of a longer one.  Where the allocator is
// malloc's, or one that is hooked itself, they are left to that one.
inline constexpr AllocatorFunction kRust[] = {
    {"__rg_alloc", "a:sl"},        {"__rg_dealloc", "f:bsl"},       {"__rg_realloc", "r:bwls"},
    {"__rg_alloc_zeroed", "a:sl"}, {"__rust_alloc", "a:sl"},        {"__rust_dealloc", "f:bsl"},
    {"__rust_realloc", "r:bwls"},  {"__rust_alloc_zeroed", "a:sl"},
};

inline constexpr AllocatorFunction kSnmalloc[] = {
    {"sn_malloc", "a:s"},
    {"sn_calloc", "a:cs"},
    {"sn_realloc", "r:bs"},
    {"sn_free", "f:b"},
    {"sn_cfree", "f:b"},
    {"sn_memalign", "a:ls"},
    {"sn_aligned_alloc", "a:ls"},
    {"sn_posix_memalign", "p:ols"},
    {"sn_reallocarray", "r:bcs"},
    {"sn_rust_alloc", "a:ls"},
    {"sn_rust_alloc_zeroed", "a:ls"},
    {"sn_rust_realloc", "r:blws"},
    {"sn_rust_dealloc", "f:bls"},
    {"sn_malloc_usable_size", "u:b"},
};

inline constexpr AllocatorFunction kRpmalloc[] = {
    {"rpmalloc", "a:s"},
    {"rpzalloc", "a:s"},
    {"rpcalloc", "a:cs"},
    {"rprealloc", "r:bs"},
    {"rpfree", "f:b"},
    {"rpaligned_alloc", "a:ls"},
    {"rpaligned_zalloc", "a:ls"},
    {"rpaligned_calloc", "a:lcs"},
    {"rpaligned_realloc", "r:blsw-"},
    {"rpmemalign", "a:ls"},
    {"rpposix_memalign", "p:ols"},
    {"rpmalloc_usable_size", "u:b"},
};

inline constexpr AllocatorFunction kDlmalloc[] = {
    {"dlmalloc", "a:s"},
    {"dlcalloc", "a:cs"},
    {"dlrealloc", "r:bs"},
    {"dlfree", "f:b"},
    {"dlmemalign", "a:ls"},
    {"dlvalloc", "a:s"},
    {"dlposix_memalign", "p:ols"},
    {"dlpvalloc", "a:s"},
    {"dlmalloc_usable_size", "u:b"},
};

struct AllocatorFamily {
  const char* name;
  const char* marker;  // a name that only it has
  const AllocatorFunction* functions;
  uint32_t count;
};
template <uint32_t N>
constexpr AllocatorFamily family(const char* name, const char* marker,
                                 const AllocatorFunction (&functions)[N]) {
  return {name, marker, functions, N};
}
inline constexpr AllocatorFamily kFamilies[] = {
    family("mimalloc", "mi_malloc", kMimalloc), family("tcmalloc", "tc_malloc", kTcmalloc),
    family("snmalloc", "sn_malloc", kSnmalloc), family("rpmalloc", "rpmalloc", kRpmalloc),
    family("dlmalloc", "dlmalloc", kDlmalloc),  family("tcmalloc", "TCMallocInternalMalloc", kTcmalloc),
};
inline constexpr char kJemalloc[] = "jemalloc";
inline constexpr char kRustName[] = "Rust's allocator";
inline constexpr char kMalloc[] = "malloc";
inline constexpr const char* kJemallocMarkers[] = {"mallocx", "rallocx", "dallocx", "mallctl"};
// jemalloc, where the linker left out what shows it.
inline constexpr const char* kJemallocPrefixes[] = {"je_", "_rjem_", "duckdb_je_", "je_arrow_", "_rjem_je_"};
// Functions, exported or not, that map an allocator's memory: where what the program calls ends in a jump to other code, one of
// these is still on the stack.  `after_prefix`: behind the allocator's prefix, and "je_" or not.
struct MappingFunction {
  const char* family;
  const char* name;
  bool after_prefix;
};
inline constexpr MappingFunction kMappingFunctions[] = {
    {kJemalloc, "pages_map", true},
    {kJemalloc, "extent_alloc_mmap", true},
    {kJemalloc, "extent_alloc_dss", true},
    {kJemalloc, "os_pages_map", false},
    {kJemalloc, "pages_map_slow", false},
    {"mimalloc", "_mi_malloc_generic", false},
    {"mimalloc", "_mi_prim_alloc", false},
    {"mimalloc", "_mi_os_alloc", false},
    {"mimalloc", "_mi_os_alloc_aligned", false},
    {"mimalloc", "unix_mmap", false},
    {"tcmalloc", "_Z20TCMalloc_SystemAllocmPmm", false},
};
inline constexpr const char* kExcluded[] = {"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init",
                                            "memprof_init"};

}  // namespace memprof
