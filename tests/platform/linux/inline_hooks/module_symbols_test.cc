// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/module_symbols.h"

#include <gtest/gtest.h>

#include <cstring>

extern "C" __attribute__((noinline)) int memprof_test_of_module_symbols(int value) {
  return value * 3 + 1;
}

namespace memprof::platform {
namespace {

const auto kFunction = reinterpret_cast<uint64_t>(&memprof_test_of_module_symbols);

// Calls visit(module) for the executable.
template <typename Visit>
void with_executable(const Visit& visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        (*static_cast<const Visit*>(context))(*info);
        return 1;
      },
      const_cast<Visit*>(&visit));
}

TEST(ModuleSymbols, FunctionsOfTheExecutable) {
  with_executable([](const dl_phdr_info& module) {
    const ModuleSymbols symbols(module, "/proc/self/exe");
    ASSERT_TRUE(symbols.is_readable());
    uint64_t address = 0;
    uint64_t size = 0;
    symbols.each_function([&](const FunctionSymbol& f) {
      if (strcmp(f.name, "memprof_test_of_module_symbols") == 0) {
        address = f.address;
        size = f.size_bytes;
      }
    });
    EXPECT_EQ(address, kFunction);
    EXPECT_GT(size, 0u);
    EXPECT_TRUE(symbols.is_code(address, size));
    EXPECT_FALSE(symbols.is_code(reinterpret_cast<uint64_t>(&kFunction), 8));  // data
    EXPECT_FALSE(symbols.is_code(address, uint64_t{1} << 40));                 // more than there is
    EXPECT_FALSE(symbols.is_code(reinterpret_cast<uint64_t>(&address), 8));    // no module's
  });
}

TEST(ModuleSymbols, AnotherFileIsNotBelieved) {
  with_executable([](const dl_phdr_info& module) {
    for (const char* path : {"/bin/sh", "/no/such/file", "", "/dev/null", "/proc/self/maps", "/"}) {
      const ModuleSymbols symbols(module, path);
      EXPECT_FALSE(symbols.is_readable()) << path;
      symbols.each_function([](const FunctionSymbol&) { FAIL(); });
    }
  });
}

}  // namespace
}  // namespace memprof::platform
