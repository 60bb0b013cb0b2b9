// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/series_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

TEST(SeriesRecorder, MakesTheFileAtTheFirstLook) {
  const testing_tools::Folder folder;
  SeriesRecorder recorder(folder / "x.series", {}, "server", 42);
  EXPECT_EQ(folder.list(), "");
  EXPECT_THAT(recorder.summary(), HasSubstr("no look was taken, and there is no "));
  recorder.add(testing_tools::small_profile(), {static_cast<uint64_t>(getpid())});
  recorder.add(testing_tools::small_profile(), {});
  EXPECT_EQ(recorder.looks(), 2u);
  EXPECT_THAT(recorder.summary(), HasSubstr("x.series: 2 looks; next: memprof report "));
  const profile::SeriesReader reader(folder / "x.series");
  ASSERT_EQ(reader.series().looks.size(), 2u);
  EXPECT_EQ(reader.series().program, "server");
  EXPECT_GT(reader.series().looks[0].system.at("rss_bytes"), 0u);
  EXPECT_TRUE(reader.series().looks[1].system.empty());
}

TEST(SeriesRecorder, KeepsWhatIsThere) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "x.series", "mine");
  SeriesRecorder recorder(folder / "x.series", {}, "server", 42);
  EXPECT_THROW(recorder.add(testing_tools::small_profile(), {}), profile::Error);
  EXPECT_EQ(testing_tools::read_file(folder / "x.series"), "mine");
}

}  // namespace
}  // namespace memprof::cli
