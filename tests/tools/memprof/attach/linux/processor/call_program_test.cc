// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/processor/call_program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

namespace memprof::cli {
namespace {

template <typename T>
T at(const std::string& image, uint64_t offset) {
  T value;
  memcpy(&value, image.data() + offset, sizeof(value));
  return value;
}

TEST(CallProgram, StepsLieBehindTheHeader) {
  CallProgram program(0x10000, 0x777);
  CallStep step;
  step.kind = CallStep::kFunction;
  step.function = 0x1234;
  const size_t first = program.add(step);
  const size_t second = program.add(step);
  program.on_failure(first, CallStep::kIfZero, second);
  EXPECT_EQ(program.address_of_step(0), 0x10000 + sizeof(CallHeader));
  EXPECT_EQ(program.address_of_step(1), 0x10000 + sizeof(CallHeader) + sizeof(CallStep));
  EXPECT_EQ(at<CallHeader>(program.image(), 0).context, 0x777u);
  const auto written = at<CallStep>(program.image(), program.address_of_step(first) - 0x10000);
  EXPECT_EQ(written.function, 0x1234u);
  EXPECT_EQ(written.failure, CallStep::kIfZero);
  EXPECT_EQ(written.on_failure, program.address_of_step(second));
  // What is behind the last one ends the program.
  EXPECT_EQ(at<CallStep>(program.image(), program.address_of_step(second + 1) - 0x10000).kind,
            CallStep::kEnd);
}

TEST(CallProgram, DataLieBehindTheSteps) {
  CallProgram program(0x10000, 0);
  const uint64_t text = program.add_data("abc");
  const uint64_t more = program.add_data("d");
  EXPECT_GE(text, program.address_of_step(CallProgram::kMaxSteps));
  EXPECT_GT(more, text + 3);
  EXPECT_EQ(more % 16, 0u);
  EXPECT_EQ(program.image().substr(text - 0x10000, 3), "abc");
}

TEST(CallProgram, Limits) {
  CallProgram program(0, 0);
  for (size_t i = 0; i + 1 < CallProgram::kMaxSteps; ++i) program.add({});
  EXPECT_THROW(program.add({}), std::length_error);
  EXPECT_THROW(program.add_data(std::string(CallProgram::kBytes, 'x')), std::length_error);
}

}  // namespace
}  // namespace memprof::cli
