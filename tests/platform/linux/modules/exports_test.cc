// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/exports.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "platform/modules.h"
#include "tests/support/import_fixtures.h"
#include "tests/support/python_fixtures.h"

namespace memprof::platform {
namespace {

using testing_support::FixtureLibrary;
using testing_support::PythonFixture;
using testing_support::with_module;

// A function and a variable, by both kinds of hash table.
TEST(ExportTable, FindsWhatDlsymFinds) {
  for (const char* name : {"fake_python", "old_python"}) {
    SCOPED_TRACE(name);
    const PythonFixture python(name);
    const std::string path = std::string(MEMPROF_PYTHON_FIXTURES) + "/" + name + ".so";
    ASSERT_TRUE(with_module(path, [&](const dl_phdr_info& info) {
      const ExportTable table(info);
      bool is_data = true;
      EXPECT_EQ(reinterpret_cast<void*>(python.get<void>("fake_malloc")),
                table.find("fake_malloc", &is_data));
      EXPECT_FALSE(is_data);
      EXPECT_EQ(reinterpret_cast<void*>(python.get<void>("fake_fail_realloc")),
                table.find("fake_fail_realloc", &is_data));
      EXPECT_TRUE(is_data);
      EXPECT_EQ(nullptr, table.find("memset"));  // it imports that
      EXPECT_EQ(nullptr, table.find("fake_no_such"));
      EXPECT_EQ(nullptr, table.find("pool_malloc"));  // static
      EXPECT_EQ(nullptr, table.find(""));
    }));
  }
}

// As patchelf leaves it: the strings begin in one segment and end in the next.
TEST(ExportTable, GoesByTablesThatLieInTwoSegments) {
  const PythonFixture python("fake_python");
  const std::string path = std::string(MEMPROF_PYTHON_FIXTURES) + "/fake_python.so";
  ASSERT_TRUE(with_module(path, [&](const dl_phdr_info& info) {
    for (uint64_t cut = 0; cut < 4096; cut += 8) {
      std::vector<ElfW(Phdr)> headers;
      bool is_cut = false;
      for (int i = 0; i < info.dlpi_phnum; ++i) {
        headers.push_back(info.dlpi_phdr[i]);
        if (info.dlpi_phdr[i].p_type == PT_LOAD && !is_cut && cut < info.dlpi_phdr[i].p_memsz) {
          is_cut = true;
          ElfW(Phdr) rest = headers.back();
          headers.back().p_memsz = cut;
          rest.p_vaddr += cut;
          rest.p_memsz -= cut;
          headers.push_back(rest);
        }
      }
      dl_phdr_info module = info;
      module.dlpi_phdr = headers.data();
      module.dlpi_phnum = static_cast<ElfW(Half)>(headers.size());
      ASSERT_EQ(reinterpret_cast<void*>(python.get<void>("fake_malloc")),
                ExportTable(module).find("fake_malloc"))
          << cut;
    }
  }));
}

// A module that lies: each word of the tables' headers set to all kinds of rubbish, and no read outside.
TEST(ExportTable, BelievesNoDamagedTable) {
  const PythonFixture python("fake_python");
  const std::string path = std::string(MEMPROF_PYTHON_FIXTURES) + "/fake_python.so";
  ASSERT_TRUE(with_module(path, [&](const dl_phdr_info& info) {
    // A copy of the dynamic section, where the program headers of a module of our own say it is.
    const ElfW(Dyn)* dynamic = nullptr;
    uint64_t limit = 0;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& h = info.dlpi_phdr[i];
      if (h.p_type == PT_DYNAMIC) {
        dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + h.p_vaddr);
      } else if (h.p_type == PT_LOAD) {
        limit = std::max<uint64_t>(limit, h.p_vaddr + h.p_memsz);
      }
    }
    ASSERT_NE(nullptr, dynamic);
    std::vector<ElfW(Dyn)> copy;
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
      copy.push_back(*dynamic);
    }
    copy.push_back({});
    std::vector<ElfW(Phdr)> headers(info.dlpi_phdr, info.dlpi_phdr + info.dlpi_phnum);
    for (ElfW(Phdr) & h : headers) {
      if (h.p_type == PT_DYNAMIC) {
        h.p_vaddr = reinterpret_cast<uint64_t>(copy.data()) - info.dlpi_addr;
      }
    }
    headers.push_back({PT_LOAD, PF_R, 0, reinterpret_cast<uint64_t>(copy.data()) - info.dlpi_addr, 0, 0,
                       copy.size() * sizeof(copy[0]), 8});
    dl_phdr_info module = info;
    module.dlpi_phdr = headers.data();
    module.dlpi_phnum = static_cast<ElfW(Half)>(headers.size());
    ASSERT_NE(nullptr, ExportTable(module).find("fake_malloc"));
    for (ElfW(Dyn) & d : copy) {
      const ElfW(Dyn) kept = d;
      for (const uint64_t value :
           {uint64_t{0}, uint64_t{1}, uint64_t{0xfff}, limit - 1, limit, info.dlpi_addr,
            info.dlpi_addr + limit - 3, ~uint64_t{0}, ~uint64_t{0} - 64}) {
        d.d_un.d_val = value;
        ExportTable(module).find("fake_malloc");
      }
      d = kept;
    }
    headers.back().p_memsz -= sizeof(copy[0]);  // the section has no end
    ExportTable(module).find("fake_malloc");
  }));
}

TEST(FindExports, TakesAllFromTheFirstModuleThatHasTheFirstName) {
  const PythonFixture python;
  const char* const names[] = {"PyMem_SetAllocator", "fake_free", "no_such_name", "malloc"};
  const void* addresses[4];
  ASSERT_TRUE(find_exports(names, 4, addresses));
  EXPECT_EQ(reinterpret_cast<void*>(python.get<void>("PyMem_SetAllocator")), addresses[0]);
  EXPECT_EQ(reinterpret_cast<void*>(python.get<void>("fake_free")), addresses[1]);
  EXPECT_EQ(nullptr, addresses[2]);
  EXPECT_EQ(nullptr, addresses[3]);  // another module's
  const char* const absent[] = {"no_such_name", "malloc"};
  EXPECT_FALSE(find_exports(absent, 2, addresses));
  EXPECT_FALSE(find_exports(names, 0, addresses));
}

TEST(FindExports, ByAnAddressLooksIntoThatModuleOnly) {
  const PythonFixture python;
  const char* const names[] = {"PyMem_SetAllocator", "fake_free"};
  const void* addresses[2];
  ASSERT_TRUE(find_exports_at(reinterpret_cast<uint64_t>(python.get<void>("fake_fail_realloc")), names, 2,
                              addresses));
  EXPECT_EQ(reinterpret_cast<void*>(python.get<void>("fake_free")), addresses[1]);
  EXPECT_FALSE(find_exports_at(reinterpret_cast<uint64_t>(&dlopen), names, 2, addresses));
  EXPECT_FALSE(find_exports_at(16, names, 2, addresses));
  int on_stack = 0;
  EXPECT_FALSE(find_exports_at(reinterpret_cast<uint64_t>(&on_stack), names, 2, addresses));
}

}  // namespace
}  // namespace memprof::platform
