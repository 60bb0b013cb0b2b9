// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/profile_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "profile/files/gzip.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kMuch = uint64_t{1} << 30;

TEST(ProfileBytes, AFormIsKnownHoweverTheBytesCome) {
  const std::string text = "heap_v2/1\n" + std::string(200, 'x');
  for (const size_t piece : {1, 7, 63, 64, 65, 300}) {
    ByteCheck check("x", kMuch, Accept::kForeignToo);
    for (size_t at = 0; at < text.size(); at += piece) check.take(std::string_view(text).substr(at, piece));
    EXPECT_EQ(check.end(), Form::kForeign) << piece;
  }
}

TEST(ProfileBytes, ZerosAreRefusedAtTheirBeginning) {
  ByteCheck check("x", kMuch, Accept::kForeignToo);
  EXPECT_THROW(check.take(std::string(100, '\0')), Error);
}

TEST(ProfileBytes, WhoAsksForPprofGetsNothingElse) {
  EXPECT_THROW(unpack_profile("heap_v2/1\n", "x", {}, Accept::kPprof), Error);
  EXPECT_THROW(unpack_profile(gzip("heap_v2/1\n"), "x", {}, Accept::kPprof), Error);
}

TEST(ProfileBytes, SizesAreThoseOfTheFile) {
  const std::string text = "heap_v2/1\n" + std::string(5000, ' ');
  const std::string packed = gzip(text);
  const ProfileBytes bytes = unpack_profile(packed, "x", {}, Accept::kForeignToo);
  EXPECT_EQ(bytes.data, text);
  EXPECT_EQ(bytes.stored_bytes, packed.size());
  EXPECT_EQ(bytes.form, Form::kForeign);
}

TEST(ProfileBytes, AFileThatIsNotThere) {
  EXPECT_THROW(read_profile_bytes("/nowhere/x", {}, Accept::kPprof), Error);
}

}  // namespace
}  // namespace memprof::profile
