// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/program_obstacles.h"

#include <sys/stat.h>

#include "memprof/doctor/doctor_allocator.h"
#include "memprof/host/program/elf_facts.h"
#include "memprof/host/program/target_program.h"
#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {
namespace {

ProgramObstacles::Found inspect(const std::string& program) {
  const TargetProgram target = inspect_target(program);
  std::string unreadable;
  const auto file = target.obstacle.empty() ? nullptr : profile::ElfFile::open(program, &unreadable);
  const bool is_sanitized = target.obstacle.empty() && !target.can_preload;
  ProgramObstacles::Found found;
  found.has_memprof = file != nullptr && read_elf_facts(*file).has_memprof;
  found.obstacle = without_path(
      is_sanitized ? allocator_obstacle_of(program, HookedAllocators::kNone) : target.obstacle, program);
  return found;
}

}  // namespace

ProgramObstacles::Found ProgramObstacles::look_at(const std::string& program, const std::string& root) {
  struct stat file{};
  struct stat folder{};
  if (stat(program.c_str(), &file) != 0 || stat(root.c_str(), &folder) != 0) {
    ++inspected_;
    return inspect(program);
  }
  const Key key{file.st_dev,  file.st_ino,   file.st_ctim.tv_sec, file.st_ctim.tv_nsec,
                file.st_size, folder.st_dev, folder.st_ino};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  ++inspected_;
  // A run may go on for weeks.
  if (known_.size() >= kMaxKept) known_.clear();
  return known_[key] = inspect(program);
}

}  // namespace memprof::cli
