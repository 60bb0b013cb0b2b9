// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/libc/c_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "tests/support/engine.h"

namespace memprof::c_library_test {
namespace {

namespace libc = platform::libc;

uint64_t address_of(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

TEST(CLibrary, NamesOfModules) {
  EXPECT_EQ(Libc::kGlibc, libc::kOwn);
  EXPECT_STREQ("", libc::module_name(address_of(reinterpret_cast<const void*>(&address_of))));
  const char* const library = libc::module_name(address_of(dlsym(RTLD_DEFAULT, "getauxval")));
  ASSERT_NE(nullptr, library);
  EXPECT_NE(std::string::npos, std::string(library).find("/libc.so"));
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  EXPECT_NE(nullptr, handle);
  dlclose(handle);
  int on_stack = 0;
  EXPECT_EQ(nullptr, libc::module_name(address_of(&on_stack)));
}

TEST(CLibrary, SymbolsByTheirSizes) {
  const uint64_t function = address_of(dlsym(RTLD_DEFAULT, "qsort"));
  const char* name = nullptr;
  uint64_t start = 0;
  ASSERT_TRUE(libc::find_symbol(function + 1, &name, &start));
  EXPECT_STREQ("qsort", name);
  EXPECT_EQ(function, start);
  int on_stack = 0;
  EXPECT_FALSE(libc::find_symbol(address_of(&on_stack), &name, &start));
}

TEST(CLibrary, ItsAllocator) {
  if (testing_support::kSanitized) {
    GTEST_SKIP() << "a sanitizer's allocator stands behind some of its names";
  }
  const libc::Allocator own = libc::own_allocator();
  void* block = own.malloc(10);
  block = own.realloc(block, 20);
  own.free(block);
  own.free(own.calloc(1, 10));
  block = own.memalign(64, 10);
  EXPECT_EQ(0u, address_of(block) % 64);
  own.free(block);
  EXPECT_NE(nullptr, libc::find_first_version("malloc"));
  EXPECT_EQ(nullptr, libc::find_first_version("no_such_function"));
}

TEST(CLibrary, TheMainThreadsStack) {
  int here = 0;
  const uint64_t end = libc::main_stack_end();
  EXPECT_GT(end, address_of(&here));
  EXPECT_LT(end - address_of(&here), uint64_t{8} << 20);
  std::thread([&] { EXPECT_EQ(end, libc::main_stack_end()); }).join();
  EXPECT_TRUE(libc::has_unwind_tables());
  libc::learn_functions();
  EXPECT_FALSE(libc::is_noreturn(address_of(reinterpret_cast<const void*>(&exit))));
}

}  // namespace
}  // namespace memprof::c_library_test
