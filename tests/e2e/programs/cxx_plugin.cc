// SPDX-License-Identifier: Apache-2.0
// A C++ library for a C program (local_plugin.c): new, delete, exceptions, standard containers.
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "truth.h"

namespace {
void* g_kept;
}

SITE void* plugin_new() {
  return keep(::operator new(opaque(4001)));
}

// 0: all is as it should be.
extern "C" __attribute__((visibility("default"))) int plugin_work() {
  g_kept = plugin_new();
  for (int i = 0; i < 10; ++i) ::operator delete(plugin_new());
  std::map<std::string, std::vector<int>> map;
  for (int i = 0; i < 1000; ++i)
    map[std::to_string(i) + " a key that is too long to be kept in place"].resize(100, i);
  try {
    keep(::operator new(opaque(SIZE_MAX / 4)));
    return 1;
  } catch (const std::bad_alloc&) {
  }
  try {
    keep(new std::vector<int>(opaque(PTRDIFF_MAX / 8)));
    return 2;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  try {
    map.at("no such key");
    return 3;
  } catch (const std::out_of_range&) {
  }
  return ::operator new(opaque(SIZE_MAX / 4), std::nothrow) == nullptr ? 0 : 4;
}
