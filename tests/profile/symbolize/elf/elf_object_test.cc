// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_object.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(ElfObject, NamesDependOnAllFilesThatTheyAreReadFrom) {
  const auto depends = [](const std::string& program, const NameSources& sources) {
    return opened(fixture::path(program))->names_depend_on(sources).value_or("");
  };
  NameSources sources;
  sources.debug_root = "/nowhere";
  NameSources alone = sources;
  alone.use_debug_files = false;
  NameSources symbols = sources;
  symbols.use_debug_info = false;
  std::set<std::string> seen;
  for (const char* program : {"pie", "stripped", "linked/pie", "debug/gcc5", "debug/shared/gcc5"}) {
    const std::string text = depends(program, sources);
    EXPECT_NE(text, "") << program;
    EXPECT_EQ(depends(program, sources), text);
    EXPECT_TRUE(seen.insert(text).second) << text;
    EXPECT_TRUE(seen.insert(depends(program, symbols)).second) << program;
  }
  EXPECT_TRUE(seen.insert(depends("linked/pie", alone)).second);
  EXPECT_TRUE(seen.insert(depends("debug/shared/gcc5", alone)).second);
  NameSources server = alone;
  server.from_server = [](const std::string&) { return fixture::path("linked/pie.debug"); };
  EXPECT_EQ(depends("linked/pie", server), depends("linked/pie", sources));
  // The alternate file is part of it.
  EXPECT_NE(depends("debug/shared/gcc5", sources).find("\nnone"), 0u);
  EXPECT_EQ(depends("debug/shared/gcc5", sources).find("none"), std::string::npos);
}

TEST(ElfObject, NamesAreOfTheFilesThatTheyDependOn) {
  const std::string program = fixture::path("debug/shared/gcc5");
  std::string why;
  const auto addresses = fixture::addresses_of_code(*ElfFile::open(fixture::path("debug/gcc5"), &why), 100);
  std::vector<std::string> warnings;
  const auto file = opened(program);
  ASSERT_TRUE(file->names_depend_on({}));
  for (int round = 0; round < 2; ++round) {  // of those files, and of files that are found then
    const auto names = file->names_of(addresses, {}, &warnings);
    const auto wanted = opened(program)->names_of(addresses, {}, &warnings);
    ASSERT_EQ(names.size(), wanted.size());
    for (size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ(names[i].names.size(), wanted[i].names.size());
      EXPECT_TRUE(names[i].can_be_kept);
      for (size_t k = 0; k < names[i].names.size(); ++k)
        EXPECT_EQ(names[i].names[k].name, wanted[i].names[k].name);
    }
  }
}

// The system tells nothing of files beside the program that its debug info names.
TEST(ElfObject, NamesOfSplitFilesCannotBeKept) {
  const std::string program = fixture::path("debug/split5");
  std::string why;
  const auto addresses = fixture::addresses_of_code(*ElfFile::open(program, &why), 100);
  std::vector<std::string> warnings;
  for (const CodeNames& one : opened(program)->names_of(addresses, {}, &warnings))
    EXPECT_FALSE(one.can_be_kept);
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
