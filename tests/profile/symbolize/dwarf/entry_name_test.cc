// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/entry_name.h"

#include <dwarf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/profile/symbolize/dwarf_fixture.h"

namespace memprof::profile {
namespace {

// Names of all functions and inlined calls below an entry: linkage name, and plain name where there is none.
void collect(EntryNames& names, Dwarf_Die entry, std::map<std::string, int>* found) {
  if (dwarf_child(&entry, &entry) != 0) return;
  do {
    const int tag = dwarf_tag(&entry);
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
      const EntryName& name = names.name_of(entry);
      ++(*found)[name.linkage_name.empty() ? name.plain_name : name.linkage_name];
    }
    collect(names, entry, found);
  } while (dwarf_siblingof(&entry, &entry) == 0);
}

std::map<std::string, int> names_in(const std::string& program, const std::string& source) {
  const fixture::OpenDwarf dwarf(program);
  EntryNames names;
  std::map<std::string, int> found;
  Dwarf_Off offset = 0;
  Dwarf_Off next = 0;
  size_t header_bytes = 0;
  while (dwarf_nextcu(dwarf.get(), offset, &next, &header_bytes, nullptr, nullptr, nullptr) == 0) {
    Dwarf_Die root;
    dwarf_offdie(dwarf.get(), offset + header_bytes, &root);
    const std::string name = dwarf_diename(&root);
    if (name.size() >= source.size() &&
        name.compare(name.size() - source.size(), source.size(), source) == 0) {
      collect(names, root, &found);
    }
    offset = next;
  }
  return found;
}

TEST(EntryNames, LinkageNamesWhereThereAreSome) {
  for (const char* program : {"gcc5", "gcc4", "clang5"}) {
    const auto names = names_in(program, "inlines.cpp");
    EXPECT_EQ(names.count("_ZNK6shapes7PolygonIdLi3EE4areaEv"), 1u) << program;
    EXPECT_EQ(names.count("main"), 1u) << program;
  }
}

TEST(EntryNames, FunctionsOfOneFileHaveTheirScopes) {
  const auto names = names_in("gcc5", "inlines.cpp");
  for (const char* name :
       {"hidden", "make_counter", "shapes::(anonymous namespace)::third",
        "shapes::(anonymous namespace)::Registry::total",
        "shapes::(anonymous namespace)::third()::Local::twist", "hidden()::{lambda}::operator()",
        "shapes::(anonymous namespace)::make_registry()::{lambda}::operator()"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(EntryNames, FunctionsOfCHaveNoScope) {
  const auto names = names_in("gcc5", "c_part.c");
  for (const char* name : {"c_part", "weigh", "compare", "malloc", "qsort"})
    EXPECT_EQ(names.count(name), 1u) << name;
}

}  // namespace
}  // namespace memprof::profile
