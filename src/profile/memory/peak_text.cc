// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/peak_text.h"

#include <fmt/format.h>

#include <cstdint>

#include "profile/memory/resident_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr const char* kIndent = "           ";

// Between what was resident shortly before and the most that ever was, where these differ.
bool is_range(const ProfileFacts& facts) {
  constexpr uint64_t kShown = 100;  // parts that figures are read to
  return facts.is_peak_resident_before &&
         facts.max_resident_bytes > facts.peak_resident_bytes + facts.peak_resident_bytes / kShown;
}

}  // namespace

std::vector<std::string> peak_moment_lines(const ProfileFacts& facts, double heap_bytes) {
  const auto text = [](uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  std::vector<std::string> parts;
  if (facts.peak_after_ns != 0)
    parts.push_back(fmt::format("reached after {:.1f} s", static_cast<double>(facts.peak_after_ns) / 1e9));
  if (facts.peak_resident_bytes != 0) {
    const std::string last = text(facts.peak_resident_bytes);
    parts.push_back("resident then: " +
                    (is_range(facts) ? fmt::format("{} to {}", last, text(facts.max_resident_bytes)) : last));
  }
  if (facts.max_resident_bytes != 0)
    parts.push_back("most resident (VmHWM): " + text(facts.max_resident_bytes));
  std::vector<std::string> lines;
  if (!parts.empty()) lines.push_back(fmt::format("{}{}", kIndent, fmt::join(parts, "; ")));
  if (heap_bytes <= 0 || is_range(facts)) return lines;
  const std::string divided =
      resident_at_peak(facts.peak_resident_bytes, facts.peak_files_bytes, facts.peak_free_bytes, heap_bytes);
  if (!divided.empty()) lines.push_back(kIndent + divided);
  return lines;
}

// With few samples none may be of the half that tells the peak.
std::vector<std::string> untold_peak_lines(const ProfileFacts& facts, Metric listed) {
  std::vector<std::string> lines{"Peak:      0 B: none of the samples that tell it was live then"};
  if (!facts.has_ended) return lines;
  const char* const instead = listed == Metric::kInuseSpace   ? "what was live at the end"
                              : listed == Metric::kAllocSpace ? "what was allocated"
                                                              : nullptr;
  if (instead != nullptr) lines.push_back(fmt::format("{}listed instead: {}", kIndent, instead));
  return lines;
}

std::string oom_kill_text(uint64_t memory_limit_bytes) {
  return memory_limit_bytes != 0 ? "killed by the OOM killer at the memory limit of its group, " +
                                       format_bytes(static_cast<double>(memory_limit_bytes))
                                 : "killed by the OOM killer";
}

std::string oom_kill_text(const std::string& program, uint64_t pid, uint64_t memory_limit_bytes) {
  return fmt::format("{} (pid {}) was {}", program, pid, oom_kill_text(memory_limit_bytes));
}

std::string short_of_memory_text(const ProfileFacts& facts) {
  std::string text;
  if (facts.pressure_percent != 0) {
    text = fmt::format(", at {} % of the memory limit of its group, {}", facts.pressure_percent,
                       format_bytes(static_cast<double>(facts.memory_limit_bytes)));
  } else if (facts.is_memory_stalled) {
    text = ", while processes of its group waited for memory";
  }
  if (facts.is_oom_killed) text += ", " + oom_kill_text(facts.memory_limit_bytes);
  return text;
}

std::vector<std::string> pressure_lines(const ProfileFacts& facts) {
  if (facts.pressure_percent == 0 && !facts.is_memory_stalled) return {};
  std::vector<std::string> parts;
  if (facts.pressure_percent != 0)
    parts.push_back("the group used " + format_bytes(static_cast<double>(facts.memory_used_bytes)));
  if (facts.stall_some_ppm != 0 || facts.is_memory_stalled) {
    parts.push_back(fmt::format(
        "{} waited for memory in {:.1f} % of the 10 s before, all at once in {:.1f} %",
        facts.is_stall_of_machine ? "processes of the machine" : "its processes",
        static_cast<double>(facts.stall_some_ppm) / 1e4, static_cast<double>(facts.stall_full_ppm) / 1e4));
  }
  std::vector<std::string> lines;
  if (!parts.empty()) lines.push_back(fmt::format("Pressure:  {}", fmt::join(parts, "; ")));
  return lines;
}

}  // namespace memprof::profile
