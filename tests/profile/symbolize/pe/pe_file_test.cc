// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace memprof::profile {
namespace {

std::unique_ptr<PeFile> of_bytes(std::vector<char> bytes) {
  OpenedFile file;
  file.image = std::make_unique<FileImage>(std::move(bytes));
  return PeFile::of_file(std::move(file));
}

// One section of 4 KiB at 0x1000, which has the code and all tables; a symbol table and its strings behind it.
class Image {
 public:
  static constexpr uint32_t kHeaders = 0x400;
  static constexpr uint32_t kSection = 0x1000;

  Image() : bytes_(kHeaders + 0x1000) {
    put(0, "MZ", 2);
    u32(0x3c, 0x80);
    put(0x80, "PE\0\0", 4);
    u16(0x84, 0x8664);
    u16(0x86, 1);             // sections
    u32(0x88, 0x11223344);    // time stamp
    u16(0x94, 112 + 16 * 8);  // of the optional header
    u16(0x98, 0x20b);
    u32(0x98 + 56, 0x5000);  // of the image
    u32(0x98 + 108, 16);
    const size_t section = 0x98 + 112 + 16 * 8;
    u32(section + 12, kSection);
    u32(section + 16, 0x1000);
    u32(section + 20, kHeaders);
    u32(section + 36, 0x20000000);
  }

  void u16(size_t at, uint16_t value) { put(at, &value, 2); }
  void u32(size_t at, uint32_t value) { put(at, &value, 4); }
  void put(size_t at, const void* from, size_t size) {
    if (bytes_.size() < at + size) bytes_.resize(at + size);
    memcpy(bytes_.data() + at, from, size);
  }
  // By addresses of the image.
  static size_t offset(uint32_t address) { return address - kSection + kHeaders; }
  void directory(uint32_t index, uint32_t address, uint32_t size) {
    u32(0x98 + 112 + index * 8, address);
    u32(0x98 + 112 + index * 8 + 4, size);
  }
  void functions(const std::vector<std::vector<uint32_t>>& entries) {
    directory(3, 0x1800, static_cast<uint32_t>(entries.size() * 12));
    size_t at = offset(0x1800);
    for (const auto& entry : entries) {
      for (const uint32_t value : entry) u32(std::exchange(at, at + 4), value);
    }
  }
  void symbol(const std::string& name, uint32_t address, uint16_t type = 0x20, uint16_t section = 1) {
    char entry[18] = {};
    if (name.size() <= 8) {
      memcpy(entry, name.data(), name.size());
    } else {
      const auto at = static_cast<uint32_t>(4 + strings_.size());
      memcpy(entry + 4, &at, 4);
      strings_ += name + '\0';
    }
    const uint32_t value = address - kSection;
    memcpy(entry + 8, &value, 4);
    memcpy(entry + 12, &section, 2);
    memcpy(entry + 14, &type, 2);
    symbols_.append(entry, sizeof(entry));
  }
  void exported(uint32_t address, const char* name) {
    directory(0, 0x1c00, 0x80);
    const size_t at = offset(0x1c00);
    u32(at + 20, 1);
    u32(at + 24, 1);
    u32(at + 28, 0x1c28);
    u32(at + 32, 0x1c2c);
    u32(at + 36, 0x1c30);
    u32(offset(0x1c28), address);
    u32(offset(0x1c2c), 0x1c40);
    put(offset(0x1c40), name, strlen(name) + 1);
  }
  std::vector<char> bytes() {
    std::vector<char> all = bytes_;
    if (!symbols_.empty()) {
      const auto at = static_cast<uint32_t>(all.size());
      const auto count = static_cast<uint32_t>(symbols_.size() / 18);
      memcpy(all.data() + 0x8c, &at, 4);
      memcpy(all.data() + 0x90, &count, 4);
      all.insert(all.end(), symbols_.begin(), symbols_.end());
      all.insert(all.end(), 4, '\0');
      all.insert(all.end(), strings_.begin(), strings_.end());
    }
    return all;
  }
  std::unique_ptr<PeFile> file() { return of_bytes(bytes()); }

 private:
  std::vector<char> bytes_;
  std::string symbols_;
  std::string strings_;
};

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

TEST(PeFile, AddressesOfAProfileAreThoseOfTheImage) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1010, 0x1020, 0x1900}});
  image.symbol("first", 0x1000);
  const auto file = image.file();
  EXPECT_EQ(file->vaddr_of_offset(0x1008), 0x1008u);
  EXPECT_EQ(file->vaddr_of_offset(uint64_t{1} << 32), std::nullopt);
  std::vector<std::string> warnings;
  const std::vector<CodeNames> names = file->names_of({0x1012, 0x1008}, {}, &warnings);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].names.empty());
  ASSERT_EQ(names[1].names.size(), 1u);
  EXPECT_EQ(names[1].names[0].name, "first");
  EXPECT_TRUE(names[1].names[0].is_symbol);
  EXPECT_FALSE(names[1].has_lines);
  EXPECT_TRUE(warnings.empty());
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
  image.directory(6, 0x1a00, 28);
  image.u32(Image::offset(0x1a00) + 12, 2);
  image.u32(Image::offset(0x1a00) + 20, 0x1a40);
  image.put(Image::offset(0x1a40), "RSDS0123456789abcdef\1\0\0\0", 24);
  EXPECT_EQ(image.file()->build_id(), "3031323334353637383961626364656601000000");
}

// Its mappings would be of the file, as Linux has them, and its names wrong.
TEST(PeFile, AProfileWithoutItsBuildIdIsNotOfWindows) {
  for (const char* build_id : {"", "4433221100500000"}) {
    OpenedFile file;
    file.image = std::make_unique<FileImage>(Image().bytes());
    std::string why;
    const auto opened = kPeFormat.open(std::move(file), build_id, &why);
    EXPECT_EQ(opened != nullptr, *build_id != '\0');
    EXPECT_EQ(why,
              *build_id != '\0' ? "" : "a file of a Windows program, of which the profile has no build id");
  }
}

TEST(PeFile, OtherFilesAreNone) {
  std::string why;
  EXPECT_EQ(kPeFormat.open({}, "", &why), nullptr);
  EXPECT_EQ(why, "not a file of a Windows program for x86-64");
  EXPECT_FALSE(kPeFormat.is_one("ZM"));
  EXPECT_FALSE(kPeFormat.is_one("M"));
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
    if (const auto file = of_bytes(std::move(bytes))) {
      for (const uint32_t address : {0x1000u, 0x1105u, 0x2000u}) name_at(*file, address);
    }
  }
}

}  // namespace
}  // namespace memprof::profile
