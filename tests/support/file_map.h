// SPDX-License-Identifier: Apache-2.0
// What platform::file_map must do on every system that has files.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "platform/files.h"
#include "tests/support/folder.h"

namespace memprof::testing_support {

inline void check_file_map() {
  const TemporaryFolder folder;
  const std::string path = folder.write("shared", std::string(4096, 'a'));
  auto* const bytes = static_cast<char*>(platform::file_map(path.c_str(), 4096));
  ASSERT_NE(nullptr, bytes);
  EXPECT_EQ('a', bytes[4095]);
  bytes[0] = 'b';
  EXPECT_EQ('b', read_file(path)[0]);
  EXPECT_EQ(nullptr, platform::file_map(path.c_str(), 8192));
  EXPECT_EQ(nullptr, platform::file_map(folder.path("none").c_str(), 4096));
  ASSERT_EQ(0, symlink(path.c_str(), folder.path("to_it").c_str()));
  EXPECT_EQ(nullptr, platform::file_map(folder.path("to_it").c_str(), 4096));
  ASSERT_EQ(0, mkfifo(folder.path("mapped_pipe").c_str(), 0600));
  EXPECT_EQ(nullptr, platform::file_map(folder.path("mapped_pipe").c_str(), 4096)) << "nor does it wait";
  constexpr uid_t kSomebody = 12345;
  if (geteuid() == 0) {
    ASSERT_EQ(0, chown(path.c_str(), kSomebody, kSomebody));
    EXPECT_EQ(nullptr, platform::file_map(path.c_str(), 4096));
  }
}

}  // namespace memprof::testing_support
