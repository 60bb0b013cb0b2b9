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

}  // namespace memprof::profile
