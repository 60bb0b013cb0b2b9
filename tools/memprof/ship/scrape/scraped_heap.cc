// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/scrape/scraped_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "memprof/console/failure.h"
#include "memprof/ship/looks/alloc_totals.h"
#include "memprof/ship/looks/shipped_profile.h"
#include "profile/compare/merge.h"
#include "profile/files/system_file.h"
#include "profile/fleet/fleet.h"
#include "profile/model/error.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

using Json = nlohmann::ordered_json;
using Chosen = std::vector<ShippedProcess*>;

constexpr size_t kMaxChoices = 100;
constexpr char kPid[] = "pid";
constexpr char kService[] = "service";  // short for service_name
constexpr char kLabels[] = "labels";    // a set of labels by its hash, where names and values do not tell it

std::string pid_of(const ShippedProcess& process) {
  return std::to_string(process.looks->process().pid);
}

// "": it has no such label.
std::string value_of(const ShippedProcess& process, const std::string& name) {
  if (name == kPid) return pid_of(process);
  if (name == kLabels) return label_hash(process.labels);
  return profile::label_of(process.labels, name == kService ? kServiceLabel : name);
}

Chosen all_there(ShippedProcesses& processes) {
  Chosen all;
  for (auto& [arena, process] : processes.all()) {
    if (!process.has_ended()) all.push_back(&process);
  }
  return all;
}

// Lines of what can be asked for.
std::string choices(const Chosen& all) {
  if (all.empty()) return "no process that has memprof in it, and that this user may read, runs here";
  std::map<std::string, size_t> services;
  for (const ShippedProcess* process : all) ++services[value_of(*process, kService)];
  std::string text = "ask for one of:";
  size_t lines = 0;
  const auto add = [&](const std::string& line) {
    if (++lines <= kMaxChoices) text += "\n  " + line;
  };
  for (const auto& [name, count] : services) {
    add(fmt::format("?service={}  {}", percent_encoded(name),
                    count == 1 ? "1 process" : fmt::format("{} processes", count)));
  }
  for (const ShippedProcess* process : all) {
    add(fmt::format("?pid={}  {} ({})", pid_of(*process), value_of(*process, kService),
                    process->looks->process().program));
  }
  if (lines > kMaxChoices) text += fmt::format("\n  and {} more", lines - kMaxChoices);
  return text;
}

// What would change the meaning of the answer, and is not there.
void check_go_parameter(const std::string& name, const std::string& value) {
  if (name == "seconds" && value != "0") {
    throw ScrapeRefusal(
        kHttpBadRequest,
        "seconds: there are no profiles of a time; alloc_* are since the start of the process, so leave it "
        "out, and turn delta off in the scraper");
  }
  if (name == "debug" && value != "0") {
    throw ScrapeRefusal(kHttpBadRequest,
                        "debug: there is no text, only pprof (debug=0); for text: memprof report PROFILE");
  }
  if (name == "gc" && value != "0") {
    throw ScrapeRefusal(kHttpBadRequest, "gc: no collection can be asked of the process; leave it out");
  }
}

bool is_go_parameter(const std::string& name) {
  return name == "seconds" || name == "debug" || name == "gc";
}

void check_name(const std::string& name, const Chosen& all) {
  std::set<std::string> known = {kPid, kService, kLabels};
  for (const ShippedProcess* process : all) {
    for (const auto& [label, value] : process->labels) known.insert(label);
  }
  if (known.count(name) != 0) return;
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  throw ScrapeRefusal(kHttpBadRequest,
                      "there is no parameter " + name.substr(0, kMaxLabelNameBytes) + "; there are: " + list);
}

