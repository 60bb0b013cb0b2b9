// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/debug_files.h"

#include <gtest/gtest.h>

#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

namespace fs = std::filesystem;

std::string debug_file_of(const std::string& module, const std::string& root) {
  std::string why;
  const auto file = ElfFile::open(module, &why);
  const auto debug = open_debug_file(*file, root);
  return debug == nullptr ? "" : debug->path();
}

TEST(DebugFiles, FindsByBuildId) {
  const fixture::Folder root;
  const std::string id = fixture::kBuildId;
  const std::string place = root / ".build-id/" + id.substr(0, 2);
  fs::create_directories(place);
  fs::copy_file(fixture::path("linked/pie.debug"), place + "/" + id.substr(2) + ".debug");
  EXPECT_EQ(debug_file_of(fixture::path("stripped"), root.path()), place + "/" + id.substr(2) + ".debug");
}

TEST(DebugFiles, RefusesAFileOfAnotherBuild) {
  const fixture::Folder root;
  const std::string id = fixture::kBuildId;
  const std::string place = root / ".build-id/" + id.substr(0, 2);
  fs::create_directories(place);
  fs::copy_file(fixture::path("other"), place + "/" + id.substr(2) + ".debug");
  EXPECT_EQ(debug_file_of(fixture::path("stripped"), root.path()), "");
}

TEST(DebugFiles, FindsByLinkBesideTheFile) {
  const fixture::Folder root;
  EXPECT_EQ(debug_file_of(fixture::path("linked/pie"), root.path()), fixture::path("linked/pie.debug"));
  EXPECT_EQ(debug_file_of(fixture::path("linked/no_id"), root.path()), fixture::path("linked/no_id.debug"));
}

TEST(DebugFiles, FindsByLinkInTheOtherPlaces) {
  const fixture::Folder folder;
  fs::copy_file(fixture::path("linked/pie"), folder / "pie");
  fs::create_directories(folder / ".debug");
  fs::copy_file(fixture::path("linked/pie.debug"), folder / ".debug/pie.debug");
  EXPECT_EQ(debug_file_of(folder / "pie", "/nowhere"), folder / ".debug/pie.debug");

  fs::create_directories(folder / "root" + folder.path());
  fs::rename(folder / ".debug/pie.debug", folder / "root" + folder.path() + "/pie.debug");
  EXPECT_EQ(debug_file_of(folder / "pie", folder / "root"), folder / "root" + folder.path() + "/pie.debug");
}

TEST(DebugFiles, WithoutBuildIdsTheChecksumDecides) {
  const fixture::Folder folder;
  fs::copy_file(fixture::path("linked/no_id"), folder / "no_id");
  fs::copy_file(fixture::path("linked/no_id.debug"), folder / "no_id.debug");
  EXPECT_EQ(debug_file_of(folder / "no_id", "/nowhere"), folder / "no_id.debug");
  std::ofstream(folder / "no_id.debug", std::ios::app) << "x";
  EXPECT_EQ(debug_file_of(folder / "no_id", "/nowhere"), "");
}

TEST(DebugFiles, FindsWhatDebugFilesShare) {
  std::string why;
  const auto debug = ElfFile::open(fixture::path("debug/shared/gcc5.debug"), &why);
  const auto link = debug->alternate_link();
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->path, "common.dwz");
  const auto found = open_alternate_file(*debug, *link, "/nowhere");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->build_id(), link->build_id);

  // By build id, when it is not where it was.
  const fixture::Folder root;
  fs::copy_file(debug->path(), root / "gcc5.debug");
  const auto moved = ElfFile::open(root / "gcc5.debug", &why);
  EXPECT_EQ(open_alternate_file(*moved, *link, root.path()), nullptr);
  const std::string place = root / ".build-id/" + link->build_id.substr(0, 2);
  fs::create_directories(place);
  fs::copy_file(found->path(), place + "/" + link->build_id.substr(2) + ".debug");
  EXPECT_NE(open_alternate_file(*moved, *link, root.path()), nullptr);

  // Another file of that name is not it.
  fs::copy_file(fixture::path("pie"), root / "common.dwz");
  EXPECT_EQ(open_alternate_file(*moved, *link, "/nowhere"), nullptr);
}

TEST(DebugFiles, ALinkInsteadOfADebugFileLeadsToTheSharedOne) {
  const fixture::Folder root;
  fs::create_symlink(fixture::path("debug/shared/gcc5.debug"), root / "link.debug");
  std::string why;
  const auto debug = ElfFile::open(root / "link.debug", &why);
  EXPECT_NE(open_alternate_file(*debug, *debug->alternate_link(), "/nowhere"), nullptr);
}

TEST(DebugFiles, ThereIsNone) {
  EXPECT_EQ(debug_file_of(fixture::path("stripped"), "/nowhere"), "");
}

}  // namespace
}  // namespace memprof::profile
