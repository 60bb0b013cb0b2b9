// SPDX-License-Identifier: Apache-2.0
// Profiles for the tests of comparisons: a server before and after a change.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "profile/compare/comparison.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile::comparison_fixture {

inline constexpr uint64_t kRate = 65536;

// Live samples of blocks of 64 bytes by function, all called by main.
inline ComparedProfile server(const std::string& name,
                              const std::vector<std::pair<std::string, uint64_t>>& samples,
                              uint64_t rate = kRate, uint64_t slide = 0) {
  report_fixture::Builder builder(rate);
  const uint32_t main = builder.at("main", "main.c", 3);
  for (const auto& [function, count] : samples) {
    builder.stack({builder.at(function, function + ".c", 9), main}, 64, count);
  }
  for (Mapping& mapping : builder.profile().mappings) {
    mapping.start += slide;
    mapping.limit += slide;
  }
  for (Location& location : builder.profile().locations) location.address += slide;
  return {name, builder.profile()};
}

// Exact: `ones` of NumPy holds so many blocks, in memory of an extension, for a line of the program's own.
inline ComparedProfile arrays(const std::string& name, uint64_t blocks, int64_t own_line) {
  report_fixture::Builder builder;
  builder.module("_umath.so");
  const uint32_t empty = builder.at("array_empty");
  const uint32_t ones = builder.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
  builder.stack({empty, ones, builder.python("prices", "app.py", own_line)}, 1 << 20, blocks);
  return {name, builder.profile()};
}

inline std::vector<ComparedProfile> before() {
  return {server("old.pb.gz", {{"cache", 100}, {"pool", 400}, {"steady", 50}, {"noise", 3}})};
}
inline std::vector<ComparedProfile> after() {
  ComparedProfile one =
      server("new.pb.gz", {{"noise", 5}, {"steady", 52}, {"cache", 300}, {"pool", 200}, {"fresh", 1}}, kRate,
             0x7000);
  one.profile.time_unix_ns += 60'000'000'000;
  return {one};
}

}  // namespace memprof::profile::comparison_fixture
