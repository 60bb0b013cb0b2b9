// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/macho/macho_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "profile/symbolize/elf/symbol_table.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kText = 0x100000000;
constexpr char kUuid[] = "000102030405060708090a0b0c0d0e0f";

// Code at kText + 0x1000, of 0x100 bytes.
class MachO {
 public:
  explicit MachO(uint32_t processor = 0x01000007, char first_of_uuid = 0) {
    for (const uint32_t word : {0xfeedfacfu, processor, 3u, 2u, 0u, 0u, 0u, 0u}) u32(word);
    command(0x19, 72 + 80);
    name("__TEXT");
    for (const uint64_t word : {kText, uint64_t{0x2000}, uint64_t{0}, uint64_t{0x2000}}) u64(word);
    for (const uint32_t word : {5u, 5u, 1u, 0u}) u32(word);
    name("__text");
    name("__TEXT");
    u64(kText + 0x1000);
    u64(0x100);
    for (const uint32_t word : {0x1000u, 4u, 0u, 0u, 0x80000400u, 0u, 0u, 0u}) u32(word);
    command(0x1b, 24);
    for (char c = 0; c < 16; ++c) bytes_ += static_cast<char>(c == 0 ? first_of_uuid : c);
  }
  void symbol(const std::string& name, uint64_t vaddr, uint8_t type = 0x0f, uint8_t section = 1) {
    const uint32_t at = static_cast<uint32_t>(strings_.size());
    strings_ += name + '\0';
    symbols_.append(reinterpret_cast<const char*>(&at), 4);
    symbols_ += static_cast<char>(type);
    symbols_ += static_cast<char>(section);
    symbols_.append(2, '\0');
    symbols_.append(reinterpret_cast<const char*>(&vaddr), 8);
  }
  // Distances of functions, the first from kText.
  void starts(const std::string& uleb) { starts_ = uleb; }
  void debug(const std::string& section, const std::string& bytes) { debug_.emplace_back(section, bytes); }

  std::string finish() {
    for (const auto& [section, content] : debug_) {
      command(0x19, 72 + 80);
      name("__DWARF");
      for (int i = 0; i < 4; ++i) u64(0);
      for (const uint32_t word : {3u, 3u, 1u, 0u}) u32(word);
      name(section);
      name("__DWARF");
      u64(0);
      u64(content.size());
      places_.push_back({bytes_.size(), content});
      for (int i = 0; i < 8; ++i) u32(0);
    }
    command(0x2, 24);
    places_.push_back({bytes_.size(), symbols_});
    u32(0);
    u32(static_cast<uint32_t>(symbols_.size() / 16));
    places_.push_back({bytes_.size(), strings_});
    u32(0);
    u32(static_cast<uint32_t>(strings_.size()));
    command(0x26, 16);
    places_.push_back({bytes_.size(), starts_});
    u32(0);
    u32(static_cast<uint32_t>(starts_.size()));
    put(16, commands_);
    for (const auto& [at, content] : places_) {
      put(at, static_cast<uint32_t>(bytes_.size()));
      bytes_ += content;
    }
    return bytes_;
  }

 private:
  void u32(uint32_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 4); }
  void u64(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 8); }
  void put(size_t at, uint32_t value) { memcpy(bytes_.data() + at, &value, 4); }
  void name(const std::string& text) { bytes_ += text + std::string(16 - text.size(), '\0'); }
  void command(uint32_t kind, uint32_t size) {
    ++commands_;
    u32(kind);
    u32(size);
  }

  std::string bytes_, symbols_, strings_, starts_;
  std::vector<std::pair<std::string, std::string>> debug_;
  std::vector<std::pair<size_t, std::string>> places_;
  uint32_t commands_ = 0;
};

std::unique_ptr<ElfFile> read(const std::string& bytes, const std::string& build_id = kUuid) {
  OpenedFile file;
  file.image = std::make_unique<FileImage>(std::vector<char>(bytes.begin(), bytes.end()));
  return read_macho(file, build_id);
}

std::string name_at(const ElfFile& file, uint64_t offset) {
  SymbolTable symbols;
  symbols.add(file);
  symbols.finish();
  std::string name;
  return symbols.find(kText + offset, &name) ? name : "";
}

TEST(MachOFile, HasItsUuidItsSegmentsAndItsSymbols) {
  MachO object;
  object.symbol("_main", kText + 0x1000);
  object.symbol("__ZN1a1bEv", kText + 0x1020, 0x0e);
  object.symbol("_a_variable", kText + 0x1800, 0x0f, 2);
  object.symbol("_main.c", kText + 0x1010, 0x64);  // for debuggers
  object.symbol("_elsewhere", 0, 0x01, 0);         // undefined
  const auto file = read(object.finish());
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->build_id(), kUuid);
  EXPECT_EQ(file->vaddr_of_offset(0x1004), kText + 0x1004);
  EXPECT_EQ(file->vaddr_of_offset(0x2000), std::nullopt);
  EXPECT_FALSE(file->has_debug_info());
  EXPECT_EQ(name_at(*file, 0x1000), "main");
  EXPECT_EQ(name_at(*file, 0x101f), "main");
  EXPECT_EQ(name_at(*file, 0x1020), "_ZN1a1bEv");
  EXPECT_EQ(name_at(*file, 0x10ff), "_ZN1a1bEv");
  EXPECT_EQ(name_at(*file, 0x1100), "");
  EXPECT_EQ(name_at(*file, 0xfff), "");
}

