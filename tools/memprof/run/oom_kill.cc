// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/oom_kill.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/memory/peak_text.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/report/report.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

uint64_t limit_of(const std::string& root) {
  const uint64_t limit = group_memory_limit(root);
  return limit == UINT64_MAX ? 0 : limit;
}

uint64_t resident_bytes(const ProcessProfile& process) {
  return std::max(process.max_resident_bytes, process.own_max_resident_bytes);
}

// "; handle held 61 % of 480.2 MiB": the first row of its report.
std::string holder_text(const std::string& path) try {
  profile::ReportOptions options;
  options.max_rows = 1;
  const profile::Report report = profile::build_report(profile::read_pprof_file(path), options);
  const size_t metric = profile::metric_index(report.metric);
  const double whole = report.totals[metric].value;
  if (report.rows.empty() || whole <= 0) return "";
  const profile::ReportRow& row = report.rows[0];
  return fmt::format("; {} held {:.0f} % of {}", profile::printable(row.name),
                     100 * row.self[metric].value / whole, profile::format_bytes(whole));
} catch (const profile::Error&) {
  return "";
}

}  // namespace

OomWatch::OomWatch(std::string root)
    : root_(std::move(root)), before_(count_oom_kills(root_)), limit_bytes_(limit_of(root_)) {}

uint64_t OomWatch::kills() const {
  const OomKills now = count_oom_kills(root_);
  const auto since = [](std::optional<uint64_t> before, std::optional<uint64_t> after) {
    return before && after && *after > *before ? *after - *before : 0;
  };
  // The group's count has what the machine's has of it.
  return before_.in_group && now.in_group ? since(before_.in_group, now.in_group)
                                          : since(before_.on_machine, now.on_machine);
}

void mark_oom_killed(std::vector<RunOutput>* outputs, uint64_t kills, uint64_t limit_bytes, uint64_t started,
                     bool started_was_killed) {
  std::vector<RunOutput*> killed;
  for (RunOutput& output : *outputs) {
    const ProcessProfile& process = output.process;
    const bool may_be = !process.has_ended && !process.still_runs;
    if (may_be && (process.pid != started || started_was_killed)) killed.push_back(&output);
  }
  std::sort(killed.begin(), killed.end(), [](const RunOutput* a, const RunOutput* b) {
    const uint64_t bytes_a = resident_bytes(a->process);
    const uint64_t bytes_b = resident_bytes(b->process);
    return bytes_a != bytes_b ? bytes_a > bytes_b : a->process.pid < b->process.pid;
  });
  for (size_t i = 0; i < killed.size() && i < kills; ++i) {
    killed[i]->is_oom_killed = true;
    killed[i]->memory_limit_bytes = limit_bytes;
  }
}

std::string oom_kill_line(const RunOutput& output) {
  return fmt::format("{} (pid {}) was {}{}", output.process.program, output.process.pid,
                     profile::oom_kill_text(output.memory_limit_bytes), holder_text(output.path));
}

}  // namespace memprof::cli
