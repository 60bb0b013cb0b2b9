// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_json.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(ResidentJson, WhatTheTimeDidNotReachIsNull) {
  ResidentMemory memory;
  memory.total_bytes = 100;
  memory.files_bytes = 20;
  memory.heap_bytes = 70;
  EXPECT_EQ(resident_numbers(memory)["heap_bytes"], 70);
  memory.state = kResidentHeapCut;
  const nlohmann::ordered_json json = resident_numbers(memory);
  EXPECT_EQ(json["rss_bytes"], 100);
  EXPECT_EQ(json["files_bytes"], 20);
  for (const char* name : {"heap_bytes", "slack_bytes", "free_bytes", "anonymous_bytes", "memprof_bytes"}) {
    EXPECT_TRUE(json[name].is_null()) << name;
  }
  EXPECT_FALSE(json.contains("state"));
}

TEST(ResidentJson, ANumberThatIsNotKnownIsNull) {
  EXPECT_EQ(number_or_null(true, 3), 3);
  EXPECT_TRUE(number_or_null(false, 3).is_null());
}

}  // namespace
}  // namespace memprof::profile
