// SPDX-License-Identifier: Apache-2.0
// Every function that allocates with every one that frees what it gave, for programs/exact.cc.
#pragma once

#include <dlfcn.h>
#include <malloc.h>

#include <new>

#include "exact_records.h"

#ifdef EXACT_API
// Where memprof is not in front, an older C library has neither.
extern "C" void free_sized(void* block, size_t) {
  free(block);
}
extern "C" void free_aligned_sized(void* block, size_t, size_t) {
  free(block);
}
#endif

namespace {

struct Source {
  const char* name;
  void* (*allocate)(size_t size);
  bool is_aligned;
};

const Source kMallocs[] = {
    {"malloc", [](size_t n) { return malloc(n); }, false},
    {"calloc", [](size_t n) { return calloc(1, n); }, false},
    {"realloc(NULL)", [](size_t n) { return realloc(nullptr, n); }, false},
    {"realloc", [](size_t n) { return realloc(malloc(opaque(24)), n); }, false},
    {"reallocarray", [](size_t n) { return reallocarray(nullptr, 1, n); }, false},
    {"posix_memalign",
     [](size_t n) {
       void* p = nullptr;
       return posix_memalign(&p, 64, n) == 0 ? p : nullptr;
     },
     true},
    {"aligned_alloc", [](size_t n) { return aligned_alloc(64, n); }, true},
    {"memalign", [](size_t n) { return memalign(64, n); }, true},
    {"valloc", [](size_t n) { return valloc(n); }, true},
    // jemalloc has none, so that free of its blocks crashes, with memprof and without.
    {"pvalloc", [](size_t n) { return getenv("NO_PVALLOC") == nullptr ? pvalloc(n) : valloc(n); }, true},
};

struct Sink {
  const char* name;
  void (*release)(void* block, size_t size);
};

template <typename Function>
Function symbol(const char* name) {
  const auto found = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  if (found == nullptr) die(name);
  return found;
}

const Sink kFrees[] = {
    {"free", [](void* p, size_t) { free(p); }},
    {"free_sized", [](void* p, size_t n) { symbol<void (*)(void*, size_t)>("free_sized")(p, n); }},
    {"free_aligned_sized",
     [](void* p, size_t n) { symbol<void (*)(void*, size_t, size_t)>("free_aligned_sized")(p, 64, n); }},
    {"realloc to 0", [](void* p, size_t) { free(realloc(p, opaque(0))); }},
    {"realloc and free", [](void* p, size_t n) { free(realloc(p, n * 100)); }},
    {"reallocarray and free", [](void* p, size_t n) { free(reallocarray(p, n, 3)); }},
    {"realloc smaller and free", [](void* p, size_t) { free(realloc(p, opaque(5))); }},
};

const Source kNews[] = {
    {"new", [](size_t n) { return ::operator new(n); }, false},
    {"new nothrow", [](size_t n) { return ::operator new(n, std::nothrow); }, false},
};
const Sink kDeletes[] = {
    {"delete", [](void* p, size_t) { ::operator delete(p); }},
    {"delete sized", [](void* p, size_t n) { ::operator delete(p, n); }},
    {"delete nothrow", [](void* p, size_t) { ::operator delete(p, std::nothrow); }},
};
const Source kArrayNews[] = {
    {"new[]", [](size_t n) { return ::operator new[](n); }, false},
    {"new[] nothrow", [](size_t n) { return ::operator new[](n, std::nothrow); }, false},
};
const Sink kArrayDeletes[] = {
    {"delete[]", [](void* p, size_t) { ::operator delete[](p); }},
    {"delete[] sized", [](void* p, size_t n) { ::operator delete[](p, n); }},
    {"delete[] nothrow", [](void* p, size_t) { ::operator delete[](p, std::nothrow); }},
};
const Source kAlignedNews[] = {
    {"new aligned", [](size_t n) { return ::operator new(n, kAlign); }, true},
    {"new aligned nothrow", [](size_t n) { return ::operator new(n, kAlign, std::nothrow); }, true},
};
const Sink kAlignedDeletes[] = {
    {"delete aligned", [](void* p, size_t) { ::operator delete(p, kAlign); }},
    {"delete sized aligned", [](void* p, size_t n) { ::operator delete(p, n, kAlign); }},
    {"delete aligned nothrow", [](void* p, size_t) { ::operator delete(p, kAlign, std::nothrow); }},
};
const Source kAlignedArrayNews[] = {
    {"new[] aligned", [](size_t n) { return ::operator new[](n, kAlign); }, true},
    {"new[] aligned nothrow", [](size_t n) { return ::operator new[](n, kAlign, std::nothrow); }, true},
};
const Sink kAlignedArrayDeletes[] = {
    {"delete[] aligned", [](void* p, size_t) { ::operator delete[](p, kAlign); }},
    {"delete[] sized aligned", [](void* p, size_t n) { ::operator delete[](p, n, kAlign); }},
    {"delete[] aligned nothrow", [](void* p, size_t) { ::operator delete[](p, kAlign, std::nothrow); }},
};

template <size_t kSources, size_t kSinks>
void pair_up(const Source (&sources)[kSources], const Sink (&sinks)[kSinks]) {
  for (const Source& source : sources) {
    for (const Sink& sink : sinks) {
      const size_t size = opaque(640);
      void* block = keep(source.allocate(size));
      const auto address = reinterpret_cast<uintptr_t>(block);
      const uint64_t recorded = size_of(block);
      if (source.is_aligned) CHECK(address % 64 == 0);
      sink.release(block, size);
      if (recorded != size || known(address).size != kNoRecord) {
        fprintf(stderr, "%s, then %s: %lld recorded, %lld after\n", source.name, sink.name,
                static_cast<long long>(recorded), static_cast<long long>(known(address).size));
        ++g_failures;
      }
    }
  }
}

void pairings() {
  start();
  const uint64_t before = live_records();
  pair_up(kMallocs, kFrees);
  pair_up(kNews, kDeletes);
  pair_up(kArrayNews, kArrayDeletes);
  pair_up(kAlignedNews, kAlignedDeletes);
  pair_up(kAlignedArrayNews, kAlignedArrayDeletes);
  CHECK(live_records() == before);
  const memprof_stats s = stats();
  CHECK(s.replaced_samples == 0 && s.dropped_samples == 0);
}

}  // namespace
