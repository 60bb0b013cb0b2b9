// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/find_library.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;
using testing_tools::Folder;
using testing_tools::write_file;

// An installed tree: the program in bin/, the library in `place`.
std::string found(const std::string& place, const std::vector<std::string>& names) {
  const Folder root;
  fs::create_directories(root / "bin");
  fs::create_directories(root / place);
  for (const std::string& name : names) write_file(root / (place + "/" + name), "");
  const std::string path = find_library_near(root / "bin");
  const std::string prefix = fs::canonical(root.path()).string() + "/";
  return path.compare(0, prefix.size(), prefix) == 0 ? path.substr(prefix.size()) : path;
}

TEST(FindLibrary, InTheFoldersOfAnInstalledTree) {
  EXPECT_EQ(found("lib", {"libmemprof.so.0"}), "lib/libmemprof.so.0");
  EXPECT_EQ(found("lib64", {"libmemprof.so.0"}), "lib64/libmemprof.so.0");
  EXPECT_EQ(found("bin", {"libmemprof.so"}), "bin/libmemprof.so");
}

TEST(FindLibrary, TakesTheLinkToTheCurrentVersion) {
  EXPECT_EQ(found("lib", {"libmemprof.so.0.1.0", "libmemprof.so.0", "libmemprof.so"}), "lib/libmemprof.so");
  EXPECT_EQ(found("lib", {"libmemprof.so.0.1.0", "libmemprof.so.1", "libmemprof.so.0"}),
            "lib/libmemprof.so.1");
}

TEST(FindLibrary, OtherFilesAreNot) {
  EXPECT_EQ(found("lib", {"libmemprof.so.bak", "libmemprof.a", "libmemprofx.so", "xlibmemprof.so"}), "");
}

TEST(FindLibrary, TheVariableComesFirstAndMustBeRight) {
  const Folder folder;
  write_file(folder / "mine.so", "");
  setenv("MEMPROF_LIBRARY", (folder / "mine.so").c_str(), 1);
  EXPECT_EQ(find_library(), folder / "mine.so");
  setenv("MEMPROF_LIBRARY", (folder / "gone.so").c_str(), 1);
  EXPECT_THROW(find_library(), Failure);
  unsetenv("MEMPROF_LIBRARY");
}

TEST(FindLibrary, TheOneForMuslLiesBesideIt) {
  const Folder folder;
  unsetenv("MEMPROF_MUSL_LIBRARY");
  const std::string ours = folder / "libmemprof.so";
  EXPECT_EQ(find_musl_library(ours).path, "");
  EXPECT_NE(find_musl_library(ours).to_do.find("./dev musl"), std::string::npos);
  EXPECT_EQ(find_musl_dlopen_library(ours).to_do, find_musl_library(ours).to_do);
  EXPECT_EQ(find_musl_library("").path, "");
  fs::create_directories(folder / "memprof/musl");
  write_file(folder / "memprof/musl/libmemprof.so", "");
  EXPECT_EQ(find_musl_library(ours).path, folder / "memprof/musl/libmemprof.so");
  EXPECT_EQ(find_musl_dlopen_library(ours).path, "");
  EXPECT_NE(find_musl_dlopen_library(ours).to_do.find("libmemprof-dlopen.so is not beside"),
            std::string::npos);
  write_file(folder / "memprof/musl/libmemprof-dlopen.so", "");
  EXPECT_EQ(find_musl_dlopen_library(ours).path, folder / "memprof/musl/libmemprof-dlopen.so");
  setenv("MEMPROF_MUSL_LIBRARY", "", 1);
  EXPECT_EQ(find_musl_library(ours).path, "");
  write_file(folder / "mine.so", "");
  setenv("MEMPROF_MUSL_LIBRARY", (folder / "mine.so").c_str(), 1);
  EXPECT_EQ(find_musl_library(ours).path, folder / "mine.so");
  setenv("MEMPROF_MUSL_LIBRARY", (folder / "gone.so").c_str(), 1);
  EXPECT_EQ(find_musl_library(ours).path, "");
  EXPECT_NE(find_musl_library(ours).to_do.find("gone.so, which is not a file"), std::string::npos);
  unsetenv("MEMPROF_MUSL_LIBRARY");
  // Beside the library that the variable names.
  setenv("MEMPROF_LIBRARY", (folder / "mine.so").c_str(), 1);
  EXPECT_EQ(find_musl_library().path, folder / "memprof/musl/libmemprof.so");
  unsetenv("MEMPROF_LIBRARY");
}

}  // namespace
}  // namespace memprof::cli
