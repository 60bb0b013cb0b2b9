// SPDX-License-Identifier: Apache-2.0
// Of real interpreters: tests/e2e/doctor_programs_test.py.
#include "memprof/host/program/python_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/elf.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;
using testing_tools::Folder;

PythonFacts python_in(const std::string& path) {
  return testing_tools::facts_in(path, read_python_facts);
}

TEST(PythonFacts, WhichVersionsCanBeRead) {
  const struct {
    const char* name;
    uint32_t version;
    bool is_free_threaded, has_own_layout, has_readable_frames;
  } cases[] = {{"python_3_10", 0, false, false, false},
               {"python_3_11", 0x030b02f0, false, false, true},
               {"libpython3.11.so", 0x030b02f0, false, false, true},
               {"python_3_14t", 0x030e07f0, true, true, true},
               {"python_3_15", 0x030f02f0, false, true, true},
               {"python_3_15_altered", 0x030f02f0, false, false, false},
               {"python_3_16", 0x031000f0, false, true, false}};
  for (const auto& expected : cases) {
    const PythonFacts facts = python_in(fixture(expected.name));
    EXPECT_TRUE(facts.is_there) << expected.name;
    EXPECT_EQ(facts.version, expected.version) << expected.name;
    EXPECT_EQ(facts.is_free_threaded, expected.is_free_threaded) << expected.name;
    EXPECT_EQ(facts.has_own_layout, expected.has_own_layout) << expected.name;
    EXPECT_EQ(facts.has_readable_frames(), expected.has_readable_frames) << expected.name;
  }
}

TEST(PythonFacts, OtherProgramsHaveNone) {
  EXPECT_FALSE(python_in(fixture("program")).is_there);
  EXPECT_FALSE(python_in(fixture("stripped")).is_there);
}

TEST(PythonFacts, BrokenFilesAreNoCrash) {
  const std::string program = testing_tools::read_file(fixture("python_3_15"));
  const Folder folder;
  uint32_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string broken = program;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525 + 1013904223;
      broken[16 + (state >> 8) % (broken.size() - 16)] = static_cast<char>(state >> 24);
    }
    testing_tools::write_file(folder / "broken", broken);
    std::string why;
    const auto file = profile::ElfFile::open(folder / "broken", &why);
    if (file != nullptr) read_python_facts(*file);
  }
}

}  // namespace
}  // namespace memprof::cli
