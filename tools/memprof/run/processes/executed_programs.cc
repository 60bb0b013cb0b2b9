// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/executed_programs.h"

#include <algorithm>
#include <set>
#include <string>

#include "memprof/doctor/doctor_allocator.h"
#include "memprof/host/program/target_program.h"

namespace memprof::cli {
namespace {

constexpr size_t kMaxPrograms = 4096;

UnseenProcess process_with(const RunTally::Process& of) {
  UnseenProcess process;
  process.pid = of.id;
  process.process_start = of.start;
  return process;
}

RunTally::Process in_tally(const UnseenProcess& process) {
  return {process.pid, process.process_start};
}

// It is gone: the file tells, or nobody.
std::string why_without(const std::string& path) {
  const TargetProgram target = inspect_target(path);  // as if it had our folder and our PATH
  if (!target.obstacle.empty()) return without_path(target.obstacle, target.elf);
  // Where its malloc is hooked, memprof begins.
  const std::string allocator = allocator_obstacle_of(target.elf, HookedAllocators::kNone);
  if (!allocator.empty()) return without_path(allocator, target.elf);
  return "was started without LD_PRELOAD in its environment (env -i, sudo ...) or as another user, or was ended at once";
}

}  // namespace

std::pair<ExecutedPrograms::Entry, ExecutedPrograms::Entry> ExecutedPrograms::of_process(uint64_t id) {
  return {found_.lower_bound({id, 0}), found_.lower_bound({id + 1, 0})};
}

void ExecutedPrograms::look() {
  if (tally_ == nullptr) return;
  for (const RunTally::Program& program : tally_->programs) {
    const uint64_t when = program.when_ns.load(std::memory_order_acquire);
    const RunTally::Process of = RunTally::process_of(program);
    if (when == 0 || of.id == 0 || tally_->is_over(of)) continue;
    std::string path;
    for (const std::atomic<char>& c : program.path) {
      const char read = c.load(std::memory_order_acquire);
      if (read == '\0') break;
      path += read;
    }
    const bool is_whole = program.when_ns.load(std::memory_order_relaxed) == when;
    if (!is_whole || found_.count({of.id, when}) != 0) continue;
    // What it executed before, it executed to the end.
    for (auto at = of_process(of.id).first; at != of_process(of.id).second;) {
      at = RunTally::is_same(in_tally(at->second), of) ? found_.erase(at) : std::next(at);
    }
    if (found_.size() >= kMaxPrograms) continue;
    UnseenProcess process = process_with(of);
    process.seen_ns = when;
    process.program = path;
    found_.emplace(std::make_pair(of.id, when), std::move(process));
  }
  for (auto at = found_.begin(); at != found_.end();) {
    at = tally_->is_over(in_tally(at->second)) ? found_.erase(at) : std::next(at);
  }
}

ExecutedPrograms::Found ExecutedPrograms::take(const std::function<bool(const UnseenProcess&)>& is_known) {
  Found found;
  if (tally_ == nullptr) return found;
  look();
  const uint64_t all = tally_->executing.load(std::memory_order_relaxed);
  uint64_t others = found_.size();
  for (size_t slot = 0; slot < RunTally::kSlots; ++slot) {
    const RunTally::Process of = tally_->executing_in(slot);
    const auto [begin, end] = of_process(of.id);
    const bool is_found = std::any_of(
        begin, end, [&](const auto& entry) { return RunTally::is_same(in_tally(entry.second), of); });
    if (of.id != 0 && !is_found && is_known(process_with(of))) ++others;
  }
  for (auto& [key, process] : found_) {
    // Also one in which memprof has just begun.
    if (is_known(process) || tally_->is_over(in_tally(process))) continue;
    process.why = why_without(process.program);
    process.program = process.program.substr(process.program.rfind('/') + 1);
    found.processes.push_back(std::move(process));
  }
  found.more = all - std::min(all, others);
  found_.clear();
  return found;
}

}  // namespace memprof::cli
