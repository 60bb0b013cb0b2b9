// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/shipped_process.h"

#include <sys/stat.h>

#include <iterator>
#include <string_view>
#include <utility>

#include "memprof/console/failure.h"
#include "memprof/host/process/arena_folders.h"
#include "memprof/host/process/container_id.h"
#include "memprof/host/process/process_facts.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/host/system/file_facts.h"
#include "memprof/ship/debuginfo/build_note.h"
#include "profile/files/descriptor.h"
#include "profile/files/regular_file.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

constexpr char kServiceVariable[] = "OTEL_SERVICE_NAME";
constexpr size_t kMaxNames = 300'000;  // some 100 MB

// What a pod's description gives to its containers by the downward interface, as is usual.
const std::map<std::string, const char*> kUsualVariables = {
    {"k8s_pod_name", "POD_NAME"}, {"k8s_namespace_name", "POD_NAMESPACE"}, {"k8s_node_name", "NODE_NAME"}};

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Of its executable.
std::string build_id_of(uint64_t pid) {
  struct stat status{};
  const profile::Descriptor file(
      profile::open_regular_file(executable_of(pid), profile::Links::kFollow, &status));
  return file.get() >= 0 ? read_build_note(file.get()).build_id : "";
}

bool is_of_others(const std::string& path) {
  FileFacts facts;
  return read_file_facts(path, &facts) != 0 || !facts.is_file || !may_change_of(facts.user_id);
}

}  // namespace

std::optional<Labels> labels_of(const RunningProcess& process,
                                const std::map<std::string, std::string>& environment,
                                const LabelRules& rules, std::optional<uint64_t> container_of) {
  Labels labels = rules.fixed;
  const auto add = [&](const std::string& name, const std::string& text) {
    const std::string value = bounded_label_value(text);
    if (!value.empty() && labels.size() < kMaxLabels) labels.emplace(name, value);
  };
  const auto add_variable = [&](const std::string& name, const std::string& variable) {
    const auto found = environment.find(variable);
    if (found != environment.end()) add(name, found->second);
  };
  for (const auto& [name, variable] : rules.from_environment) add_variable(name, variable);
  add_variable(kServiceLabel, kServiceVariable);
  const std::string program = process.program.empty() ? "unknown" : process.program;
  add(kServiceLabel, program);
  add("program", program);
  if (rules.has_pid) add("pid", std::to_string(process.pid));
  const uint64_t contained = container_of.value_or(process.pid);
  if (rules.has_container) add("container_id", container_id_of(contained));
  for (const auto& [name, variable] : kUsualVariables) add_variable(name, variable);
  const auto special = [&](const std::string& name) -> std::string {
    if (name == kPidName) return std::to_string(process.pid);
    if (name == kContainerName) return container_id_of(contained);
    if (name == kBuildName) return container_of ? "" : build_id_of(process.pid);
    const auto variable = environment.find(name.substr(std::string_view(kVariablePrefix).size()));
    return variable != environment.end() ? variable->second : "";
  };
  if (!relabel(rules.relabel, special, &labels)) return std::nullopt;
  return labels;
}

ShippedProcesses::ShippedProcesses(LabelRules rules, std::vector<RunningProcess> only, bool sees_containers,
                                   std::optional<RunArenas> run)
    : rules_(std::move(rules)),
      is_chosen_(!only.empty()),
      sees_containers_(sees_containers),
      run_(std::move(run)),
      names_(std::make_shared<profile::SharedNames>()) {
  for (RunningProcess& process : only) {
    const std::string key = key_of(process.arena);
    add(std::move(process), key);
  }
}

ShippedProcesses::ShippedProcesses(LabelRules rules, std::vector<RunningProcess> only, bool sees_containers)
    : ShippedProcesses(std::move(rules), std::move(only), sees_containers, std::nullopt) {}

ShippedProcesses ShippedProcesses::of_run(LabelRules rules, RunArenas run) {
  return ShippedProcesses(std::move(rules), {}, false, std::move(run));
}

std::vector<ArenaFile> ShippedProcesses::arenas() const {
  if (run_) return find_arenas(run_->folder);
  std::vector<ArenaFile> files;
  for (const std::string& place : arena_places()) {
    for (ArenaFile& file : find_arenas(place)) files.push_back(std::move(file));
    for (const RunFolder& run : run_folders(place)) {
      for (ArenaFile& file : find_arenas(run.path)) files.push_back(std::move(file));
    }
  }
  return files;
}

// In a run each program that a process executes has an arena with a name of its own; elsewhere it takes the place of the
// one before.
std::string ShippedProcesses::key_of(const std::string& path) const {
  FileFacts facts;
  if (run_ || read_file_facts(path, &facts) != 0) return name_of(path);
  return name_of(path) + "+" + std::to_string(facts.number);
}

void ShippedProcesses::find_their_next() {
  std::vector<uint64_t> replaced;
  for (const auto& [key, process] : all_) {
    if (process.looks->is_replaced()) replaced.push_back(process.looks->process().pid);
  }
  for (const uint64_t pid : replaced) {
    try {
      RunningProcess process = find_process(std::to_string(pid));
      const std::string key = key_of(process.arena);
      if (all_.count(key) == 0) add(std::move(process), key);
    } catch (const Failure&) {
      continue;  // it has ended meanwhile
    }
  }
}

