// SPDX-License-Identifier: Apache-2.0
// Damaged sections and tables: exports_test.cc, import_table_test.cc, which read through this.
#include "platform/linux/modules/dynamic_section.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "tests/support/import_fixtures.h"
#include "tests/support/python_fixtures.h"

namespace memprof::platform {
namespace {

using testing_support::PythonFixture;
using testing_support::with_module;

TEST(DynamicSection, NamesWhatTheModuleNeedsAndHas) {
  const PythonFixture python("fake_python");
  const std::string path = std::string(MEMPROF_PYTHON_FIXTURES) + "/fake_python.so";
  ASSERT_TRUE(with_module(path, [&](const dl_phdr_info& info) {
    const DynamicSection section(info);
    ASSERT_TRUE(section.is_readable());
    std::set<std::string> needed;
    section.each_needed([&](const char* name) { needed.insert(name); });
    EXPECT_EQ(1u, needed.count("libc.so.6"));
    std::set<uint64_t> addresses;
    section.each_hashed("fake_malloc", [&](uint64_t index) {
      ElfW(Sym) symbol;
      EXPECT_TRUE(section.read(section.symbols() + index * sizeof(symbol), &symbol));
      if (strcmp(section.string(symbol.st_name), "fake_malloc") == 0) {
        addresses.insert(info.dlpi_addr + symbol.st_value);
      }
      return false;
    });
    EXPECT_EQ(std::set<uint64_t>{reinterpret_cast<uint64_t>(python.get<void>("fake_malloc"))}, addresses);
    EXPECT_EQ(nullptr, section.string(UINT64_MAX));
    uint64_t word = 0;
    const volatile uint64_t outside = 16;  // not known to the compiler, which would warn of it
    EXPECT_FALSE(section.read(outside, &word));
  }));
}

TEST(DynamicSection, AModuleWithoutOneHasNothing) {
  const dl_phdr_info none{};
  const DynamicSection section(none);
  EXPECT_FALSE(section.is_readable());
  EXPECT_EQ(0u, section.relocations()[0].count);
  section.each_needed([](const char*) { ADD_FAILURE(); });
  section.each_hashed("malloc", [](uint64_t) { return ADD_FAILURE(), true; });
}

}  // namespace
}  // namespace memprof::platform
