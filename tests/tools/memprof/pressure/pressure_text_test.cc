// SPDX-License-Identifier: Apache-2.0
#include "memprof/pressure/pressure_text.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

Pressure at_mark() {
  Pressure pressure;
  pressure.limit_bytes = 200 << 20;
  pressure.used_bytes = 191 << 20;
  pressure.passed_percent = 95;
  return pressure;
}

TEST(PressureText, OfAMarkItSaysTheUse) {
  Pressure pressure = at_mark();
  EXPECT_EQ(pressure_text(pressure), "uses 191.0 MiB of the 200.0 MiB that it may have (95 %)");
  EXPECT_EQ(stall_text(pressure), "");
  pressure.stall = MemoryStall{0.05, 0, false};
  EXPECT_EQ(stall_text(pressure), "") << "next to nothing";
  pressure.stall = MemoryStall{12.34, 4, false};
  EXPECT_EQ(stall_text(pressure),
            "; its processes waited for memory in 12.3 % of the last 10 s, all at once in 4.0 %");
  pressure.stall->is_of_machine = true;
  EXPECT_EQ(stall_text(pressure),
            "; processes of the machine waited for memory in 12.3 % of the last 10 s, all at once in 4.0 %");
}

TEST(PressureText, OfAStallItSaysTheTime) {
  Pressure pressure;
  pressure.is_stalled = true;
  pressure.stall = MemoryStall{20, 4, false};
  EXPECT_EQ(pressure_text(pressure), "waited for memory in 20.0 % of the last 10 s, all at once in 4.0 %");
  EXPECT_EQ(stall_text(pressure), "") << "it is said";
}

TEST(PressureText, AProfileHasTheFigures) {
  profile::ProfileFacts facts;
  Pressure pressure = at_mark();
  note_pressure(pressure, &facts);
  EXPECT_EQ(facts.pressure_percent, 95u);
  EXPECT_EQ(facts.memory_limit_bytes, 200u << 20);
  EXPECT_EQ(facts.memory_used_bytes, 191u << 20);
  EXPECT_FALSE(facts.is_memory_stalled);
  EXPECT_EQ(facts.stall_some_ppm, 0u);
  pressure.is_stalled = true;
  pressure.stall = MemoryStall{12.34, 4, true};
  note_pressure(pressure, &facts);
  EXPECT_TRUE(facts.is_memory_stalled);
  EXPECT_EQ(facts.stall_some_ppm, 123'400u);
  EXPECT_EQ(facts.stall_full_ppm, 40'000u);
  EXPECT_TRUE(facts.is_stall_of_machine);
}

}  // namespace
}  // namespace memprof::cli
