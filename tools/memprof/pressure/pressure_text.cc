// SPDX-License-Identifier: Apache-2.0
#include "memprof/pressure/pressure_text.h"

#include <fmt/format.h>

#include <cmath>

#include "profile/text/units.h"

namespace memprof::cli {
namespace {

uint64_t ppm_of(double percent) {
  return static_cast<uint64_t>(std::llround(percent * 10'000));
}

std::string bytes_text(uint64_t bytes) {
  return profile::format_bytes(static_cast<double>(bytes));
}

std::string waited_text(const MemoryStall& stall) {
  return fmt::format("waited for memory in {:.1f} % of the last 10 s, all at once in {:.1f} %", stall.some,
                     stall.full);
}

}  // namespace

void note_pressure(const Pressure& pressure, profile::ProfileFacts* facts) {
  facts->pressure_percent = static_cast<uint64_t>(pressure.passed_percent);
  facts->is_memory_stalled = pressure.is_stalled;
  facts->memory_limit_bytes = pressure.limit_bytes;
  facts->memory_used_bytes = pressure.used_bytes;
  if (!pressure.stall) return;
  facts->stall_some_ppm = ppm_of(pressure.stall->some);
  facts->stall_full_ppm = ppm_of(pressure.stall->full);
  facts->is_stall_of_machine = pressure.stall->is_of_machine;
}

std::string pressure_text(const Pressure& pressure) {
  if (pressure.passed_percent != 0) {
    return fmt::format("uses {} of the {} that it may have ({} %)", bytes_text(pressure.used_bytes),
                       bytes_text(pressure.limit_bytes), pressure.passed_percent);
  }
  return pressure.stall ? waited_text(*pressure.stall) : "";
}

std::string stall_text(const Pressure& pressure) {
  constexpr double kLittle = 0.1;
  if (pressure.passed_percent == 0 || !pressure.stall || pressure.stall->some < kLittle) return "";
  return (pressure.stall->is_of_machine ? "; processes of the machine " : "; its processes ") +
         waited_text(*pressure.stall);
}

}  // namespace memprof::cli
