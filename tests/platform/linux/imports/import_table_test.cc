// SPDX-License-Identifier: Apache-2.0
// The parser of import tables, on loaded libraries of every kind, on one that is mapped but not relocated, on
// all modules of the process, and on damaged ones.
#include "platform/linux/imports/import_table.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"
#include "tests/support/single_import_table.h"

namespace memprof::import_table_test {
namespace {

using platform::ImportTable;
using platform::WantedNames;
using testing_support::fixture_path;
using testing_support::FixtureLibrary;
using testing_support::Random;
using testing_support::scaled;
using testing_support::SingleImportTable;
using testing_support::with_module;

constexpr const char* kNames[] = {"malloc", "free", "fixture_malloc", "no_such_function"};
constexpr WantedNames kWanted{kNames, 4};

struct Found {
  std::multiset<std::pair<std::string, uint64_t>> slots;  // name, offset in the module
  std::set<std::string> defined;
  bool is_readable;
};

Found read(const dl_phdr_info& info) {
  const SingleImportTable table(info, kWanted);
  Found found;
  found.is_readable = table.is_readable();
  table.each_slot([&](const ImportTable::Slot& slot) {
    found.slots.emplace(kNames[slot.name], slot.address - info.dlpi_addr);
  });
  for (uint32_t i = 0; i < 4; ++i) {
    if (table.definition(i) != nullptr) {
      found.defined.insert(kNames[i]);
    }
  }
  return found;
}

Found read(const std::string& path) {
  Found found{};
  EXPECT_TRUE(with_module(path, [&](const dl_phdr_info& info) { found = read(info); }));
  return found;
}

size_t count(const Found& found, const std::string& name) {
  size_t n = 0;
  for (const auto& slot : found.slots) {
    n += slot.first == name;
  }
  return n;
}

// A file, mapped as the loader does it, but with every pointer as it is in the file: like a module of a C
// library that relocates nothing in PT_DYNAMIC.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ElfW(Ehdr) header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    headers.resize(header.e_phnum);
    std::memcpy(headers.data(), bytes.data() + header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr)));
    memory =
        static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (const ElfW(Phdr) & h : headers) {
      if (h.p_type == PT_LOAD) {
        std::memcpy(memory + h.p_vaddr, bytes.data() + h.p_offset, h.p_filesz);
      }
    }
    info.dlpi_addr = reinterpret_cast<uint64_t>(memory);
    info.dlpi_name = "mapped";
    info.dlpi_phdr = headers.data();
    info.dlpi_phnum = static_cast<uint16_t>(headers.size());
  }
  ~Mapped() { munmap(memory, kBytes); }

  // The entry of the dynamic section with this tag.
  ElfW(Dyn) * dynamic(int64_t tag) {
    for (const ElfW(Phdr) & h : headers) {
      for (auto* d = reinterpret_cast<ElfW(Dyn)*>(memory + h.p_vaddr); h.p_type == PT_DYNAMIC; ++d) {
        if (d->d_tag == tag || d->d_tag == DT_NULL) {
          return d->d_tag == tag ? d : nullptr;
        }
      }
    }
    return nullptr;
  }

  static constexpr size_t kBytes = 1 << 20;
  std::vector<ElfW(Phdr)> headers;
  char* memory;
  dl_phdr_info info{};
};

class ImportTableOf : public testing::TestWithParam<const char*> {};

TEST_P(ImportTableOf, SlotsAndDefinitions) {
  const FixtureLibrary library(GetParam());
  const Found found = read(library.path);
  EXPECT_TRUE(found.is_readable);
  EXPECT_EQ(std::set<std::string>{"fixture_malloc"}, found.defined);
  EXPECT_EQ(1u, count(found, "free"));
  EXPECT_LE(1u, count(found, "malloc"));
  EXPECT_EQ(0u, count(found, "no_such_function"));
  // A slot holds what it was bound to, or is lazy and still leads into the library.
  with_module(library.path, [&](const dl_phdr_info& info) {
    const SingleImportTable table(info, kWanted);
    table.each_slot([&](const ImportTable::Slot& slot) {
      const uint64_t value = *reinterpret_cast<const uint64_t*>(slot.address);
      if (value != reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, kNames[slot.name])) && slot.name < 2) {
        EXPECT_TRUE(slot.is_lazy && table.has_code_at(value)) << kNames[slot.name];
      }
    });
    EXPECT_EQ(std::string("lazy") == GetParam(), [&] {
      bool any = false;
      table.each_slot([&](const ImportTable::Slot& slot) { any = any || slot.in_relro; });
      return !any;
    }());
  });
}

// Trap 5: musl leaves the pointers of PT_DYNAMIC as they are in the file.
TEST_P(ImportTableOf, PointersThatAreNotRelocated) {
  const FixtureLibrary library(GetParam());
  const Mapped mapped(library.path);
  const Found found = read(mapped.info);
  EXPECT_TRUE(found.is_readable);
  EXPECT_EQ(read(library.path).slots, found.slots);
  EXPECT_EQ(std::set<std::string>{"fixture_malloc"}, found.defined);
}

