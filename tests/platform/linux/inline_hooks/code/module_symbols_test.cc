// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/module_symbols.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

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

__attribute__((noinline, used)) int function_that_nobody_else_can_call(int value) {
  return value * 5 + 1;
}

TEST(ModuleSymbols, WhoseCallersTheCompilerKnew) {
  volatile int value = 2;
  EXPECT_EQ(function_that_nobody_else_can_call(value), 11);
  with_executable([](const dl_phdr_info& module) {
    const ModuleSymbols symbols(module, "/proc/self/exe");
    int locals = 0;
    int others = 0;
    symbols.each_function([&](const FunctionSymbol& f) {
      if (strstr(f.name, "function_that_nobody_else_can_call") != nullptr) {
        locals += f.is_local ? 1 : 100;
      } else if (strcmp(f.name, "memprof_test_of_module_symbols") == 0) {
        others += f.is_local ? 100 : 1;
      }
      // Hidden, which the linker makes local.
      if (strcmp(f.name, "memprof_gate_take_room") == 0) {
        others += f.is_local ? 100 : 10;
      }
    });
    EXPECT_EQ(locals, 1);
    EXPECT_EQ(others, 11);
  });
}

TEST(ModuleSymbols, OnlyThoseThatAreMarked) {
  with_executable([](const dl_phdr_info& module) {
    const ModuleSymbols symbols(module, "/proc/self/exe");
    std::vector<uint64_t> indexes;
    symbols.each_function([&](const FunctionSymbol& f) { indexes.push_back(f.index); });
    ASSERT_GT(indexes.size(), 100u);
    EXPECT_LT(indexes.back(), symbols.count());
    std::vector<uint64_t> marks(symbols.count() / 64 + 1);
    std::vector<uint64_t> wanted;
    for (size_t i = 0; i < indexes.size(); i += 7) {
      marks[indexes[i] / 64] |= uint64_t{1} << indexes[i] % 64;
      wanted.push_back(indexes[i]);
    }
    std::vector<uint64_t> visited;
    symbols.each_function([&](const FunctionSymbol& f) { visited.push_back(f.index); }, marks.data());
    EXPECT_EQ(visited, wanted);
  });
}

// What .dynsym has is in .symtab, too, where there is one: nothing is lost, and nothing comes twice.
TEST(ModuleSymbols, EachFunctionOfTheDynamicTable) {
  int seen = 0;
  with_executable([&](const dl_phdr_info& module) {
    ModuleSymbols(module, "/proc/self/exe").each_function([&](const FunctionSymbol& f) {
      seen += strcmp(f.name, "memprof_test_of_module_symbols") == 0;
    });
  });
  EXPECT_EQ(seen, 1);
  bool has_malloc = false;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        if (strstr(info->dlpi_name, "libc.so") != nullptr) {
          ModuleSymbols(*info, info->dlpi_name).each_function([&](const FunctionSymbol& f) {
            *static_cast<bool*>(found) |= strcmp(f.name, "malloc") == 0;
          });
        }
        return 0;
      },
      &has_malloc);
  EXPECT_TRUE(has_malloc);
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
