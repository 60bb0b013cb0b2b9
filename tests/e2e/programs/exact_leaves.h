// SPDX-License-Identifier: Apache-2.0
// Each function's direct caller is the leaf of its stack, for programs/exact.cc.
#pragma once

#include <dlfcn.h>
#include <malloc.h>

#include <new>
#include <string>

#include "exact_records.h"

namespace {

const char* leaf_of(void* block) {
  Dl_info info{};
  const uint64_t leaf = known(reinterpret_cast<uintptr_t>(block)).leaf;
  return dladdr(reinterpret_cast<void*>(leaf - 1), &info) != 0 && info.dli_sname != nullptr ? info.dli_sname
                                                                                            : "?";
}

SITE void* leaf_malloc() {
  return keep(malloc(opaque(50)));
}
SITE void* leaf_calloc() {
  return keep(calloc(5, opaque(10)));
}
SITE void* leaf_realloc() {
  return keep(realloc(nullptr, opaque(50)));
}
SITE void* leaf_reallocarray() {
  return keep(reallocarray(nullptr, 5, opaque(10)));
}
SITE void* leaf_posix_memalign() {
  void* p = nullptr;
  CHECK(posix_memalign(&p, 64, opaque(50)) == 0);
  return keep(p);
}
SITE void* leaf_aligned_alloc() {
  return keep(aligned_alloc(64, opaque(64)));
}
SITE void* leaf_memalign() {
  return keep(memalign(64, opaque(50)));
}
SITE void* leaf_valloc() {
  return keep(valloc(opaque(50)));
}
SITE void* leaf_pvalloc() {
  return keep(pvalloc(opaque(50)));
}
SITE void* leaf_new() {
  return keep(::operator new(opaque(50)));
}
SITE void* leaf_new_array() {
  return keep(::operator new[](opaque(50)));
}
SITE void* leaf_new_nothrow() {
  return keep(::operator new(opaque(50), std::nothrow));
}
SITE void* leaf_new_array_nothrow() {
  return keep(::operator new[](opaque(50), std::nothrow));
}
SITE void* leaf_new_aligned() {
  return keep(::operator new(opaque(50), kAlign));
}
SITE void* leaf_new_array_aligned() {
  return keep(::operator new[](opaque(50), kAlign));
}
SITE void* leaf_new_aligned_nothrow() {
  return keep(::operator new(opaque(50), kAlign, std::nothrow));
}
SITE void* leaf_new_array_aligned_nothrow() {
  return keep(::operator new[](opaque(50), kAlign, std::nothrow));
}

void leaves() {
  start();
  struct {
    const char* name;
    void* (*site)();
  } const sites[] = {
#define NAMED(site) {#site, site}
      NAMED(leaf_malloc),
      NAMED(leaf_calloc),
      NAMED(leaf_realloc),
      NAMED(leaf_reallocarray),
      NAMED(leaf_posix_memalign),
      NAMED(leaf_aligned_alloc),
      NAMED(leaf_memalign),
      NAMED(leaf_valloc),
      NAMED(leaf_pvalloc),
      NAMED(leaf_new),
      NAMED(leaf_new_array),
      NAMED(leaf_new_nothrow),
      NAMED(leaf_new_array_nothrow),
      NAMED(leaf_new_aligned),
      NAMED(leaf_new_array_aligned),
      NAMED(leaf_new_aligned_nothrow),
      NAMED(leaf_new_array_aligned_nothrow)};
  for (const auto& site : sites) {
    const std::string leaf = leaf_of(site.site());
    if (leaf != site.name) {
      fprintf(stderr, "the leaf of %s is %s\n", site.name, leaf.c_str());
      ++g_failures;
    }
  }
}

}  // namespace
