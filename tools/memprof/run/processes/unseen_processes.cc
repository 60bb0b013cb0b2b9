// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/unseen_processes.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include "format/files/run_tally.h"
#include "memprof/doctor/doctor_allocator.h"
#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/memory_map.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/program/elf_facts.h"
#include "memprof/host/program/target_program.h"
#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {
namespace {

constexpr unsigned kMaxDepth = 256;  // of a chain of parents that may change while we follow it
// A program that is being executed has no environment and no library for a moment.
constexpr unsigned kLooksAtBeginning = 4;
constexpr size_t kMaxGone = 4096;
// Processes of the run are visited at so many looks after they executed a program, and then so many at each, in turn.
constexpr unsigned kVisitsOfYoung = 8;
constexpr size_t kVisitsInTurn = 8;
constexpr char kLibrary[] = "libmemprof";

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has_variable(const std::string& environment, const std::string& name, const std::string& part) {
  for (size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
    const size_t end = environment.find('\0', at);
    const std::string entry = environment.substr(at, end == std::string::npos ? end : end - at);
    if (entry.rfind(name + "=", 0) == 0 && entry.find(part) != std::string::npos) return true;
    if (end == std::string::npos) break;
  }
  return false;
}

// What stands in the way in its file; "": nothing.  *has_memprof: it is linked into it.
std::string obstacle_in_file(uint64_t pid, bool* has_memprof) {
  const std::string path = proc_path(pid, "exe");
  const TargetProgram target = inspect_target(path);
  std::string unreadable;
  const auto file = target.obstacle.empty() ? nullptr : profile::ElfFile::open(path, &unreadable);
  *has_memprof = file != nullptr && read_elf_facts(*file).has_memprof;
  const bool is_sanitized = target.obstacle.empty() && !target.can_preload;
  return without_path(is_sanitized ? allocator_obstacle_of(path, HookedAllocators::kNone) : target.obstacle,
                      path);
}

}  // namespace

UnseenProcesses::UnseenProcesses(uint64_t root, std::string token, bool follow)
    : root_(root), token_(std::move(token)), follow_(follow), recent_(root) {
  ProcessStat stat;
  if (stat.read(root_)) root_start_ = stat.start;
}

UnseenProcesses::Changes UnseenProcesses::look() {
  return look({});
}

UnseenProcesses::Changes UnseenProcesses::look(const std::vector<uint64_t>& ended) {
  if (root_start_ == 0) return {};  // no /proc
  std::vector<uint64_t> ids;
  if (!recent_.take(&ids)) return look_at_all();
  if (known_.count(root_) == 0) visit(root_);
  // A process has its id before it can be seen.
  const std::vector<uint64_t> once_more = std::move(not_there_);
  not_there_.clear();
  for (const uint64_t id : once_more) visit_new(id, true);
  for (const uint64_t id : ids) visit_new(id, false);
  for (const uint64_t pid : ended) visit(pid);
  visit_young_and_some();
  return end_look();
}

UnseenProcesses::Changes UnseenProcesses::look_at_unseen(const std::vector<uint64_t>& ended) {
  std::vector<uint64_t> pids = ended;
  for (const auto& [pid, known] : known_) {
    if (known.verdict == Verdict::kUnseen) pids.push_back(pid);
  }
  return look(pids);
}

UnseenProcesses::Changes UnseenProcesses::look_at_all() {
  if (root_start_ == 0) return {};
  std::vector<uint64_t> given;
  static_cast<void>(recent_.take(&given));  // all of them are looked at now
  not_there_ = std::move(given);            // but for what cannot be seen yet
  for (const uint64_t pid : all_processes()) visit(pid);
  std::vector<uint64_t> gone;
  for (const auto& [pid, known] : known_) {
    if (stats_.count(pid) == 0) gone.push_back(pid);
  }
  for (const uint64_t pid : gone) visit(pid);
  // A run may go on for weeks.
  for (auto other = of_others_.begin(); other != of_others_.end();) {
    const ProcessStat* const stat = stat_of(other->first);
    const bool is_there = stat != nullptr && stat->start == other->second;
    other = is_there ? std::next(other) : of_others_.erase(other);
  }
  return end_look();
}

