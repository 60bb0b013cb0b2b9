// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/unsafe_code.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TargetImage image_of(const std::vector<ImageFunction>& functions) {
  TargetImage image;
  image.code = {{0x1000, 0x9000}};
  image.functions = functions;
  return image;
}

std::string at(const UnsafeCode& code, uint64_t address) {
  const std::string* what = code.at(address);
  return what != nullptr ? *what : "safe";
}

TEST(UnsafeCode, TheAllocatorIsWhatLiesBetweenItsNeighbours) {
  UnsafeCode code;
  code.add_c_library(image_of(
      {{0x2000, 0x10, "qsort"}, {0x3000, 0x10, "malloc"}, {0x3800, 0x10, "free"}, {0x5000, 0x10, "strlen"}}));
  EXPECT_EQ(at(code, 0x200f), "safe");
  EXPECT_EQ(at(code, 0x2010), "malloc");  // a static function before malloc, perhaps
  EXPECT_EQ(at(code, 0x3400), "malloc");
  EXPECT_EQ(at(code, 0x4fff), "malloc");
  EXPECT_EQ(at(code, 0x5000), "safe");
}

TEST(UnsafeCode, FunctionsThatLock) {
  UnsafeCode code;
  code.add_c_library(image_of({{0x2000, 0x10, "fork"}, {0x3000, 0, "exit"}, {0x4000, 0x10, "getpid"}}));
  EXPECT_EQ(at(code, 0x2000), "fork");
  EXPECT_EQ(at(code, 0x2010), "safe");
  EXPECT_EQ(at(code, 0x3000), "exit");
  EXPECT_EQ(at(code, 0x4000), "safe");
}

TEST(UnsafeCode, WholeImages) {
  UnsafeCode code;
  code.add_image(image_of({}), "the loader");
  EXPECT_EQ(at(code, 0x1000), "the loader");
  EXPECT_EQ(at(code, 0x8fff), "the loader");
  EXPECT_EQ(at(code, 0x9000), "safe");
}

TEST(UnsafeCode, FunctionsThatHoldNothingAreExcepted) {
  UnsafeCode code;
  const TargetImage image = image_of({{0x2000, 0x10, "malloc"}, {0x3000, 0x20, "syscall"}});
  code.add_image(image, "memprof");
  code.except(image, "syscall");
  code.except(image, "no such function");
  EXPECT_EQ(at(code, 0x2fff), "memprof");
  EXPECT_EQ(at(code, 0x3000), "safe");
  EXPECT_EQ(at(code, 0x301f), "safe");
  EXPECT_EQ(at(code, 0x3020), "memprof");
}

}  // namespace
}  // namespace memprof::cli
