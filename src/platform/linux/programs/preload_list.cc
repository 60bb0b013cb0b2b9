// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/programs/preload_list.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "platform/memory.h"

namespace memprof::platform {
namespace {

constexpr char kVariable[] = "LD_PRELOAD=";
constexpr size_t kVariableLength = sizeof(kVariable) - 1;
constexpr char kName[] = "libmemprof.so";
constexpr size_t kMaxEntries = size_t{1} << 20;  // far more than exec takes
constexpr size_t kMaxListBytes = 16 * 1024;      // of the loader's list

const char* g_own_library = "";

// nullptr behind the last one.  false: it cannot be read.
bool entry_at(char* const* environment, size_t index, char** entry) {
  return read_memory(reinterpret_cast<uintptr_t>(environment) + index * sizeof(char*), entry, sizeof(*entry));
}

bool is_preload(const char* entry) {
  char beginning[sizeof(kVariable)];
  return copy_text(entry, beginning, sizeof(beginning)) && strcmp(beginning, kVariable) == 0;
}

bool is_separator(char c) {
  return c == ':' || c == ' ';
}

bool is_ours(const char* library, size_t length) {
  if (length != 0 && length == strlen(g_own_library) && memcmp(library, g_own_library, length) == 0) {
    return true;
  }
  size_t name = length;
  while (name > 0 && library[name - 1] != '/') {
    --name;
  }
  return length - name >= sizeof(kName) - 1 && memcmp(library + name, kName, sizeof(kName) - 1) == 0;
}

// The list at `from`, with `instead` in the place of ours, at `to`, which is as much below it as `instead` is long.  Returns
// whether ours was there.
bool replace(const char* from, char* to, const char* instead) {
  bool is_there = false;
  char* const text = to;
  const auto append = [&](const char* library, size_t length) {
    if (length != 0) {
      if (to != text) {
        *to++ = ':';
      }
      memmove(to, library, length);
      to += length;
    }
  };
  while (*from != '\0') {
    const char* const library = from;
    while (*from != '\0' && !is_separator(*from)) {
      ++from;
    }
    const auto length = static_cast<size_t>(from - library);
    from += *from != '\0' ? 1 : 0;
    if (!is_ours(library, length)) {
      append(library, length);
    } else if (!is_there) {
      is_there = true;
      append(instead, strlen(instead));
    }
  }
  *to = '\0';
  return is_there;
}

struct ErrnoKept {
  int saved = errno;
  ~ErrnoKept() { errno = saved; }
};

// Pointers, then the list.  Returns its bytes, or 0.
size_t list_bytes(const char* entry) {
  for (size_t length = 0; length < kMaxListBytes;) {
    char part[256];
    if (!copy_text(entry + length, part, sizeof(part))) {
      return 0;
    }
    length += strlen(part);
    if (strlen(part) + 1 < sizeof(part)) {
      return length + 1;
    }
  }
  return 0;
}

}  // namespace

void set_own_library(const char* path) {
  g_own_library = path;
}

size_t environment_copy_bytes(char* const* environment, const char* instead) {
  const ErrnoKept kept;
  size_t list = 0;
  for (size_t i = 0; i < kMaxEntries; ++i) {
    char* entry = nullptr;
    if (!entry_at(environment, i, &entry)) {
      return 0;
    }
    if (entry == nullptr) {
      return list == 0 ? 0 : (i + 1) * sizeof(char*) + list + strlen(instead);
    }
    list = is_preload(entry) ? list_bytes(entry) : list;  // the loader takes the last one
  }
  return 0;
}

char* const* copy_environment(char* const* environment, void* memory, size_t size_bytes,
                              const char* instead) {
  const ErrnoKept kept;
  auto** const copy = static_cast<char**>(memory);
  size_t used = 0;
  for (size_t i = 0;; ++i) {
    char* entry = nullptr;
    if ((used + 1) * sizeof(char*) > size_bytes || !entry_at(environment, i, &entry)) {
      return environment;
    }
    if (entry == nullptr) {
      break;
    }
    copy[used++] = entry;
  }
  const size_t pointers = (used + 1) * sizeof(char*);
  copy[used] = nullptr;
  size_t at = used;
  while (at > 0 && !is_preload(copy[at - 1])) {
    --at;
  }
  char* const list = static_cast<char*>(memory) + pointers;
  const size_t before = pointers + strlen(instead);
  char* const given = static_cast<char*>(memory) + before;
  if (at == 0 || before >= size_bytes || !copy_text(copy[at - 1], given, size_bytes - before) ||
      strncmp(given, kVariable, kVariableLength) != 0) {
    return environment;
  }
  memmove(list, given, kVariableLength);
  if (!replace(given + kVariableLength, list + kVariableLength, instead)) {
    return environment;
  }
  --at;
  if (list[kVariableLength] != '\0') {
    copy[at] = list;
  } else {
    memmove(copy + at, copy + at + 1, (used - at) * sizeof(char*));
  }
  return copy;
}

}  // namespace memprof::platform
