// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_object.h"

#include <gtest/gtest.h>

#include "tests/profile/symbolize/addr2line.h"

namespace memprof::profile {
namespace {

std::unique_ptr<ObjectFile> opened(const std::string& path) {
  OpenedFile file;
  std::string why;
  EXPECT_TRUE(open_file(path, &file, &why)) << why;
  return kElfFormat.open(std::move(file), "", &why);
}

// How many of 100 addresses have a name, and how many a line.
struct Known {
  size_t names = 0;
  size_t lines = 0;
  size_t asked = 0;
};

Known known_of(const std::string& path, const std::string& described, const NameSources& sources) {
  std::string why;
  const auto addresses = fixture::addresses_of_code(*ElfFile::open(described, &why), 100);
  std::vector<std::string> warnings;
  Known known;
  for (const CodeNames& one : opened(path)->names_of(addresses, sources, &warnings)) {
    ++known.asked;
    known.names += one.names.empty() ? 0 : 1;
    known.lines += one.has_lines && one.names.back().line > 0 ? 1 : 0;
  }
  EXPECT_TRUE(warnings.empty());
  return known;
}

TEST(ElfObject, HasTheLinesThatAreWanted) {
  const std::string program = fixture::path("debug/gcc5");
  NameSources sources;
  Known known = known_of(program, program, sources);
  ASSERT_GT(known.asked, 50u);
  EXPECT_EQ(known.names, known.asked);
  EXPECT_GT(known.lines, known.asked / 2);
  sources.use_debug_info = false;
  known = known_of(program, program, sources);
  EXPECT_EQ(known.names, known.asked);
  EXPECT_EQ(known.lines, 0u);
}

TEST(ElfObject, WhatWasStrippedComesFromTheDebugFileOrAServer) {
  const std::string program = fixture::path("linked/pie");
  const std::string debug = fixture::path("linked/pie.debug");
  const std::string whole = fixture::path("pie");
  NameSources sources;
  sources.debug_root = "/nowhere";
  Known known = known_of(program, whole, sources);
  EXPECT_EQ(known.names, known.asked);

  sources.use_debug_files = false;
  known = known_of(program, whole, sources);
  EXPECT_LT(known.names, known.asked);

  size_t asked = 0;
  sources.from_server = [&](const std::string& build_id) {
    EXPECT_EQ(build_id, fixture::kBuildId);
    ++asked;
    return debug;
  };
  known = known_of(program, whole, sources);
  EXPECT_EQ(known.names, known.asked);
  EXPECT_EQ(asked, 1u);

  // Of another build: it is not taken.
  sources.from_server = [](const std::string&) { return fixture::path("other"); };
  EXPECT_LT(known_of(program, whole, sources).names, known.asked);
}

TEST(ElfObject, ADamagedFileIsNone) {
  OpenedFile file;
  file.image = std::make_unique<FileImage>(std::vector<char>{'\177', 'E', 'L', 'F'});
  EXPECT_TRUE(kElfFormat.is_one(file.bytes()));
  std::string why;
  EXPECT_EQ(kElfFormat.open(std::move(file), "", &why), nullptr);
  EXPECT_EQ(why, kNoElf);
}

}  // namespace
}  // namespace memprof::profile
