// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

// The sum goes on in a further line before a part that has no room, below where the first one begins.
class SumLines {
 public:
  explicit SumLines(const std::string& begin) : lines_{begin} {}
  void add(const std::string& part) {
    constexpr size_t kWidth = 112;
    if (lines_.back().size() + 1 + part.size() > kWidth) lines_.emplace_back(10, ' ');
    lines_.back() += ' ' + part;
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// A part below this is not worth a place in one line.
double least_shown(const ResidentMemory& m) {
  constexpr double kFew = 0.001;
  return kFew * static_cast<double>(m.total_bytes);
}

void add_unexplained(const ResidentMemory& m, SumLines* lines) {
  const double in_heap = m.unexplained_heap_bytes();
  const double elsewhere = m.unexplained_bytes() - in_heap;
  lines->add("+ not explained " + bytes(m.unexplained_bytes()));
  const double least = least_shown(m);
  if (in_heap < -least) {
    lines->add(
        fmt::format("({} in mappings of nobody that is known; the heap's estimate is {} above what there is)",
                    bytes(elsewhere), bytes(-in_heap)));
  } else if (in_heap >= least && std::abs(elsewhere) >= least) {
    lines->add(fmt::format("({} in the allocator's memory, {} in mappings of nobody that is known)",
                           bytes(in_heap), bytes(elsewhere)));
  }
}

// Parts of parts above: nothing here is added to them.
std::string js_line(const ResidentMemory& m) {
  const uint64_t live = std::min(m.js_live_bytes, m.js_used_bytes);
  return fmt::format(
      "           V8 counts {} of its heap in memory: live objects {}, garbage {}, room {}; machine code "
      "{} of it; its objects keep {} of the blocks",
      bytes(m.js_bytes), bytes(live), bytes(m.js_used_bytes - live),
      bytes(m.js_bytes - std::min(m.js_used_bytes, m.js_bytes)), bytes(m.js_code_bytes),
      bytes(m.js_external_bytes));
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
  SumLines sum(fmt::format("{:<10} {} (RSS{}): heap in use {}", "Resident:", bytes(m.total_bytes),
                           is_before_end ? " at the end" : "", bytes(m.live_bytes)));
  if (m.absent_bytes != 0) sum.add(fmt::format("- {} of it not in memory", bytes(m.absent_bytes)));
  sum.add(fmt::format("+ slack of blocks {}", bytes(m.slack_bytes)));
  if ((m.state & kResidentFreeKnown) != 0) {
    sum.add(fmt::format("+ free, kept by the allocator {}{}",
                        (m.state & kResidentFreeCut) != 0 ? "at least " : "", bytes(m.free_bytes)));
  }
  const std::string runtime = runtime_heap_name(m);
  for (const Part& part : other_parts(m, runtime)) {
    if (part.value != 0) sum.add(fmt::format("+ {} {}", part.name, bytes(part.value)));
  }
  add_unexplained(m, &sum);
  std::vector<std::string> lines = sum.take();
  std::string third = fmt::format(
      "           fragmentation {:.0f} %: of the allocators' {} in memory {} are not blocks of the program",
      100 * m.fragmentation(), bytes(m.heap_bytes),
      bytes(m.fragmentation() * static_cast<double>(m.heap_bytes)));
  if (m.swap_bytes != 0) third += fmt::format("; swapped out: {}", bytes(m.swap_bytes));
  lines.push_back(third);
  if (m.js_bytes != 0) lines.push_back(js_line(m));
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
