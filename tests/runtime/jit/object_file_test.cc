// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/object_file.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/runtime/jit/listed_objects.h"

namespace memprof::jit::object_file_test {
namespace {

using jit_fixture::make_object;

constexpr uint64_t kCode = 0x70000000;

ObjectFile file_of(const std::string& text) {
  return {reinterpret_cast<uint64_t>(text.data()), text.size()};
}

// "name at offset + bytes" of each function, as they are in the file.
std::vector<std::string> functions_in(const std::string& text) {
  const ObjectFile file = file_of(text);
  std::vector<std::string> found;
  for (uint64_t at = 0; at < file.symbols().size_bytes; at += ObjectFile::kSymbolBytes) {
    ObjectFile::Symbol s{};
    if (file.function(reinterpret_cast<const char*>(file.symbols().start + at), &s) &&
        s.name < file.names().size_bytes) {
      found.push_back(reinterpret_cast<const char*>(file.names().start + s.name) + std::string(" ") +
                      std::to_string(s.start - kCode) + " " + std::to_string(s.limit - s.start));
    }
  }
  return found;
}

TEST(ObjectFile, FunctionsOfARelocatableFileAreWhereItsSectionIs) {
  const std::string text = make_object(
      kCode, {{"first", 0, 32}, {"data", 32, 8, STT_OBJECT}, {"second", 64, 100}, {"to the end", 4000, 0}});
  EXPECT_EQ(functions_in(text),
            (std::vector<std::string>{"first 0 32", "second 64 100", "to the end 4000 96"}));
}

TEST(ObjectFile, SymbolsOfOtherFilesAreAddresses) {
  std::string text = make_object(kCode, {{"first", kCode + 16, 32}});
  reinterpret_cast<Elf64_Ehdr*>(text.data())->e_type = ET_DYN;
  EXPECT_EQ(functions_in(text), std::vector<std::string>{"first 16 32"});
}

TEST(ObjectFile, WhatWasPutNowhereHasNoFunctions) {
  EXPECT_TRUE(functions_in(make_object(0, {{"first", 0, 32}})).empty());
}

TEST(ObjectFile, OtherMemoryIsNoFile) {
  EXPECT_EQ(0u, ObjectFile(8, 4096).symbols().size_bytes);
  EXPECT_EQ(0u, file_of(std::string(4096, 'x')).symbols().size_bytes);
  EXPECT_EQ(0u, file_of("").symbols().size_bytes);
  EXPECT_EQ(0u, file_of(make_object(kCode, {}).substr(0, 100)).symbols().size_bytes);
}

// Bytes that are wrong, one to eight at a time: no read outside of the file (ASan), no function outside of addresses.
TEST(ObjectFile, NothingOfItIsBelieved) {
  std::mt19937_64 random(1);
  const std::string good = make_object(kCode, {{"first", 0, 32}, {"second", 64, 100}});
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (uint64_t n = 1 + random() % 8; n != 0; --n) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const ObjectFile file = file_of(text);
    const auto is_inside = [&](const ObjectFile::Table& table) {
      const uint64_t start = reinterpret_cast<uint64_t>(text.data());
      return table.size_bytes == 0 ||
             (table.start >= start && table.start + table.size_bytes <= start + text.size());
    };
    ASSERT_TRUE(is_inside(file.symbols()) && is_inside(file.names()));
    for (uint64_t at = 0; at < file.symbols().size_bytes; at += ObjectFile::kSymbolBytes) {
      ObjectFile::Symbol s{};
      if (file.function(reinterpret_cast<const char*>(file.symbols().start + at), &s)) {
        ASSERT_LT(s.start, s.limit);
      }
    }
  }
}

}  // namespace
}  // namespace memprof::jit::object_file_test
