// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/code_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/host/program/needed_libraries.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using testing_tools::fixture;

std::string library_of(const std::string& program, const std::vector<std::string>& libraries) {
  std::string why;
  const auto file = profile::ElfFile::open(program, &why);
  if (file == nullptr) {
    ADD_FAILURE() << program << ": " << why;
    return {};
  }
  return code_library(*file, read_elf_facts(*file), libraries);
}

std::string library_of(const std::string& program) {
  std::vector<std::string> libraries;
  for (const NeededLibrary& library : needed_libraries(program)) libraries.push_back(library.path);
  return library_of(program, libraries);
}

TEST(CodeLibrary, IsTheLargeOneThatAStubCalls) {
  EXPECT_THAT(library_of(fixture("stub")), EndsWith("/libstubcode.so"));
}

TEST(CodeLibrary, IsNotTheCLibraryNorThatOfALargerProgram) {
  EXPECT_THAT(library_of(fixture("program")), IsEmpty());
  EXPECT_THAT(library_of(MEMPROF_PROGRAM), IsEmpty());
  EXPECT_THAT(library_of(fixture("static_program")), IsEmpty());
}

TEST(CodeLibrary, IsOneThatTheProgramNeeds) {
  const testing_tools::Folder folder;
  std::filesystem::copy_file(fixture("libstubcode.so"), folder / "libother.so");
  std::filesystem::copy_file(fixture("libstubcode.so"), folder / "libstubcode.so.1.2");
  EXPECT_THAT(library_of(fixture("stub"), {folder / "libother.so", "/no/such/libstubcode.so"}), IsEmpty());
  // As a process has it mapped: the needed name is a link to a file of a longer name.
  EXPECT_EQ(library_of(fixture("stub"), {folder / "libother.so", folder / "libstubcode.so.1.2"}),
            folder / "libstubcode.so.1.2");
}

TEST(CodeLibrary, JavasIsLoadedWhenItRuns) {
  const testing_tools::Folder folder;
  std::filesystem::create_directories(folder / "lib/server");
  std::filesystem::create_directories(folder / "jre/lib/amd64/jli");
  std::filesystem::create_directories(folder / "jre/lib/amd64/server");
  EXPECT_THAT(java_machine_of(folder / "lib/libjli.so"), IsEmpty());
  std::filesystem::copy_file(fixture("libstubcode.so"), folder / "lib/server/libjvm.so");
  testing_tools::write_file(folder / "jre/lib/amd64/server/libjvm.so", "");
  EXPECT_EQ(java_machine_of(folder / "lib/libjli.so"), folder / "lib/server/libjvm.so");
  EXPECT_EQ(java_machine_of(folder / "jre/lib/amd64/jli/libjli.so"),
            folder / "jre/lib/amd64/server/libjvm.so");
  EXPECT_THAT(java_machine_of(folder / "lib/libc.so"), IsEmpty());
  EXPECT_EQ(library_of(fixture("java_stub"), {folder / "lib/server/libjvm.so"}),
            folder / "lib/server/libjvm.so");
}

}  // namespace
}  // namespace memprof::cli