// Whatever a module says: no read outside of it, no endless loop.
TEST_P(ImportTableOf, DamagedModulesAreSurvived) {
  Random random(1);
  for (uint64_t round = 0; round < scaled(2000); ++round) {
    Mapped mapped(fixture_path(GetParam()));
    for (uint64_t i = random.below(4); i < 5; ++i) {
      const ElfW(Phdr)& h = mapped.headers[random.below(mapped.headers.size())];
      if (h.p_memsz >= 8 && (h.p_type == PT_DYNAMIC || h.p_type == PT_LOAD || h.p_type == PT_GNU_RELRO)) {
        const uint64_t value = random.below(3) == 0 ? random.next() : random.below(1 << 16);
        std::memcpy(mapped.memory + h.p_vaddr + random.below(h.p_memsz - 7), &value, 1 + random.below(8));
      }
    }
    if (round % 4 == 0) {
      mapped.headers[random.below(mapped.headers.size())].p_memsz >>= random.below(12);
    }
    read(mapped.info);
  }
}

constexpr const char* kFixtures[] = {
    "lazy", "lazy_relro", "now", "no_plt", "sysv_hash",
#if defined(MEMPROF_HAS_RELR)
    "relr",
#endif
};
INSTANTIATE_TEST_SUITE_P(Fixtures, ImportTableOf, testing::ValuesIn(kFixtures),
                         [](const auto& fixture) { return std::string(fixture.param); });

// Trap 4: a pointer with an addend is no function; one in writable data is the program's to change.
TEST(ImportTable, AbsoluteWordsWhereTheyAreWhole) {
  const FixtureLibrary library("now");
  const Found found = read(library.path);
  const auto offset = [&](const char* name) {
    uint64_t result = 0;
    with_module(library.path, [&](const dl_phdr_info& info) {
      result = reinterpret_cast<uint64_t>(dlsym(library.handle, name)) - info.dlpi_addr;
    });
    return result;
  };
  EXPECT_EQ(1u, found.slots.count({"malloc", offset("fixture_constant_table")}));
  EXPECT_EQ(1u, found.slots.count({"malloc", offset("fixture_table")}));
  Mapped mapped(library.path);
  auto* r = reinterpret_cast<ElfW(Rela)*>(mapped.memory + mapped.dynamic(DT_RELA)->d_un.d_ptr);
  const uint64_t n = mapped.dynamic(DT_RELASZ)->d_un.d_val / sizeof(*r);
  int changed = 0;
  for (uint64_t i = 0; i < n; ++i) {
    if (r[i].r_offset == offset("fixture_constant_table")) {
      r[i].r_addend = 8;
      ++changed;
    }
  }
  EXPECT_EQ(1, changed);
  EXPECT_EQ(0u, read(mapped.info).slots.count({"malloc", offset("fixture_constant_table")}));
}

TEST(ImportTable, WithoutRelocationsOrHashesOrStrings) {
  Mapped without_hash(fixture_path("now"));
  const Found whole = read(without_hash.info);
  without_hash.dynamic(DT_GNU_HASH)->d_tag = 0x6ffffdf4;
  EXPECT_EQ(whole.slots, read(without_hash.info).slots)
      << "the symbols are bounded by the strings behind them";
  Mapped without_rela(fixture_path("now"));
  without_rela.dynamic(DT_RELA)->d_tag = 0x6ffffdf4;
  without_rela.dynamic(DT_JMPREL)->d_tag = 0x6ffffdf4;
  EXPECT_TRUE(read(without_rela.info).slots.empty());
  EXPECT_EQ(whole.defined, read(without_rela.info).defined);
  Mapped without_strings(fixture_path("now"));
  without_strings.dynamic(DT_STRSZ)->d_un.d_val = uint64_t{1} << 40;
  EXPECT_FALSE(read(without_strings.info).is_readable);
  Mapped without_end(fixture_path("now"));
  for (ElfW(Phdr) & h : without_end.headers) {
    if (h.p_type == PT_DYNAMIC) {
      h.p_vaddr = without_end.headers[0].p_vaddr + Mapped::kBytes;
    }
  }
  EXPECT_FALSE(read(without_end.info).is_readable);
}

// The vdso, the loader and the C library among them.
TEST(ImportTable, EveryModuleOfTheProcess) {
  int modules = 0;
  int definitions = 0;
  struct Counts {
    int& modules;
    int& definitions;
  } counts{modules, definitions};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* c = static_cast<Counts*>(data);
        const Found found = read(*info);
        ++c->modules;
        c->definitions += static_cast<int>(found.defined.count("malloc"));
        EXPECT_TRUE(found.is_readable || info->dlpi_name[0] == '\0') << info->dlpi_name;
        return 0;
      },
      &counts);
  EXPECT_LE(3, modules);
  EXPECT_LE(1, definitions);
}

TEST(ImportTable, NeededLibrariesAndItsOwnName) {
  const FixtureLibrary library("deep_now");
  std::set<std::string> needed;
  with_module(library.path, [&](const dl_phdr_info& info) {
    SingleImportTable(info, kWanted).each_needed([&](const char* name) { needed.insert(name); });
  });
  EXPECT_EQ(1u, needed.count("libfixture_allocator.so"));
  std::string soname;
  EXPECT_TRUE(with_module(fixture_path("libfixture_allocator"), [&](const dl_phdr_info& info) {
    soname = SingleImportTable(info, kWanted).soname();
  }));
  EXPECT_EQ("libfixture_allocator.so", soname);
  library.close();  // an allocator in the process makes others' lazy slots uncertain
}

}  // namespace
}  // namespace memprof::import_table_test
