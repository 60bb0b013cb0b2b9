// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/module_symbols.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/profile/symbolize/pdb/pdb_bytes.h"

namespace memprof::profile {
namespace {

using fixture::Bytes;
using fixture::Symbols;

// From `begin` on, `size` bytes.
std::string range(unsigned begin, unsigned size) {
  return Bytes().u8(3).u8(begin).u8(4).u8(size).bytes();
}

// "function site site", outermost first; "-": no function.
std::vector<std::string> scopes(const std::string& records, const std::vector<uint32_t>& offsets) {
  std::vector<CodePlace> places;
  for (const uint32_t offset : offsets) places.push_back({1, offset});
  std::vector<std::string> all;
  for (const CodeScope& scope : scopes_of(records, places)) {
    std::string& text = all.emplace_back(scope.function.empty() ? "-" : scope.function);
    for (const InlineSite& site : scope.sites) text += " " + std::to_string(site.inlinee);
  }
  return all;
}

using Scopes = std::vector<std::string>;

TEST(ModuleSymbols, FunctionsOfAllKindsHaveTheirCode) {
  for (const unsigned kind : {0x110fu, 0x1110u, 0x1146u, 0x1147u, 0x1155u, 0x1156u}) {
    Symbols symbols;
    symbols.begin_procedure("first", 0x10, 0x10, 1, kind);
    symbols.end_procedure();
    symbols.begin_procedure("elsewhere", 0x10, 0x1000, 2, kind);
    symbols.end_procedure();
    symbols.begin_procedure("second", 0x30, 0x10, 1, kind);
    symbols.end_procedure();
    EXPECT_EQ(scopes(symbols.bytes(), {0, 0x10, 0x1f, 0x20, 0x30, 0x30}),
              (Scopes{"-", "first", "first", "-", "second", "second"}));
  }
}

TEST(ModuleSymbols, InlinedCallsAreNested) {
  Symbols symbols;
  symbols.begin_procedure("f", 0x100, 0x40);
  symbols.begin_site(1, range(4, 16));
  symbols.begin(0x1103, Bytes().zeros(18).text("").bytes());  // a block
  symbols.begin_site(2, range(8, 4));
  symbols.end_site();
  symbols.end(6);
  symbols.begin_site(3, range(12, 4));
  symbols.end_site();
  symbols.end_site();
  symbols.begin(0x115d, Bytes().zeros(8).u32(4).u32(1).raw(range(24, 8)).bytes());
  symbols.begin_site(5, range(0, 64));  // in none but the call around it
  symbols.end_site();
  symbols.end_site();
  symbols.end_procedure();
  symbols.begin_procedure("g", 0x140, 0x10);
  symbols.end_procedure();
  EXPECT_EQ(scopes(symbols.bytes(), {0x100, 0x104, 0x108, 0x10c, 0x113, 0x114, 0x118, 0x120, 0x141}),
            (Scopes{"f", "f 1", "f 1 2", "f 1 3", "f 1", "f", "f 4 5", "f", "g"}));
}

TEST(ModuleSymbols, OfCallsThatOverlapTheFirstCounts) {
  Symbols symbols;
  symbols.begin_procedure("f", 0x100, 0x40);
  for (const uint32_t inlinee : {1u, 2u}) {
    symbols.begin_site(inlinee, range(4, 8));
    symbols.begin_site(10 + inlinee, range(4, 8));
    symbols.end_site();
    symbols.end_site();
  }
  symbols.end_procedure();
  EXPECT_EQ(scopes(symbols.bytes(), {0x105}), Scopes{"f 1 11"});
}

TEST(ModuleSymbols, OfFunctionsThatWereFoldedTheFirstCounts) {
  Symbols symbols;
  for (const char* name : {"a", "b"}) {
    symbols.begin_procedure(name, 0x100, 0x40);
    symbols.end_procedure();
  }
  EXPECT_EQ(scopes(symbols.bytes(), {0x105}), Scopes{"a"});
}

TEST(ModuleSymbols, ThunksHaveNames) {
  Symbols symbols;
  symbols.begin(0x1102, Bytes().zeros(12).u32(0x20).u16(1).u16(5).u8(0).text("jump").bytes());
  symbols.end(6);
  EXPECT_EQ(scopes(symbols.bytes(), {0x20, 0x25}), (Scopes{"jump", "-"}));
}

TEST(ModuleSymbols, SeparatedCodeIsOfItsFunction) {
  Symbols symbols;
  symbols.begin_procedure("f", 0x100, 0x40);
  symbols.end_procedure();
  symbols.begin(0x1132, Bytes().zeros(8).u32(0x10).u32(0).u32(0x800).u32(0x100).u16(1).u16(1).bytes());
  symbols.end(6);
  EXPECT_EQ(scopes(symbols.bytes(), {0x7ff, 0x800, 0x80f}), (Scopes{"-", "f", "f"}));
}

// Ends and lengths that lead nowhere.
TEST(ModuleSymbols, DamagedRecordsEndWhatIsKnown) {
  Symbols symbols;
  symbols.begin_procedure("f", 0x100, 0x40);
  symbols.begin_site(1, range(0, 16));
  symbols.end_site();
  symbols.end_procedure();
  const std::string whole = symbols.bytes();
  for (const uint32_t end : {0u, 4u, UINT32_MAX}) {
    Bytes damaged;
    damaged.raw(whole);
    damaged.set_u32(12, end);
    EXPECT_EQ(scopes(damaged.bytes(), {0x101}), Scopes{"f"}) << end;
  }
  for (size_t size = 0; size < whole.size(); ++size) scopes(whole.substr(0, size), {0x101});
  EXPECT_EQ(scopes("", {1}), Scopes{"-"});
  EXPECT_EQ(scopes(Bytes().u32(4).u16(0).u16(0).bytes(), {1}), Scopes{"-"});
}

}  // namespace
}  // namespace memprof::profile