TEST(MachOFile, AFunctionWithoutASymbolIsNotTheOneBeforeIt) {
  MachO object;
  object.symbol("_exported", kText + 0x1000);
  object.starts("\x80\x20\x10\x30");  // 0x1000, 0x1010, 0x1040
  const auto file = read(object.finish());
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(name_at(*file, 0x100f), "exported");
  EXPECT_EQ(name_at(*file, 0x1010), "");
  EXPECT_EQ(name_at(*file, 0x1040), "");
}

TEST(MachOFile, LabelsOfTheAssemblerAreNoFunctions) {
  MachO object;
  object.symbol("_LZ4_init", kText + 0x1000);
  object.symbol("ltmp3", kText + 0x1010, 0x0e);
  object.symbol("L_label", kText + 0x1020, 0x0e);
  object.symbol("without_underscore", kText + 0x1030, 0x0e);
  const auto file = read(object.finish());
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(name_at(*file, 0x102f), "LZ4_init");
  EXPECT_EQ(name_at(*file, 0x1030), "without_underscore");
}

TEST(MachOFile, SectionsOfDebugInfoHaveTheirNamesInElf) {
  MachO object;
  object.debug("__debug_info", "of units");
  object.debug("__debug_str_offs", "numbers");
  object.debug("__debug_line_str", "paths");
  object.debug("__apple_names", "not for us");
  const auto file = read(object.finish());
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->has_debug_info());
  EXPECT_EQ(file->section(".debug_info"), "of units");
  EXPECT_EQ(file->section(".debug_str_offsets"), "numbers");
  EXPECT_EQ(file->section(".debug_line_str"), "paths");
  EXPECT_TRUE(file->section(".apple_names").empty());
}

std::string big(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

TEST(MachOFile, OfAUniversalFileThePartWithTheUuid) {
  MachO x86, arm(0x0100000c, 0x77);
  x86.symbol("_on_x86", kText + 0x1000);
  arm.symbol("_on_arm", kText + 0x1000);
  const std::string parts[] = {x86.finish(), arm.finish()};
  std::string bytes = big(0xcafebabe) + big(2);
  uint32_t offset = 0x100;
  for (const std::string& one : parts) {
    bytes += big(0) + big(0) + big(offset) + big(static_cast<uint32_t>(one.size())) + big(12);
    offset += 0x1000;
  }
  bytes.resize(0x100);
  bytes += parts[0];
  bytes.resize(0x1100);
  bytes += parts[1];
  EXPECT_EQ(name_at(*read(bytes), 0x1000), "on_x86");
  const std::string of_arm = std::string("77") + (kUuid + 2);
  EXPECT_EQ(name_at(*read(bytes, of_arm), 0x1000), "on_arm");
  EXPECT_EQ(read(bytes, of_arm)->build_id(), of_arm);
  // Neither: the first, whose UUID then says that it is another one.
  EXPECT_EQ(read(bytes, "00")->build_id(), kUuid);
}

TEST(MachOFile, OthersAreRefused) {
  EXPECT_EQ(read(""), nullptr);
  EXPECT_EQ(read("\x7f"
                 "ELF and more that is no Mach-O"),
            nullptr);
  EXPECT_EQ(read(MachO(0x01000012).finish()), nullptr);  // PowerPC
}

TEST(MachOFile, DamagedOnesDoNoHarm) {
  MachO object;
  object.symbol("_main", kText + 0x1000);
  object.symbol("_other", kText + 0x1080);
  object.starts("\x80\x20\x10\x30");
  object.debug("__debug_info", std::string(40, 'x'));
  const std::string whole = object.finish();
  std::mt19937 random(1);
  for (size_t size = 0; size < whole.size(); ++size) read(whole.substr(0, size));
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 4; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto file = read(damaged)) name_at(*file, 0x1000 + random() % 0x200);
  }
}

TEST(MachOFile, ADsymLiesBesideTheFileOrItsBundle) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("memprof-macho-" + std::to_string(random()));
  fs::create_directories(folder / "X.app/Contents/MacOS");
  const std::string program = folder / "X.app/Contents/MacOS/X";
  std::ofstream(program) << MachO().finish();
  EXPECT_EQ(open_dsym(program, kUuid), nullptr);
  MachO described;
  described.debug("__debug_info", "of units");
  for (const std::string beside : {"X.app.dSYM", "X.app/Contents/MacOS/X.dSYM"}) {
    fs::create_directories(folder / beside / "Contents/Resources/DWARF");
    std::ofstream(folder / beside / "Contents/Resources/DWARF/X") << described.finish();
    EXPECT_NE(open_dsym(program, kUuid), nullptr) << beside;
    EXPECT_EQ(open_dsym(program, "77" + std::string(kUuid + 2)), nullptr) << beside;  // of another build
    fs::remove_all(folder / beside);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace memprof::profile
