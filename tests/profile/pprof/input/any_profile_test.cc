// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/input/any_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "profile/files/gzip.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = "heap_v2/1\n@ 0x10 0x20\nt*: 3: 300 [0: 0]\n@ 0x11 0x20\nt*: 1: 50 [0: 0]\n";
constexpr char kJson[] =
    R"({"head":{"callFrame":{},"selfSize":0,"children":[{"callFrame":{"functionName":"f"},"selfSize":7}]}})";

Profile pprof_profile() {
  Profile profile;
  Stack stack;
  stack.values[metric_index(Metric::kInuseSpace)] = 11;
  profile.stacks.push_back(stack);
  profile.has_metric[metric_index(Metric::kInuseSpace)] = true;
  return profile;
}

double live_bytes(const Profile& profile) {
  double sum = 0;
  for (const Stack& stack : profile.stacks) sum += stack.values[metric_index(Metric::kInuseSpace)];
  return sum;
}

// Writes the bytes to a pipe in pieces, as a program that takes its time does.
double live_bytes_of_pipe(const std::string& bytes, size_t piece_bytes) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  std::thread writer([&] {
    for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
      const std::string piece = bytes.substr(at, piece_bytes);
      EXPECT_EQ(::write(ends[1], piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    }
    ::close(ends[1]);
  });
  const Profile profile = read_any_from(ends[0], "pipe");
  writer.join();
  ::close(ends[0]);
  return live_bytes(profile);
}

TEST(AnyProfile, EachFormPlainAndInGzipFromMemoryAndFromAPipe) {
  const std::string pprof = write_pprof(pprof_profile(), {false});
  for (const auto& [bytes, live] :
       {std::pair(std::string(kText), 350.0), std::pair(std::string(kJson), 7.0), std::pair(pprof, 11.0)}) {
    for (const std::string& stored : {bytes, gzip(bytes)}) {
      EXPECT_EQ(live_bytes(read_any(stored, "x")), live);
      EXPECT_EQ(live_bytes_of_pipe(stored, stored.size()), live);
      EXPECT_EQ(live_bytes_of_pipe(stored, 1), live);
    }
  }
}

std::string any_error_of(const std::string& data, const ReadOptions& options = {}) {
  try {
    static_cast<void>(read_any(data, "x", options));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AnyProfile, WhatIsNoneIsToldWithItsName) {
  EXPECT_THAT(any_error_of(""), HasSubstr("x: the file is empty"));
  EXPECT_THAT(any_error_of(gzip("")), HasSubstr("x: the file is empty inside its gzip"));
  EXPECT_THAT(any_error_of("[1]"),
              HasSubstr("x: not a pprof profile, or a truncated one (it looks like JSON)"));
  EXPECT_THAT(any_error_of(gzip("heap_v2/1\n@ zz\n")), HasSubstr("x:2: a stack has an address"));
  ReadOptions one_type;
  one_type.sample_type = "inuse_space";
  EXPECT_THAT(any_error_of(kText, one_type), HasSubstr("which has no sample types"));
}

TEST(AnyProfile, ATextThatUnpacksToMuchIsRefused) {
  ReadOptions options;
  options.max_decompressed_bytes = 1 << 20;
  const std::string text = "heap_v2/1\n" + std::string(size_t{4} << 20, ' ');
  EXPECT_THAT(any_error_of(gzip(text), options), HasSubstr("unpacks to more than 1048576 bytes"));
  EXPECT_EQ(any_error_of(gzip(text)), "");
}

}  // namespace
}  // namespace memprof::profile
