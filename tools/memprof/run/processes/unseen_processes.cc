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
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/memory_map.h"
#include "memprof/host/process/proc_path.h"
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
constexpr size_t kMaxKept = 4096;
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

// Of /proc/PID/stat.
struct UnseenProcesses::Stat {
  uint64_t pid = 0;
  uint64_t parent = 0;
  uint64_t start = 0;
  uint64_t stack_start = 0;  // 0: it is hidden from us
  char state = '?';

  bool has_memory() const { return state != 'Z' && state != 'X'; }

  bool read(uint64_t id) {
    const std::string text = read_whole(proc_path(id, "stat"));
    const size_t name_end = text.rfind(')');  // the name may have anything in it
    if (name_end == std::string::npos) return false;
    std::istringstream fields(text.substr(name_end + 1));
    pid = id;
    fields >> state >> parent;
    constexpr int kStart = 22;
    constexpr int kStackStart = 28;
    std::string skipped;
    for (int field = 5; field < kStart; ++field) fields >> skipped;
    fields >> start;
    for (int field = kStart + 1; field < kStackStart; ++field) fields >> skipped;
    return static_cast<bool>(fields >> stack_start);
  }
};

UnseenProcesses::UnseenProcesses(uint64_t root, std::string token, bool follow)
    : root_(root), token_(std::move(token)), follow_(follow) {
  Stat stat;
  if (stat.read(root_)) root_start_ = stat.start;
}

void UnseenProcesses::look() {
  if (root_start_ == 0) return;  // no /proc
  std::map<uint64_t, Stat> all;
  for (const uint64_t pid : all_processes()) {
    Stat stat;
    // Who was there before the run is not of it.
    if (stat.read(pid) && stat.start >= root_start_) all.emplace(pid, stat);
  }
  for (const auto& [pid, stat] : all) {
    if (stat.has_memory() && is_of_run(stat, all, 0)) look_at(stat);
  }
  forget_gone(all);
}

// A run may go on for weeks.
void UnseenProcesses::forget_gone(const std::map<uint64_t, Stat>& all) {
  const auto is_there = [&](uint64_t pid, uint64_t start) {
    const auto found = all.find(pid);
    return found != all.end() && found->second.start == start;
  };
  for (auto known = known_.begin(); known != known_.end();) {
    if (is_there(known->first, known->second.process_start)) {
      ++known;
    } else {
      keep(known->second);
      known = known_.erase(known);
    }
  }
  for (auto other = of_others_.begin(); other != of_others_.end();) {
    other = is_there(other->first, other->second) ? std::next(other) : of_others_.erase(other);
  }
}

void UnseenProcesses::keep(const Known& known) {
  if (known.verdict != Verdict::kUnseen) return;
  if (gone_.size() < kMaxKept) {
    gone_.push_back(known.unseen);
  } else {
    ++more_;
  }
}

bool UnseenProcesses::is_of_run(const Stat& stat, const std::map<uint64_t, Stat>& all, unsigned depth) {
  if (stat.pid == root_) return stat.start == root_start_;
  if (!follow_ || depth > kMaxDepth) return false;
  const auto known = known_.find(stat.pid);
  if (known != known_.end() && known->second.process_start == stat.start) return true;
  const auto parent = all.find(stat.parent);
  if (parent != all.end() && is_of_run(parent->second, all, depth + 1)) return true;
  if (depth != 0 || of_others_.count({stat.pid, stat.start}) != 0) return false;
  if (has_variable(read_whole(proc_path(stat.pid, "environ")), "MEMPROF_RUN_TOKEN", token_)) return true;
  of_others_.emplace(stat.pid, stat.start);
  return false;
}

void UnseenProcesses::look_at(const Stat& stat) {
  Known& known = known_[stat.pid];
  if (known.process_start != stat.start) {
    keep(known);
    known = {};
    known.process_start = stat.start;
  }
  const std::string program = program_of(stat.pid);
  if (known.program != program || known.stack_start != stat.stack_start) {
    known.verdict = Verdict::kUnknown;
    known.unseen = {};
    known.looks = 0;
    known.program = program;
    known.stack_start = stat.stack_start;
  }
  if (!known.is_final()) judge(stat.pid, &known);
  if (known.verdict == Verdict::kUnseen && known.is_final()) known.unseen.seen_ns = monotonic_ns();
}

// An arena tells that it records.  The started process makes it at its start; others when they have a sample, so
// that their allocator may be hooked though they have none.
void UnseenProcesses::judge_with_library(uint64_t pid, uint64_t looked_ns, Known* known) const {
  if (known->verdict == Verdict::kUnseen) return;
  const std::string path = proc_path(pid, "exe");
  const auto hooked = pid == root_ ? HookedAllocators::kNone : HookedAllocators::kAllThatCanBe;
  const std::string why = without_path(allocator_obstacle_of(path, hooked), path);
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
    has_libraries |= mapped.is_code && name.rfind("libc.so", 0) == 0;
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
  Stat stat;
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
