// SPDX-License-Identifier: Apache-2.0
// A program whose own operators lie in the same unit as their callers (-DONE_UNIT), or are linked with them by -flto: the
// compiler then keeps values in the registers that they leave alone, and need not align the stack.  Prints sums of such values.
// Called by trusting_callers_test.py: `trusting_callers ROUNDS`; with "attach", it says "ready" and makes a round for each line
// that it reads.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(ONE_UNIT)
#include "trusted_allocator.cc"
#endif

void start_again();

namespace {

struct Big {
  int v[20];
};
constexpr int kBlocks = 2000;
Big* volatile g_all[kBlocks];

__attribute__((noinline)) void make_round() {
  start_again();
  unsigned long sum = 0, a = 3, b = 5, c = 7, d = 9;
  double x = 1, y = 2, z = 3;
  for (int i = 0; i < kBlocks; ++i) {
    g_all[i] = new Big;
    a += b ^ static_cast<unsigned long>(i);
    b += c;
    c ^= d;
    d += static_cast<unsigned long>(i);
    sum += a + c;
    x = x * 0.5 + y * 0.25;
    y = y * 0.25 + z * 0.5;
    z = z * 0.125 + x * 0.25 + 1;
  }
  for (int i = 0; i < kBlocks; ++i) {
    delete g_all[i];
    sum += a ^ static_cast<unsigned long>(i);
    x += y * z;
  }
  std::printf("%lu %.17g\n", sum + a + b + c + d, x + y + z);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "attach") == 0) {
    std::puts("ready");
    std::fflush(stdout);
    char line[16];
    while (std::fgets(line, sizeof(line), stdin) != nullptr) {
      make_round();
    }
    std::puts("ok");
    return 0;
  }
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 1;
  for (int i = 0; i < rounds; ++i) {
    make_round();
  }
}