UnseenProcesses::Changes UnseenProcesses::end_look() {
  stats_.clear();
  return std::exchange(changes_, {});
}

const ProcessStat* UnseenProcesses::stat_of(uint64_t pid) {
  const auto [entry, is_new] = stats_.try_emplace(pid);
  if (is_new) {
    ProcessStat stat;
    if (stat.read(pid)) entry->second = stat;
  }
  std::optional<ProcessStat>& known = entry->second;
  return known.has_value() ? &*known : nullptr;
}

void UnseenProcesses::visit_new(uint64_t id, bool is_last_try) {
  if (is_process_id(id)) {
    visit(id);
  } else if (!is_last_try) {
    not_there_.push_back(id);  // or it is a thread, or gone
  }
}

void UnseenProcesses::visit(uint64_t pid) {
  const ProcessStat* const stat = stat_of(pid);
  const auto known = known_.find(pid);
  if (known != known_.end() && (stat == nullptr || stat->start != known->second.process_start)) {
    keep(known->second);
    known_.erase(known);
    changes_.is_any = true;
  }
  // Who was there before the run is not of it.
  if (stat == nullptr || stat->start < root_start_) return;
  if (stat->has_memory() && is_of_run(*stat, 0)) look_at(*stat);
}

// Looks come often, so that the number of visits is limited, however many processes the run has.
void UnseenProcesses::visit_young_and_some() {
  std::vector<uint64_t> young;
  std::vector<uint64_t> others;
  const auto choose = [&](auto from, auto to) {
    for (auto at = from; at != to; ++at) {
      if (stats_.count(at->first) != 0) continue;  // it was visited
      if (at->second.visits < kVisitsOfYoung) {
        young.push_back(at->first);
      } else if (others.size() < kVisitsInTurn) {
        others.push_back(at->first);
      }
    }
  };
  const auto next = known_.upper_bound(turn_);
  choose(next, known_.end());
  choose(known_.begin(), next);
  if (!others.empty()) turn_ = others.back();
  for (const uint64_t pid : young) visit(pid);
  for (const uint64_t pid : others) visit(pid);
}

void UnseenProcesses::keep(const Known& known) {
  if (known.verdict != Verdict::kUnseen) return;
  if (gone_.size() < kMaxGone) {
    gone_.push_back(known.unseen);
  } else {
    ++more_;
  }
}

bool UnseenProcesses::is_of_run(const ProcessStat& stat, unsigned depth) {
  if (stat.pid == root_) return stat.start == root_start_;
  if (!follow_ || depth > kMaxDepth || stat.start < root_start_) return false;
  const auto known = known_.find(stat.pid);
  if (known != known_.end() && known->second.process_start == stat.start) return true;
  const ProcessStat* const parent = stat.parent != 0 ? stat_of(stat.parent) : nullptr;
  if (parent != nullptr && is_of_run(*parent, depth + 1)) return true;
  if (depth != 0 || of_others_.count({stat.pid, stat.start}) != 0) return false;
  if (has_variable(read_whole(proc_path(stat.pid, "environ")), "MEMPROF_RUN_TOKEN", token_)) return true;
  of_others_.emplace(stat.pid, stat.start);
  return false;
}

void UnseenProcesses::look_at(const ProcessStat& stat) {
  Known& known = known_[stat.pid];
  if (known.process_start == 0) {
    known.process_start = stat.start;
    changes_.begun.push_back(stat.pid);
    changes_.is_any = true;
  }
  if (known.visits == 0 || !known.is_final() || !known.stat.has_program_of(stat)) {
    const std::string program = program_of(stat.pid);
    if (known.program != program || known.stat.stack_start != stat.stack_start) {
      changes_.is_any = true;
      known.verdict = Verdict::kUnknown;
      known.unseen = {};
      known.visits = 0;
      known.looks = 0;
      known.program = program;
    }
    known.stat = stat;
  }
  ++known.visits;
  if (!known.is_final()) judge(stat.pid, &known);
  changes_.is_open |= known.verdict == Verdict::kUnknown;
  if (known.verdict == Verdict::kUnseen && known.is_final()) known.unseen.seen_ns = monotonic_ns();
}

