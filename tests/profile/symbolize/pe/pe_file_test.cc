// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_file.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/profile/symbolize/pe/pe_image.h"

namespace memprof::profile {
namespace {

using fixture::Image;
using fixture::pe_of_bytes;

std::string name_at(const PeFile& file, uint32_t address) {
  std::string name;
  return file.find(address, &name) ? name : "-";
}

TEST(PeFile, FunctionsAreCalledAsTheirSymbols) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1010, 0x1040, 0x1900}, {0x1050, 0x1060, 0x1900}});
  image.symbol("short", 0x1000);
  image.symbol("_ZN4long4nameEv", 0x1010);
  image.symbol("data", 0x1050, 0);  // no function
  const auto file = image.file();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(name_at(*file, 0x1000), "short");
  EXPECT_EQ(name_at(*file, 0x100f), "short");
  EXPECT_EQ(name_at(*file, 0x103f), "_ZN4long4nameEv");
  EXPECT_EQ(name_at(*file, 0x1040), "-");  // in no function
  EXPECT_EQ(name_at(*file, 0x1055), "-");  // and never the nearest below
  EXPECT_EQ(name_at(*file, 0), "-");
  EXPECT_EQ(name_at(*file, UINT32_MAX), "-");
}

TEST(PeFile, ExportsNameWhatHasNoSymbol) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1010, 0x1020, 0x1900}});
  image.exported(0x1010, "Exported");
  const auto file = image.file();
  EXPECT_EQ(name_at(*file, 0x1011), "Exported");
  EXPECT_EQ(name_at(*file, 0x1001), "-");
}

TEST(PeFile, PartsThatWereMovedAwayAreTheirFunctions) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1100, 0x1110, 0x1920}});
  image.put(Image::offset(0x1920), "\x21\0\0\0", 4);  // chained, no codes
  image.u32(Image::offset(0x1924), 0x1000);
  image.symbol("whole", 0x1000);
  EXPECT_EQ(name_at(*image.file(), 0x1105), "whole");
  image.symbol("whole.cold", 0x1100);
  EXPECT_EQ(name_at(*image.file(), 0x1105), "whole.cold");
  // One that names itself ends.
  image.u32(Image::offset(0x1924), 0x1100);
  EXPECT_EQ(name_at(*image.file(), 0x1105), "whole.cold");
}

TEST(PeFile, BuildIdsAreThoseOfThePlatform) {
  Image image;
  EXPECT_EQ(image.file()->build_id(), "4433221100500000");
  EXPECT_EQ(image.file()->pdb_path(), "");
  image.pdb("C:\\build\\x.pdb");
  EXPECT_EQ(image.file()->build_id(), "3031323334353637383961626364656601000000");
  EXPECT_EQ(image.file()->pdb_path(), "C:\\build\\x.pdb");
}

TEST(PeFile, SectionsHaveTheirNames) {
  Image image;
  image.symbol("a_name_of_more_than_8_bytes", 0x1000);
  image.section(".debug_info", "contents");
  image.section(".short", "12345678");
  const std::vector<char> bytes = image.bytes();
  const auto file = pe_of_bytes(bytes);
  ASSERT_EQ(file->sections().size(), 3u);
  EXPECT_EQ(file->sections()[1].name, ".debug_info");
  EXPECT_EQ(file->bytes_of(file->sections()[1]), "contents");
  EXPECT_EQ(file->sections()[2].name, ".short");
  EXPECT_EQ(file->bytes_of(file->sections()[2]), "12345678");
  EXPECT_EQ(file->image_base(), 0u);
}

TEST(PeFile, FunctionsWithSymbolsAreListed) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1010, 0x1040, 0x1900}});
  image.symbol("named", 0x1010);
  const auto file = image.file();
  const auto named = file->named_functions();
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].begin, 0x1010u);
  EXPECT_EQ(named[0].end, 0x1040u);
  EXPECT_EQ(named[0].name, "named");
  EXPECT_EQ(file->bounds_of(0x1005)->part, 0x1000u);
  EXPECT_FALSE(file->bounds_of(0x1040));
}

TEST(PeFile, OtherFilesAreNone) {
  EXPECT_EQ(PeFile::of_file({}), nullptr);
  Image image;
  image.u16(0x84, 0x14c);  // 32 bits
  EXPECT_EQ(image.file(), nullptr);
}

// Cut anywhere, and with any byte changed: an answer, and no access beyond the file.
TEST(PeFile, AnythingIsAnswered) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1100, 0x1110, 0x1920}});
  image.put(Image::offset(0x1920), "\x21\0\0\0", 4);
  image.u32(Image::offset(0x1924), 0x1000);
  image.symbol("_ZN4long4nameEv", 0x1000);
  image.exported(0x1000, "Exported");
  const std::vector<char> whole = image.bytes();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<char> bytes = whole;
    for (int i = 0; i < 1 + round % 4; ++i) {
      // Most of the file is empty: where something stands.
      size_t at = random() % bytes.size();
      while (whole[at] == 0 && random() % 64 != 0) at = random() % bytes.size();
      bytes[at] = static_cast<char>(random());
    }
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    if (const auto file = pe_of_bytes(std::move(bytes))) {
      for (const uint32_t address : {0x1000u, 0x1105u, 0x2000u}) name_at(*file, address);
    }
  }
}

}  // namespace
}  // namespace memprof::profile
