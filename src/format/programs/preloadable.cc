// SPDX-License-Identifier: Apache-2.0
#include "format/programs/preloadable.h"

#include <cstring>

namespace memprof {
namespace {

bool begins_with(const char* text, const char* beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

const char* file_name(const char* path) {
  const char* name = path;
  for (const char* c = path; *c != '\0'; ++c) {
    name = *c == '/' ? c + 1 : name;
  }
  return name;
}

// glibc's names on all processors, of old versions, and of the Linux Standard Base.
bool is_of_glibc(const char* name) {
  static constexpr const char* kLoaders[] = {"ld-linux", "ld-2.", "ld.so", "ld64.so", "ld-lsb"};
  for (const char* const known : kLoaders) {
    if (begins_with(name, known)) {
      return true;
    }
  }
  return false;
}

}  // namespace

const Sanitizer* sanitizer_of_library(const char* path) {
  const char* const name = file_name(path);
  for (const Sanitizer& sanitizer : kSanitizers) {
    for (const char* library : sanitizer.libraries) {
      if (begins_with(name, library)) {
        return &sanitizer;
      }
    }
  }
  return nullptr;
}

const Sanitizer* sanitizer_of_symbol(const char* symbol) {
  for (const Sanitizer& sanitizer : kSanitizers) {
    if (strcmp(symbol, sanitizer.init) == 0) {
      return &sanitizer;
    }
  }
  return nullptr;
}

Libc libc_of_loader(const char* path) {
  const char* const name = file_name(path);
  return begins_with(name, "ld-musl-") ? Libc::kMusl : is_of_glibc(name) ? Libc::kGlibc : Libc::kOther;
}

}  // namespace memprof
