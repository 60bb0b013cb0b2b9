// SPDX-License-Identifier: Apache-2.0
#include "profile/files/protobuf_outline.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "profile/pprof/pprof_writer.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

// In pieces of this many bytes.
bool takes(const std::string& bytes, size_t piece, uint64_t max_bytes = 1 << 20) {
  ProtobufOutline outline(max_bytes);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!outline.take(std::string_view(bytes).substr(at, piece))) return false;
  }
  return true;
}

TEST(ProtobufOutline, TakesProfilesInPiecesOfAnySize) {
  const std::string profile = write_pprof(named_profile(), {false});
  for (const size_t piece : {1, 2, 3, 7, 100, 1 << 20}) EXPECT_TRUE(takes(profile, piece)) << piece;
}

TEST(ProtobufOutline, TakesAllKindsOfFields) {
  const std::string fields(
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  // a varint of ten bytes
      "\x11"
      "12345678"
      "\x15"
      "1234"
      "\x32\0"
      "\x32\x02"
      "ab"
      "\xa2\x01\x01x",
      34);
  for (const size_t piece : {1, 5, 100}) EXPECT_TRUE(takes(fields, piece)) << piece;
}

TEST(ProtobufOutline, RefusesWhatIsNone) {
  for (const std::string& bytes :
       {std::string(1, '\0'), std::string("\x02\x01x"), std::string("{"), std::string("\x0b"),
        std::string("\x0e"), std::string(11, '\xff'), std::string("\x08") + std::string(11, '\x80')}) {
    for (const size_t piece : {1, 100}) EXPECT_FALSE(takes(bytes, piece)) << bytes;
  }
}

TEST(ProtobufOutline, RefusesMoreThanTheFileMayHave) {
  EXPECT_TRUE(takes(std::string("\x32\x04"
                                "abcd"),
                    1, 6));
  EXPECT_FALSE(takes(std::string("\x32\x05"
                                 "abcd"),
                     1, 6))
      << "a length beyond the end";
  EXPECT_FALSE(takes(std::string("\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                 "abcd"),
                     3, 100));
  EXPECT_FALSE(takes(std::string(100, '\x32'), 1, 99));
}

// It may take what the reader refuses, and never refuse what the reader takes: bytes that protobuf allows.
TEST(ProtobufOutline, DamageIsNoMoreThanRefused) {
  const std::string good = write_pprof(named_profile(), {false});
  std::mt19937 random(5);
  size_t refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    const bool is_taken = takes(bad, 1 + random() % 64, bad.size());
    EXPECT_EQ(takes(bad, bad.size(), bad.size()), is_taken) << "pieces make no difference";
    refused += is_taken ? 0 : 1;
  }
  EXPECT_GT(refused, 100u);
  EXPECT_LT(refused, 4900u);
}

}  // namespace
}  // namespace memprof::profile