// Of one that ended meanwhile neither file nor environment could be read; a short name it still has then.
bool UnseenProcesses::is_still_there(uint64_t pid, const Known& known) {
  return lives(pid, known.process_start) && program_of(pid) == known.program;
}

// An arena tells that it records.  The started process makes it at its start; others when they have a sample, so
// that their allocator may be hooked though they have none.
void UnseenProcesses::judge_with_library(uint64_t pid, uint64_t looked_ns, Known* known) const {
  if (known->verdict == Verdict::kUnseen) return;
  const std::string path = proc_path(pid, "exe");
  const auto hooked = pid == root_ ? HookedAllocators::kNone : HookedAllocators::kAllThatCanBe;
  const std::string why = without_path(allocator_obstacle_of(path, hooked), path);
  if (!is_still_there(pid, *known)) return;
  known->verdict = why.empty() ? Verdict::kHasMemprof : Verdict::kUnseen;
  if (!why.empty()) known->unseen = {pid, known->process_start, looked_ns, known->program, why, true};
}

void UnseenProcesses::judge(uint64_t pid, Known* known) const {
  ++known->looks;
  const uint64_t looked_ns =
      monotonic_ns();  // before the maps are read: an arena that is made meanwhile is later
  bool has_library = false;
  bool has_arena = false;
  bool has_libraries = false;  // the loader is past those that are preloaded
  const int error = visit_mapped_files(pid, [&](const MappedFile& mapped) {
    const std::string name = mapped.path.substr(mapped.path.rfind('/') + 1);
    has_arena = is_arena(name);
    has_library |= name.rfind(kLibrary, 0) == 0;
    // glibc's: musl's libc.so is the loader itself, there before anything is loaded.
    has_libraries |= mapped.is_code && name.rfind("libc.so.", 0) == 0;
    return has_arena;
  });
  const bool has_begun = has_libraries || known->looks >= kLooksAtBeginning;
  const bool is_hidden = error == EACCES || error == EPERM;
  if (error != 0 && !is_hidden) return;  // it is gone
  if (has_library && !has_arena) {
    if (has_begun) judge_with_library(pid, looked_ns, known);
    return;
  }
  std::string why;
  bool is_linked = false;
  if (is_hidden) {
    if (has_begun) why = "has other rights than memprof, which cannot look at it";
  } else if (!has_arena) {
    why = obstacle_in_file(pid, &is_linked);
    const std::string environment = read_whole(proc_path(pid, "environ"));
    if (!why.empty()) {
      // Said already.
    } else if ((has_begun || !environment.empty()) && !has_variable(environment, "LD_PRELOAD", kLibrary)) {
      why = "was started without LD_PRELOAD in its environment (env -i, sudo ...)";
    } else if (has_begun) {
      why = has_other_root(pid) ? "has another root folder, where the loader did not find libmemprof.so"
                                : "did not load libmemprof.so";
    }
    if (!is_still_there(pid, *known)) return;
  }
  if (has_arena || is_linked) {
    known->verdict = Verdict::kHasMemprof;
    known->unseen = {};
  } else if (!why.empty()) {
    known->verdict = Verdict::kUnseen;
    known->unseen = {pid, known->process_start, 0, known->program, why, false};
  }
}

bool UnseenProcesses::lives(uint64_t pid, uint64_t process_start) {
  ProcessStat stat;
  return stat.read(pid) && stat.has_memory() && RunTally::is_same({pid, stat.start}, {pid, process_start});
}

std::vector<UnseenProcess> UnseenProcesses::processes() const {
  std::vector<UnseenProcess> all = gone_;
  for (const auto& [pid, known] : known_) {
    if (known.verdict == Verdict::kUnseen) all.push_back(known.unseen);
  }
  return all;
}

}  // namespace memprof::cli
