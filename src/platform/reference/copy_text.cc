// SPDX-License-Identifier: Apache-2.0
// copy_text of the seam (platform/memory.h), by read_memory: no more of it than to the end of a page at once, as the
// next page may not be there.
#include <string.h>

#include "platform/memory.h"

namespace memprof::platform {

bool copy_text(const char* text, char* copy, size_t size_bytes) {
  constexpr size_t kSmallestPage = 4096;  // the pages of all systems begin where such a one does
  size_t got = 0;
  while (got + 1 < size_bytes) {
    const auto address = reinterpret_cast<uintptr_t>(text) + got;
    const size_t in_page = kSmallestPage - address % kSmallestPage;
    const size_t wanted = size_bytes - 1 - got < in_page ? size_bytes - 1 - got : in_page;
    if (!read_memory(address, copy + got, wanted)) {
      return false;
    }
    if (memchr(copy + got, '\0', wanted) != nullptr) {
      return true;
    }
    got += wanted;
  }
  if (size_bytes != 0) {
    copy[got] = '\0';
  }
  return true;
}

}  // namespace memprof::platform
