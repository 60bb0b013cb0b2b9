// SPDX-License-Identifier: Apache-2.0
// Pairs of malloc and free of 64 bytes, by the allocator that is linked into the program.  Called by inline_hooks.sh.
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const long pairs = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  for (long i = 0; i < pairs; ++i) {
    void* volatile block = std::malloc(64);
    std::free(block);
  }
  std::printf("%ld\n", pairs);
}