void ShippedProcesses::find() {
  if (is_chosen_) {
    find_their_next();
    return;
  }
  std::set<std::string> there;
  for (const ArenaFile& file : arenas()) {
    const std::string key = key_of(file.path);
    there.insert(key);
    if (all_.count(key) == 0 && not_ours_.count(key) == 0) look_at(file, key);
  }
  for (auto known = not_ours_.begin(); known != not_ours_.end();) {
    known = there.count(*known) != 0 ? std::next(known) : not_ours_.erase(known);
  }
  if (sees_containers_) find_in_containers();
}

void ShippedProcesses::find_in_containers() {
  constexpr auto kAgain = std::chrono::seconds(30);
  if (std::chrono::steady_clock::now() >= next_all_) {
    looked_at_.clear();
    next_all_ = std::chrono::steady_clock::now() + kAgain;
  }
  std::set<uint64_t> there;
  for (const uint64_t pid : all_processes()) {
    there.insert(pid);
    if (!looked_at_.insert(pid).second || !has_other_root(pid)) continue;
    try {
      RunningProcess process = find_process(std::to_string(pid));
      const std::string key = key_of(process.arena);
      if (all_.count(key) == 0) add(std::move(process), key);
    } catch (const Failure&) {
      continue;  // it has no arena, or may not be looked at
    }
  }
  for (auto known = looked_at_.begin(); known != looked_at_.end();) {
    known = there.count(*known) != 0 ? std::next(known) : looked_at_.erase(known);
  }
}

std::vector<std::string> ShippedProcesses::keys_there() const {
  std::vector<std::string> keys;
  if (is_chosen_) return keys;
  for (const ArenaFile& file : arenas()) keys.push_back(key_of(file.path));
  for (const auto& [key, process] : all_) keys.push_back(key);  // those in containers
  return keys;
}

void ShippedProcesses::look_at(const ArenaFile& file, const std::string& key) {
  if (is_of_others(file.path) || owner_of(file) != Owner::kLives) {
    not_ours_.insert(key);
    return;
  }
  const ArenaBeginning beginning = read_beginning(file.path);
  if (!beginning.is_begun) return;  // the next time
  if (run_ && beginning.run_token != run_->token) {
    not_ours_.insert(key);
    return;
  }
  try {
    RunningProcess process = find_process(std::to_string(file.pid));
    if (name_of(process.arena) == name_of(file.path)) add(std::move(process), key);
  } catch (const Failure&) {
    return;  // it has ended meanwhile
  }
}

void ShippedProcesses::add(RunningProcess process, const std::string& key) {
  ShippedProcess shipped;
  shipped.arena = key;
  std::optional<Labels> labels = labels_of(process, read_process_facts(process.pid).environment, rules_);
  if (!labels) {
    not_ours_.insert(key);
    return;
  }
  shipped.labels = std::move(*labels);
  const std::string path = process.arena;
  shipped.looks = std::make_unique<ProcessLooks>(std::move(process), AskServers::kNo, names_);
  shipped.looks->do_without_resident();
  if (key_of(path) != key) return;  // another program's already: the next time
  all_.emplace(key, std::move(shipped));
}

std::set<uint64_t> ShippedProcesses::pids() const {
  std::set<uint64_t> pids;
  for (const auto& [arena, process] : all_) {
    if (process.looks != nullptr) pids.insert(process.looks->process().pid);
  }
  return pids;
}

void ShippedProcesses::remove(const std::string& arena) {
  not_ours_.insert(arena);
  if (run_) seen_to_their_end_.insert(arena);
  all_.erase(arena);
}

void ShippedProcesses::leave(LeftBehind left) {
  if (seen_to_their_end_.count(left.arena) != 0) return;
  auto known = all_.find(left.arena);
  if (known == all_.end()) {
    RunningProcess process;
    process.pid = left.pid;
    process.program = left.program;
    // Its own is gone; most processes of a run have that of the command.
    auto labels =
        labels_of(process, read_process_facts(own_process_id()).environment, rules_, own_process_id());
    if (!labels) return;
    known = all_.emplace(left.arena, ShippedProcess{}).first;
    known->second.arena = left.arena;
    known->second.labels = std::move(*labels);
  }
  known->second.left = std::move(left);
}

profile::Profile ShippedProcesses::left_profile(const ShippedProcess& process) {
  profile::Profile profile = profile::read_pprof_file(process.left.path);
  names_->add(profile);
  add_names(*names_, AskServers::kNo);
  names_->apply(profile);
  return profile;
}

void ShippedProcesses::remove_ended() {
  for (auto process = all_.begin(); process != all_.end();) {
    if (!process->second.has_ended()) {
      ++process;
      continue;
    }
    not_ours_.insert(process->first);
    process = all_.erase(process);
  }
}

void ShippedProcesses::bound_names() {
  if (names_->locations() < kMaxNames) return;
  names_ = std::make_shared<profile::SharedNames>();
  for (auto& [arena, process] : all_) {
    if (process.looks != nullptr) process.looks->use_names(names_);
  }
}

}  // namespace memprof::cli
