// SPDX-License-Identifier: Apache-2.0
#include "profile/report/resident_text.h"

#include <fmt/format.h>

#include <cmath>

#include "profile/text/units.h"

namespace memprof::profile {
namespace {

std::string bytes(double value) {
  return (value < 0 ? "-" : "") + format_bytes(std::abs(value));
}

std::string bytes(uint64_t value) {
  return format_bytes(static_cast<double>(value));
}

struct Part {
  const char* name;
  uint64_t value;
};

// Mappings that are no allocator's.
std::vector<Part> other_parts(const ResidentMemory& m, const std::string& runtime) {
  return {{"files and static data", m.files_bytes}, {"shared memory", m.shared_bytes},
          {"thread stacks", m.stacks_bytes},        {"code made at run time", m.code_bytes},
          {runtime.c_str(), m.runtime_bytes},       {"memprof", m.memprof_bytes}};
}

// A part below this is not worth a place in one line.
double least_shown(const ResidentMemory& m) {
  constexpr double kFew = 0.001;
  return kFew * static_cast<double>(m.total_bytes);
}

std::string unexplained(const ResidentMemory& m) {
  const double in_heap = m.unexplained_heap_bytes();
  const double elsewhere = m.unexplained_bytes() - in_heap;
  std::string text = "not explained: " + bytes(m.unexplained_bytes());
  const double least = least_shown(m);
  if (in_heap < -least) {
    return text +
           fmt::format(
               " ({} in mappings of nobody that is known; the heap's estimate is {} above what there is)",
               bytes(elsewhere), bytes(-in_heap));
  }
  if (in_heap >= least && std::abs(elsewhere) >= least) {
    text += fmt::format(" ({} in the allocator's memory, {} in mappings of nobody that is known)",
                        bytes(in_heap), bytes(elsewhere));
  }
  return text;
}

}  // namespace

std::string runtime_heap_name(const ResidentMemory& memory) {
  switch (static_cast<ResidentRuntime>(memory.runtime)) {
    case ResidentRuntime::kV8:
      return "V8's heap";
    case ResidentRuntime::kJvm:
      return "the JVM's heap";
    case ResidentRuntime::kGo:
      return "Go's heap";
    case ResidentRuntime::kDotNet:
      return ".NET's heap";
    case ResidentRuntime::kNone:
      break;
  }
  return {};
}

std::vector<std::string> resident_lines(const ResidentMemory& m, bool is_before_end) {
  if (!m.is_known()) return {};
  std::vector<std::string> lines;
  std::string first = fmt::format("{:<10} {} (RSS{}): heap in use {}", "Resident:", bytes(m.total_bytes),
                                  is_before_end ? " at the end" : "", bytes(m.live_bytes));
  if (m.absent_bytes != 0) first += fmt::format(" - {} of it not in memory", bytes(m.absent_bytes));
  first += fmt::format(" + slack of blocks {}", bytes(m.slack_bytes));
  if ((m.state & kResidentFreeKnown) != 0) {
    first += fmt::format(" + free, kept by the allocator {}{}",
                         (m.state & kResidentFreeCut) != 0 ? "at least " : "", bytes(m.free_bytes));
  }
  lines.push_back(first);
  std::string second = "          ";
  const std::string runtime = runtime_heap_name(m);
  for (const Part& part : other_parts(m, runtime)) {
    if (part.value != 0) second += fmt::format(" + {} {}", part.name, bytes(part.value));
  }
  lines.push_back(second + (m.unexplained_bytes() < 0 ? "; " : " + ") + unexplained(m));
  std::string third = fmt::format(
      "           fragmentation {:.0f} %: of the allocators' {} in memory {} are not blocks of the program",
      100 * m.fragmentation(), bytes(m.heap_bytes),
      bytes(m.fragmentation() * static_cast<double>(m.heap_bytes)));
  if (m.swap_bytes != 0) third += fmt::format("; swapped out: {}", bytes(m.swap_bytes));
  lines.push_back(third);
  if ((m.state & kResidentCut) != 0) {
    lines.push_back("           Not all mappings were looked at: it would have taken the program's time.");
  }
  return lines;
}

std::string resident_line(const ResidentMemory& m) {
  if (!m.is_known()) return {};
  std::string text = fmt::format("{} (heap {}", bytes(m.total_bytes), bytes(m.blocks_bytes()));
  const double least = least_shown(m);
  const std::string runtime = runtime_heap_name(m);
  std::vector<Part> parts{{"slack", m.slack_bytes}, {"kept free", m.free_bytes}};
  for (const Part& part : other_parts(m, runtime)) parts.push_back(part);
  for (const Part& part : parts) {
    if (static_cast<double>(part.value) >= least)
      text += fmt::format(", {} {}", part.name, bytes(part.value));
  }
  return text + fmt::format(", not explained {})", bytes(m.unexplained_bytes()));
}

}  // namespace memprof::profile
