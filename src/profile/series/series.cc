// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series.h"

#include <time.h>

#include <array>
#include <ctime>

#include "profile/report/report.h"

namespace memprof::profile {

SeriesLook figures_of(const Profile& profile, uint64_t processes) {
  constexpr size_t kMaxSites = 50;
  ReportOptions options;
  options.skip_empty = true;
  options.metric = Metric::kInuseSpace;
  options.max_rows = kMaxSites;
  const Report report = build_report(profile, options);
  SeriesLook look;
  look.time_unix_ns = profile.time_unix_ns;
  look.processes = processes;
  for (const Metric metric : kMetrics) {
    // What of blocks is in memory is read now and then only.
    if (metric_is_temporary(metric) || metric_is_resident(metric) || !report.has_metric[metric_index(metric)])
      continue;
    look.totals.emplace(metric, report.totals[metric_index(metric)]);
  }
  for (const ReportRow& row : report.rows) {
    const double live = row.self[metric_index(Metric::kInuseSpace)].value;
    if (live > 0) look.sites.push_back({row.name, row.file, row.module, row.line, live});
  }
  return look;
}

void add_resident_figures(const ResidentMemory& memory, SystemFigures* figures) {
  if (!memory.is_heap_known()) return;
  const auto add = [figures](const char* name, double bytes) {
    (*figures)[name] = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  };
  const uint64_t others = memory.files_bytes + memory.shared_bytes + memory.stacks_bytes + memory.code_bytes +
                          memory.runtime_bytes + memory.memprof_bytes;
  add("resident_blocks_bytes", memory.blocks_bytes());
  add("resident_slack_bytes", static_cast<double>(memory.slack_bytes));
  add("resident_free_bytes", static_cast<double>(memory.free_bytes));
  add("resident_others_bytes", static_cast<double>(others));
  add("resident_unexplained_bytes", memory.unexplained_bytes());
}

double live_bytes_of(const SeriesLook& look) {
  const auto live = look.totals.find(Metric::kInuseSpace);
  return live == look.totals.end() ? 0 : live->second.value;
}

std::string time_text(uint64_t time_unix_ns) {
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  const auto seconds = static_cast<time_t>(time_unix_ns / kNsPerSecond);
  tm parts{};
  std::array<char, 64> text{};
  if (localtime_r(&seconds, &parts) == nullptr) return "unknown time";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %Z", &parts)};
}

}  // namespace memprof::profile
