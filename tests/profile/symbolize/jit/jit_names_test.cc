// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/jit/jit_names.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/symbolize/symbolizer.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kPid = 4711;
constexpr char kMap[] = "1000 10 from the map\n2000 10 other\n";

std::string name_in(const JitProcess& process) {
  return find_jit_names(process, {0x1008})[0].name;
}

JitProcess process_in(const fixture::Folder& folder) {
  JitProcess process;
  process.pid = kPid;
  process.folders = {folder.path()};
  return process;
}

TEST(JitNames, ReadsTheMapOfTheProcess) {
  const fixture::Folder folder;
  fixture::write_file(folder / "perf-4711.map", kMap);
  EXPECT_EQ(name_in(process_in(folder)), "from the map");
  JitProcess other = process_in(folder);
  other.pid = 4712;
  EXPECT_EQ(name_in(other), "");
}

TEST(JitNames, AMapOlderThanTheProcessIsAnothers) {
  const fixture::Folder folder;
  fixture::write_file(folder / "perf-4711.map", kMap);
  struct stat status{};
  ASSERT_EQ(stat((folder / "perf-4711.map").c_str(), &status), 0);
  const uint64_t written = static_cast<uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                           static_cast<uint64_t>(status.st_mtim.tv_nsec);
  JitProcess process = process_in(folder);
  process.start_unix_ns = written;
  EXPECT_EQ(name_in(process), "from the map");
  process.start_unix_ns = written + 1;
  EXPECT_EQ(name_in(process), "");
}

TEST(JitNames, LinksAndPipesAreNotFollowed) {
  const fixture::Folder folder;
  fixture::write_file(folder / "elsewhere", kMap);
  ASSERT_EQ(symlink((folder / "elsewhere").c_str(), (folder / "perf-4711.map").c_str()), 0);
  EXPECT_EQ(name_in(process_in(folder)), "");
  ASSERT_EQ(unlink((folder / "perf-4711.map").c_str()), 0);
  ASSERT_EQ(mkfifo((folder / "perf-4711.map").c_str(), 0600), 0);
  EXPECT_EQ(name_in(process_in(folder)), "");
}

TEST(JitNames, AFileOfAnotherUserIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make such a file";
  const fixture::Folder folder;
  fixture::write_file(folder / "perf-4711.map", kMap);
  ASSERT_EQ(chown((folder / "perf-4711.map").c_str(), 65534, 65534), 0);
  EXPECT_EQ(name_in(process_in(folder)), "");
}

TEST(JitNames, TheSymbolizerNamesCodeWithoutAFile) {
  const fixture::Folder folder;
  fixture::write_file(folder / "perf-4711.map", "1000 10 JS:*fill /app/a.js:3:4\n");
  Profile profile;
  profile.from_memprof = true;
  profile.pid = kPid;
  profile.time_unix_ns = 2;
  profile.duration_ns = 1;
  profile.mappings.push_back({0x1000, 0x9000, 0, "/usr/bin/program", "", false, false, false, false});
  profile.mappings.push_back({0x1000, 0x9000, 0, "//anon", "", false, false, false, false});
  for (const uint32_t mapping : {kNoMapping, 1u, 0u})
    profile.locations.push_back({0x1008, mapping, false, {}});
  SymbolizeOptions options;
  options.jit_folders = {folder.path()};
  options.use_files = false;
  const SymbolizeSummary summary = Symbolizer().symbolize(profile, options);
  EXPECT_EQ(summary.named, 2u);
  EXPECT_EQ(summary.unnamed, 1u);
  EXPECT_TRUE(profile.locations[2].lines.empty());  // it is in a file, and that was not to be read
  ASSERT_EQ(profile.functions.size(), 1u);
  EXPECT_EQ(profile.functions[0].name, "fill");
  EXPECT_EQ(profile.functions[0].filename, "/app/a.js");
  options.use_jit_files = false;
  profile.locations[0].lines.clear();
  EXPECT_EQ(Symbolizer().symbolize(profile, options).named, 0u);
}

}  // namespace
}  // namespace memprof::profile