Chosen choose(ShippedProcesses& processes, const ScrapeQuery& query) {
  const Chosen all = all_there(processes);
  Chosen chosen = all;
  bool is_named = false;
  for (const auto& [name, value] : query.parameters) {
    if (is_go_parameter(name)) {
      check_go_parameter(name, value);
      continue;
    }
    check_name(name, all);
    is_named = true;
    chosen.erase(std::remove_if(chosen.begin(), chosen.end(),
                                [&, &label = name, &wanted = value](const ShippedProcess* process) {
                                  return value_of(*process, label) != wanted;
                                }),
                 chosen.end());
  }
  if (chosen.empty()) {
    throw ScrapeRefusal(kHttpNotFound,
                        (is_named && !all.empty() ? "no process is like that; " : "") + choices(all));
  }
  if (!is_named && chosen.size() > 1) {
    throw ScrapeRefusal(kHttpBadRequest,
                        fmt::format("there are {} processes; {}", chosen.size(), choices(all)));
  }
  return chosen;
}

// The labels of which a service has several values.
std::map<std::string, std::set<std::string>> differing(const std::map<std::string, ShippedProcess*>& sets) {
  using Values = std::map<std::string, std::pair<size_t, std::set<std::string>>>;  // how many have it; which
  std::map<std::string, Values> services;
  std::map<std::string, size_t> sizes;
  for (const auto& [hash, process] : sets) {
    const std::string service = value_of(*process, kService);
    ++sizes[service];
    for (const auto& [name, value] : process->labels) {
      auto& [count, values] = services[service][name];
      ++count;
      values.insert(value);
    }
  }
  std::map<std::string, std::set<std::string>> names;
  for (const auto& [service, labels] : services) {
    for (const auto& [name, known] : labels) {
      if (known.first != sizes[service] || known.second.size() > 1) names[service].insert(name);
    }
  }
  return names;
}

// What tells the processes with these labels from the others of their service, which differ in `names`.
Labels parameters_of(const ShippedProcess& process, const std::set<std::string>& names) {
  Labels parameters = {{kService, value_of(process, kService)}};
  for (const std::string& name : names) {
    const auto label = process.labels.find(name);
    // Discovery drops a label without a value; and other words have another meaning here.
    if (label == process.labels.end() || is_go_parameter(name) || value_of(process, name) != label->second) {
      return {{kLabels, label_hash(process.labels)}};
    }
    parameters.emplace(name, label->second);
  }
  return parameters;
}

}  // namespace

std::string scraped_heap(ShippedProcesses& processes, const ScrapeQuery& query, profile::Metric metric) {
  processes.find();
  processes.bound_names();
  const Chosen chosen = choose(processes, query);
  profile::Merger merger(profile::Processes::kAddedUp);
  size_t seen = 0;
  for (ShippedProcess* process : chosen) {
    try {
      profile::Profile profile = process->looks->look(false);
      StackTotals nothing;
      take_increment(&nothing, &profile);
      merger.add(profile);
      ++seen;
    } catch (const profile::Error& error) {
      // One that ended meanwhile is no part of the sum; another one would be missing in it.
      if (!process->has_ended()) {
        throw ScrapeRefusal(kHttpUnavailable,
                            fmt::format("process {} cannot be read: {}", pid_of(*process), error.what()));
      }
    }
  }
  if (seen == 0) throw ScrapeRefusal(kHttpNotFound, "the process has ended");
  profile::Profile profile = shipped_view(merger.take());
  profile.time_unix_ns = profile::now_unix_ns();
  profile.comments = {fmt::format("served by memprof: what was allocated is that since the start; of {} {}",
                                  seen, seen == 1 ? "process" : "processes")};
  return write_shipped(std::move(profile), {}, metric).pprof;
}

std::string scrape_targets(ShippedProcesses& processes, const std::string& host) {
  processes.find();
  std::map<std::string, ShippedProcess*> sets;  // one of each set of labels
  for (ShippedProcess* process : all_there(processes)) sets.emplace(label_hash(process->labels), process);
  auto names = differing(sets);
  Json list = Json::array();
  for (const auto& [hash, process] : sets) {
    Json entry = {{"targets", {host}}, {"labels", process->labels}};
    entry["labels"]["__metrics_path__"] = kHeapPath;
    for (const auto& [name, value] : parameters_of(*process, names[value_of(*process, kService)])) {
      entry["labels"]["__param_" + name] = value;
    }
    list.push_back(std::move(entry));
  }
  return profile::json_to_text(list) + "\n";
}

}  // namespace memprof::cli
