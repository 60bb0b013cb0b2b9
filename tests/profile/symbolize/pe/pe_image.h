// SPDX-License-Identifier: Apache-2.0
// Files of Windows, built byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profile/symbolize/pe/pe_file.h"

namespace memprof::profile::fixture {

inline std::unique_ptr<PeFile> pe_of_bytes(std::vector<char> bytes) {
  OpenedFile file;
  file.image = std::make_unique<FileImage>(std::move(bytes));
  return PeFile::of_file(std::move(file));
}

// One section of 4 KiB at 0x1000, which has the code and all tables; a symbol table and its strings behind it.
class Image {
 public:
  static constexpr uint32_t kHeaders = 0x400;
  static constexpr uint32_t kSection = 0x1000;
  static constexpr uint32_t kFirstHeader = 0x98 + 112 + 16 * 8;

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
    const size_t section = kFirstHeader;
    u32(section + 8, 0x1000);
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
  // The name of a PDB, and the GUID and age 1 that pdb_bytes.h has.
  void pdb(const std::string& path) {
    directory(6, 0x1a00, 28);
    u32(offset(0x1a00) + 12, 2);
    u32(offset(0x1a00) + 20, 0x1a40);
    put(offset(0x1a40), "RSDS0123456789abcdef\1\0\0\0", 24);
    put(offset(0x1a58), path.c_str(), path.size() + 1);
  }
  // Behind the first section; no more than three.
  void section(const std::string& name, const std::string& contents) {
    const uint16_t index = sections_++;
    const size_t at = kFirstHeader + index * 40;
    if (name.size() <= 8) {
      put(at, name.data(), name.size());
    } else {
      const std::string place = "/" + std::to_string(4 + strings_.size());
      put(at, place.data(), place.size());
      strings_ += name + '\0';
    }
    u16(0x86, sections_);
    u32(at + 8, static_cast<uint32_t>(contents.size()));
    u32(at + 12, 0x10000 * (index + 1u));
    u32(at + 16, static_cast<uint32_t>(contents.size() + 16));  // filled up
    u32(at + 20, static_cast<uint32_t>(bytes_.size()));
    put(bytes_.size(), contents.data(), contents.size());
    bytes_.resize(bytes_.size() + 16);
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
  std::unique_ptr<PeFile> file() { return pe_of_bytes(bytes()); }

 private:
  std::vector<char> bytes_;
  std::string symbols_;
  std::string strings_;
  uint16_t sections_ = 1;
};

}  // namespace memprof::profile::fixture
