// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/start_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "memprof.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNobody = uint64_t{1} << 31;

TEST(StartSettings, AreAskedOfTheLibrary) {
  AttachOptions options;
  options.rate_bytes = 4096;
  options.budget_ppm = 5000;
  options.python = false;
  options.mappings = options.follow_fork = options.native_interpreter = true;
  const std::string bytes = library_options(options);
  memprof_options asked{};
  ASSERT_EQ(bytes.size(), sizeof(asked));
  std::memcpy(&asked, bytes.data(), sizeof(asked));
  EXPECT_EQ(asked.struct_size, sizeof(asked));
  EXPECT_EQ(asked.rate_bytes, 4096u);
  EXPECT_EQ(asked.budget_ppm, 5000u);
  EXPECT_EQ(asked.python, 1u);
  EXPECT_EQ(asked.mappings, 1u);
  EXPECT_EQ(asked.follow_fork, 1u);
  EXPECT_EQ(asked.native_interpreter, 1u);
}

TEST(StartSettings, WhatStandsInTheWay) {
  AttachOptions options;
  EXPECT_EQ(why_not_started(kNobody, false, MEMPROF_STATE_UNINITIALIZED, options), "");
  EXPECT_EQ(why_not_started(kNobody, true, MEMPROF_STATE_STOPPED, options), "");
  EXPECT_THAT(why_not_started(kNobody, true, MEMPROF_STATE_ACTIVE, options),
              HasSubstr("at work there already"));
  EXPECT_THAT(why_not_started(kNobody, false, MEMPROF_STATE_STOPPED, options),
              HasSubstr("linked into the program"));
  options.budget_ppm = 5000;
  EXPECT_EQ(why_not_started(kNobody, true, MEMPROF_STATE_UNINITIALIZED, options), "");
  EXPECT_THAT(why_not_started(kNobody, true, MEMPROF_STATE_STOPPED, options), HasSubstr("without --budget"));
}

TEST(StartSettings, WhereNothingWasStartedThereIsNoState) {
  EXPECT_EQ(state_there(kNobody), static_cast<uint32_t>(MEMPROF_STATE_UNINITIALIZED));
  EXPECT_THAT(why_start_failed(kNobody, MEMPROF_ERR_STATE), HasSubstr("memprof cannot start: "));
  EXPECT_THAT(not_loaded(12), HasSubstr("`memprof attach 12`"));
}

}  // namespace
}  // namespace memprof::cli
