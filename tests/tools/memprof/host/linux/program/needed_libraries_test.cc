// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/needed_libraries.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

const NeededLibrary* find_named(const std::vector<NeededLibrary>& libraries, const std::string& beginning) {
  for (const NeededLibrary& library : libraries) {
    if (library.name.compare(0, beginning.size(), beginning) == 0) return &library;
  }
  return nullptr;
}

TEST(NeededLibraries, AreThoseOfTheLoader) {
  // The loader itself says what it loads: `NAME => PATH (ADDRESS)`.
  const std::string said = testing_tools::run({"ldd", MEMPROF_PROGRAM}).out;
  const std::vector<NeededLibrary> libraries = needed_libraries(MEMPROF_PROGRAM);
  size_t count = 0;
  for (size_t at = said.find(" => "); at != std::string::npos; at = said.find(" => ", at + 1)) {
    const size_t begin = said.rfind('\t', at) + 1;
    const std::string name = said.substr(begin, at - begin);
    const std::string path = said.substr(at + 4, said.find(" (", at) - at - 4);
    const NeededLibrary* library = find_named(libraries, name);
    ASSERT_NE(library, nullptr) << name;
    EXPECT_TRUE(std::filesystem::equivalent(library->path, path)) << library->path << " is not " << path;
    ++count;
  }
  EXPECT_GE(count, 3u) << said;
  // And the loader, which ldd has without an arrow.
  EXPECT_LE(libraries.size(), count + 1);
}

TEST(NeededLibraries, OfAStaticProgramThereAreNone) {
  EXPECT_TRUE(needed_libraries(testing_tools::fixture("static_program")).empty());
  EXPECT_TRUE(needed_libraries("/no/such/file").empty());
  EXPECT_TRUE(needed_libraries("/proc/self/status").empty());
}

TEST(NeededLibraries, RunPathsAndTheEnvironmentComeFirst) {
  const testing_tools::Folder folder;
  const std::string library =
      find_named(needed_libraries(testing_tools::fixture("program")), "libc.so")->path;
  std::filesystem::copy_file(library, folder / "libc.so.6");
  ASSERT_EQ(setenv("LD_LIBRARY_PATH", ("/no/such:" + folder.path()).c_str(), 1), 0);
  EXPECT_EQ(find_named(needed_libraries(testing_tools::fixture("program")), "libc.so")->path,
            folder / "libc.so.6");
  // One for other processors is passed over.
  std::string other = testing_tools::read_file(library).substr(0, 100);
  other[4] = 1;
  testing_tools::write_file(folder / "libc.so.6", other);
  EXPECT_EQ(find_named(needed_libraries(testing_tools::fixture("program")), "libc.so")->path, library);
  unsetenv("LD_LIBRARY_PATH");
  // $ORIGIN: the folder of the program.
  std::filesystem::copy_file(library, folder / "libc.so.6",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(testing_tools::fixture("origin_program"), folder / "program");
  EXPECT_TRUE(std::filesystem::equivalent(find_named(needed_libraries(folder / "program"), "libc.so")->path,
                                          folder / "libc.so.6"));
}

}  // namespace
}  // namespace memprof::cli
