// SPDX-License-Identifier: Apache-2.0
// Aligned operators of C++, over an allocator that may have no function for aligned blocks.
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <new>

#include "truth.h"

int main() {
  constexpr std::align_val_t kAlign{256};
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    void* block = keep(::operator new(opaque(1000), kAlign));
    void* other = keep(::operator new(opaque(1000), kAlign, std::nothrow));
    for (void* p : {block, other}) {
      wrong += p == nullptr || reinterpret_cast<uintptr_t>(p) % 256 != 0;
    }
    ::operator delete(block, kAlign);
    ::operator delete(other, kAlign);
  }
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
