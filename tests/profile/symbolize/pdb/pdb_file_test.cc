// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/pdb_file.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/profile/symbolize/pdb/pdb_bytes.h"

namespace memprof::profile {
namespace {

using fixture::small_pdb;

std::unique_ptr<PdbFile> open(const std::string& bytes, std::string* why) {
  OpenedFile file;
  file.image = std::make_unique<FileImage>(std::vector<char>(bytes.begin(), bytes.end()));
  return PdbFile::of_file(std::move(file), why);
}

std::unique_ptr<PdbFile> open(const std::string& bytes) {
  std::string why;
  auto pdb = open(bytes, &why);
  EXPECT_NE(pdb, nullptr) << why;
  return pdb;
}

// "name file:line", innermost first.
std::vector<std::string> names(const PdbFile& pdb, uint32_t address, bool use_lines = true) {
  std::vector<std::string> all;
  const std::vector<CodeNames> found = pdb.names_of({address}, use_lines);
  for (const CodeName& name : found[0].names) {
    all.push_back(name.name + " " + name.file + ":" + std::to_string(name.line));
  }
  return all;
}

using Names = std::vector<std::string>;

TEST(PdbFile, CodeHasFunctionsLinesAndInlinedCalls) {
  for (const uint32_t block_bytes : {512u, 4096u}) {
    const auto pdb = open(small_pdb().bytes(block_bytes, block_bytes == 512));
    EXPECT_EQ(pdb->build_id(), "3031323334353637383961626364656601000000");
    EXPECT_EQ(pdb->refusal(), "");
    EXPECT_EQ(names(*pdb, 0x1010), Names{"space::outer C:\\src\\outer.cpp:100"});
    const Names inlined = {"space::Class::inner C:\\src\\inner.h:21", "space::outer C:\\src\\outer.cpp:101"};
    EXPECT_EQ(names(*pdb, 0x1018), inlined);
    EXPECT_EQ(names(*pdb, 0x101f), inlined);
    EXPECT_EQ(names(*pdb, 0x1020), Names{"space::outer C:\\src\\outer.cpp:101"});
    EXPECT_EQ(names(*pdb, 0x1030), Names{"space::outer C:\\src\\outer.cpp:0"});  // hidden
    EXPECT_EQ(names(*pdb, 0x104f), Names{"space::outer C:\\src\\outer.cpp:104"});
    for (const uint32_t address : {0u, 0x100fu, 0x1050u, 0x2000u, UINT32_MAX}) {
      EXPECT_EQ(names(*pdb, address), Names{}) << address;
    }
    EXPECT_EQ(names(*pdb, 0x1018, false), Names{"space::outer :0"});
  }
}

TEST(PdbFile, AddressesAreInAnyOrder) {
  const auto pdb = open(small_pdb().bytes());
  const std::vector<CodeNames> all = pdb->names_of({0x1020, 0, 0x1018, 0x1020, 0x1010}, true);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].names.size(), 1u);
  EXPECT_TRUE(all[0].has_lines);
  EXPECT_FALSE(all[0].names[0].is_symbol);
  EXPECT_FALSE(all[1].has_lines);
  EXPECT_EQ(all[2].names.size(), 2u);
  EXPECT_EQ(all[3].names[0].line, 101);
  EXPECT_EQ(all[4].names[0].line, 100);
}

TEST(PdbFile, PublicSymbolsAreLookedUpInARange) {
  const auto pdb = open(small_pdb().bytes());
  EXPECT_EQ(pdb->public_in(0x1000, 0x100f), "");
  EXPECT_EQ(pdb->public_in(0x1000, 0x1010), "?outer@space@@YAXXZ");
  EXPECT_EQ(pdb->public_in(0x1010, 0x10ff), "?outer@space@@YAXXZ");
  EXPECT_EQ(pdb->public_in(0x1011, 0x10ff), "");
  EXPECT_EQ(pdb->public_in(0x1000, 0x1fff), "?only_public@@YAXXZ");
  EXPECT_EQ(pdb->public_in(0, 0x1fff), "");  // not in one section
}

TEST(PdbFile, WhatItsObjectFilesHaveIsNotHere) {
  const auto pdb = open(small_pdb(0x494e494d).bytes());
  EXPECT_EQ(pdb->refusal(), "was made with /DEBUG:FASTLINK, its debug info is in object files");
  EXPECT_EQ(names(*pdb, 0x1010), Names{});
  EXPECT_EQ(pdb->public_in(0x1000, 0x1010), "?outer@space@@YAXXZ");
}

TEST(PdbFile, ImagesThatWereRearrangedAreRefused) {
  fixture::PdbStreams streams = small_pdb();
  std::string& debug = streams.streams[3];
  debug.replace(debug.size() - 4, 2, fixture::Bytes().u16(6).bytes());  // OMAP
  EXPECT_EQ(open(streams.bytes())->refusal(),
            "is of an image that was rearranged after it was linked (OMAP)");
  debug.replace(debug.size() - 4, 4, fixture::Bytes().u16(0xffff).u16(0xffff).bytes());
  EXPECT_EQ(open(streams.bytes())->refusal(), "does not say where the sections of its image are");
}

TEST(PdbFile, OthersAreRefused) {
  std::string why;
  EXPECT_EQ(open("", &why), nullptr);
  EXPECT_EQ(why, "not a PDB");
  EXPECT_EQ(open(fixture::msf_of({"", "info", "", ""}), &why), nullptr);
  EXPECT_EQ(why, "a damaged PDB: it says nothing of its image");
}

// Cut anywhere, and with any byte changed: an answer, and no access beyond the file.
TEST(PdbFile, AnythingIsAnswered) {
  const std::string whole = small_pdb().bytes();
  std::mt19937 random(1);
  const auto ask = [](const std::string& bytes) {
    std::string why;
    const auto pdb = open(bytes, &why);
    if (pdb == nullptr) return;
    pdb->names_of({0x1010, 0x1018, 0x1040, 0x1100}, true);
    pdb->public_in(0x1000, 0x1fff);
  };
  for (size_t size = 0; size < whole.size(); size += 7) ask(whole.substr(0, size));
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round % 4; ++i) {
      size_t at = random() % bytes.size();
      while (whole[at] == 0 && random() % 64 != 0) at = random() % bytes.size();
      bytes[at] = static_cast<char>(random());
    }
    ask(bytes);
  }
}

}  // namespace
}  // namespace memprof::profile
