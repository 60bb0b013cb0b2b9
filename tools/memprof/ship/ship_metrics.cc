// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/ship_metrics.h"

#include <fmt/format.h>

#include <utility>

#include "memprof/console/console.h"
#include "memprof/io/http/metric_text.h"
#include "profile/files/atomic_file.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

struct TargetMetric {
  const char* name;
  const char* kind;
  const char* help;
  double (*of)(const TargetFigures& target);
};

// clang-format off
const TargetMetric kTargetMetrics[] = {
  {"accepted_total", "counter", "Looks that the target took.", [](const TargetFigures& t) { return static_cast<double>(t.counts.accepted); }},
  {"accepted_alloc_bytes_total", "counter", "Allocated bytes in them.", [](const TargetFigures& t) { return static_cast<double>(t.counts.accepted_bytes); }},
  {"repeats_total", "counter", "Looks sent again that the target may have had.", [](const TargetFigures& t) { return static_cast<double>(t.counts.repeats); }},
  {"retries_total", "counter", "Attempts that failed and are made again.", [](const TargetFigures& t) { return static_cast<double>(t.counts.retries); }},
  {"refused_total", "counter", "Looks dropped because the target will never take them.", [](const TargetFigures& t) { return static_cast<double>(t.counts.refused); }},
  {"refused_alloc_bytes_total", "counter", "Allocated bytes in them.", [](const TargetFigures& t) { return static_cast<double>(t.counts.refused_bytes); }},
  {"partly_total", "counter", "Looks of which the target rejected a part; which one is not known.", [](const TargetFigures& t) { return static_cast<double>(t.counts.partly); }},
  {"partly_alloc_bytes_total", "counter", "Allocated bytes in them.", [](const TargetFigures& t) { return static_cast<double>(t.counts.partly_bytes); }},
  {"rejected_profiles_total", "counter", "Profiles that the target said it rejected (partial_success of OTLP).", [](const TargetFigures& t) { return static_cast<double>(t.counts.rejected_profiles); }},
  {"expired_total", "counter", "Looks dropped because they waited too long.", [](const TargetFigures& t) { return static_cast<double>(t.counts.expired); }},
  {"expired_alloc_bytes_total", "counter", "Allocated bytes in them.", [](const TargetFigures& t) { return static_cast<double>(t.counts.expired_bytes); }},
  {"damaged_total", "counter", "Looks dropped because their file was damaged.", [](const TargetFigures& t) { return static_cast<double>(t.counts.damaged); }},
  {"waiting", "gauge", "Looks that wait for the target.", [](const TargetFigures& t) { return static_cast<double>(t.waiting); }},
  {"up", "gauge", "1: the target took the last look.", [](const TargetFigures& t) { return t.problem.empty() ? 1.0 : 0.0; }},
};
// clang-format on

void add_stall(const MemoryStall& stall, std::string* text) {
  *text +=
      "# HELP memprof_ship_memory_stall_ratio Share of the last ten seconds in which a process waited for memory (some), "
      "and all at once (full): of the group that waited the most, or of the machine.\n"
      "# TYPE memprof_ship_memory_stall_ratio gauge\n";
  for (const auto& [kind, percent] : {std::pair("some", stall.some), std::pair("full", stall.full)}) {
    *text += fmt::format("memprof_ship_memory_stall_ratio{{of=\"{}\",kind=\"{}\"}} {:.4f}\n",
                         stall.is_of_machine ? "machine" : "group", kind, percent / 100);
  }
}

}  // namespace

std::string metrics_text(const LookCounts& looks, const std::vector<TargetFigures>& targets,
                         uint64_t spool_bytes) {
  std::string text;
  add_metric("ship_looks_total", "counter", "Looks put into the spool.", static_cast<double>(looks.looks),
             &text);
  add_metric("ship_delayed_total", "counter", "Looks delayed because the spool had no room.",
             static_cast<double>(looks.delayed), &text);
  add_metric("ship_unreadable_total", "counter", "Looks at processes that could not be read.",
             static_cast<double>(looks.unreadable), &text);
  add_metric("ship_lost_ends_total", "counter", "Processes whose last allocations were not seen.",
             static_cast<double>(looks.lost_ends), &text);
  add_metric("ship_known_total", "counter", "Looks at processes that read only the values of known stacks.",
             static_cast<double>(looks.known), &text);
  add_metric("ship_new_stacks_total", "counter", "Stacks that were new at such looks.",
             static_cast<double>(looks.new_stacks), &text);
  add_metric("ship_small_stacks_total", "counter", "Stacks sent as (small stacks).",
             static_cast<double>(looks.small_stacks), &text);
  add_metric("ship_pressed_total", "counter",
             "Looks because the memory of a group was short, or because of the OOM killer.",
             static_cast<double>(looks.pressed), &text);
  add_metric("ship_oom_killed_total", "counter", "Processes that the OOM killer ended.",
             static_cast<double>(looks.oom_killed), &text);
  if (looks.stall) add_stall(*looks.stall, &text);
  add_metric("ship_processes", "gauge", "Processes of the last look.", static_cast<double>(looks.processes),
             &text);
  add_metric("ship_spool_bytes", "gauge", "Bytes that wait in the spool.", static_cast<double>(spool_bytes),
             &text);
  for (const TargetMetric& metric : kTargetMetrics) {
    text += fmt::format("# HELP memprof_ship_target_{0} {1}\n# TYPE memprof_ship_target_{0} {2}\n",
                        metric.name, metric.help, metric.kind);
    for (const TargetFigures& target : targets) {
      text += fmt::format("memprof_ship_target_{}{{target=\"{}\"}} {:.0f}\n", metric.name,
                          escaped(target.name), metric.of(target));
    }
  }
  return text;
}

std::string name_metrics_text(const profile::NameCacheCounts& counts) {
  std::string text;
  add_metric("ship_names_cached_total", "counter", "Lookups of addresses that the cache of names had.",
             static_cast<double>(counts.cached), &text);
  add_metric("ship_names_resolved_total", "counter",
             "Lookups of addresses in programs and their debug files.", static_cast<double>(counts.resolved),
             &text);
  add_metric("ship_name_cache_failures_total", "counter",
             "Files of the cache of names that could not be written.", static_cast<double>(counts.failures),
             &text);
  add_metric("ship_name_cache_bytes", "gauge", "Bytes of the cache of names when it was written last.",
             static_cast<double>(counts.bytes), &text);
  return text;
}

void write_metrics(const std::string& path, const std::string& text) {
  try {
    profile::write_file_atomically(path, text, profile::IfExists::kReplace);
  } catch (const profile::Error& error) {
    complain(std::string("ship: --metrics: ") + error.what());
  }
}

}  // namespace memprof::cli
