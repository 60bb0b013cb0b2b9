// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/target.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "memprof/io/http/http.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(TargetTable, TheTextSaysWhichKind) {
  const testing_tools::Folder folder;
  EXPECT_EQ(make_target(folder.path(), {})->name(), std::filesystem::canonical(folder.path()));
  if (why_no_http().empty()) {
    EXPECT_EQ(make_target("http://a", {})->name(), "http://a");
    EXPECT_EQ(make_target("otlp+http://a/b", {})->name(), "otlp+http://a/b");
  }
  for (const char* text : {"", "pyroscope", "otlp://a", "ftp://a", "localhost:4040"}) {
    EXPECT_THROW(make_target(text, {}), Failure) << text;
  }
  for (const TargetKind& kind : target_kinds()) EXPECT_NE(kind.what, nullptr);
}

}  // namespace
}  // namespace memprof::cli
