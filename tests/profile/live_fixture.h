// SPDX-License-Identifier: Apache-2.0
// Looks at a made-up process, for the tests of the live view.
#pragma once

#include <cstdint>

#include "profile/live/live_model.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile::live_fixture {

constexpr uint64_t kSecondNs = 1'000'000'000;

// `seconds` after the first look: `leak` holds so many blocks of 1 MiB, `churn` has allocated so many and
// holds none; `leak` lies in a library.
inline LiveLook look_at(uint64_t seconds, uint64_t leaked, uint64_t churned) {
  report_fixture::Builder builder;
  const uint32_t main = builder.at("main");
  const uint32_t churn = builder.at("churn");
  builder.module("libleak.so");
  const uint32_t leak = builder.at("leak", "leak.c", 7);
  if (leaked != 0) builder.stack({leak, main}, 1 << 20, leaked, leaked);
  builder.stack({churn, main}, 1 << 20, churned, 0);
  LiveLook look;
  look.profile = builder.profile();
  look.profile.time_unix_ns += seconds * kSecondNs;
  return look;
}

// The same with blocks of 1 MiB that a line of NumPy holds, in memory of an extension, for a line of the program's own.
inline LiveLook arrays_at(uint64_t seconds, uint64_t blocks) {
  report_fixture::Builder builder;
  builder.module("_umath.so");
  const uint32_t empty = builder.at("array_empty");
  const uint32_t ones = builder.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
  builder.stack({empty, ones, builder.python("prices", "app.py", 4)}, 1 << 20, blocks);
  LiveLook look;
  look.profile = builder.profile();
  look.profile.time_unix_ns += seconds * kSecondNs;
  return look;
}

// The names of the rows in their order.
inline std::string names(const LiveModel& model) {
  std::string text;
  for (const LiveRow& row : model.rows()) text += (text.empty() ? "" : " ") + row.of->name;
  return text;
}

}  // namespace memprof::profile::live_fixture
