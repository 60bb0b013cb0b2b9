// SPDX-License-Identifier: Apache-2.0
#include "memprof/live/live_looks.h"

#include <algorithm>
#include <utility>

#include "memprof/console/failure.h"
#include "memprof/host/process/arena_files.h"
#include "profile/compare/merge.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

constexpr size_t kNamed = 3;  // processes that the title names

std::string label(const RunningProcess& process) {
  return process.program + " (pid " + std::to_string(process.pid) + ")";
}

}  // namespace

LiveLooks::LiveLooks(const std::vector<RunningProcess>& processes, bool whole_run, AskServers ask_servers,
                     bool has_resident)
    : whole_run_(whole_run),
      ask_servers_(ask_servers),
      has_resident_(has_resident),
      names_(std::make_shared<profile::SharedNames>()) {
  for (const RunningProcess& process : processes) add(process);
  if (!whole_run_) return;
  const RunningProcess& first = processes.front();
  run_token_ = read_beginning(first.arena).run_token;
  folder_ = first.arena.substr(0, first.arena.rfind('/'));
  if (run_token_ == 0) {
    throw Failure("--run: process " + std::to_string(first.pid) +
                  " belongs to no run: it was not started by memprof run; give the ids of the processes");
  }
  add_those_of_the_run();
}

void LiveLooks::add(const RunningProcess& process) {
  looks_.push_back(std::make_unique<ProcessLooks>(process, ask_servers_, names_));
  if (has_resident_) looks_.back()->want_resident();
}

void LiveLooks::add_those_of_the_run() {
  for (const ArenaFile& file : find_arenas(folder_)) {
    const bool is_known = std::any_of(looks_.begin(), looks_.end(), [&](const auto& looks) {
      return looks->process().pid == file.pid && looks->is_there();
    });
    if (is_known || owner_of(file) != Owner::kLives) continue;
    const ArenaBeginning beginning = read_beginning(file.path);
    if (!beginning.is_begun || beginning.run_token != run_token_) continue;
    try {
      add(find_process(std::to_string(file.pid)));
    } catch (const Failure&) {
      continue;  // it has ended meanwhile
    }
  }
}

profile::LiveLook LiveLooks::look() {
  if (whole_run_) add_those_of_the_run();
  if (whole_run_ || looks_.size() > 1) return look_at_all();
  profile::LiveLook look;
  look.profile = single().look(false);
  // Of a large process it is read now and then only.
  if (!look.profile.resident.is_known()) look.profile.resident = last_resident_;
  last_resident_ = look.profile.resident;
  pids_ = {single().process().pid};
  look.resident_bytes = resident_bytes(single().process().pid);
  return look;
}

std::optional<profile::LiveLook> LiveLooks::look_at_end() {
  if (whole_run_ || looks_.size() > 1) return std::nullopt;
  try {
    profile::LiveLook look;
    look.profile = single().look_at_end();
    return look;
  } catch (const Failure&) {
    return std::nullopt;  // no room for it
  } catch (const profile::Error&) {
    return std::nullopt;  // it was killed, or its file could not be kept open
  }
}

profile::LiveLook LiveLooks::look_at_all() {
  profile::LiveLook look;
  pids_.clear();
  profile::Merger merger;
  std::vector<std::string> names;
  size_t ended = 0;
  std::string error;
  for (const auto& looks : looks_) {
    if (!looks->is_there()) {
      ++ended;
      continue;
    }
    try {
      merger.add(looks->look(false));
    } catch (const profile::Error& failed) {
      error = failed.what();  // it ends now, or only begins
      continue;
    }
    look.resident_bytes += resident_bytes(looks->process().pid);
    names.push_back(label(looks->process()));
    pids_.push_back(looks->process().pid);
  }
  if (names.empty()) throw profile::Error(error.empty() ? ending() : error);
  look.profile = merger.take();
  look.who = std::to_string(names.size()) + (names.size() == 1 ? " process: " : " processes: ");
  for (size_t i = 0; i < names.size() && i < kNamed; ++i) look.who += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamed) look.who += " and " + std::to_string(names.size() - kNamed) + " more";
  if (ended != 0) look.who += "; " + std::to_string(ended) + " ended";
  return look;
}

bool LiveLooks::is_there() const {
  return std::any_of(looks_.begin(), looks_.end(), [](const auto& looks) { return looks->is_there(); });
}

std::string LiveLooks::ending() const {
  return looks_.size() == 1 ? "process " + std::to_string(looks_.front()->process().pid) + " has ended"
                            : "all " + std::to_string(looks_.size()) + " processes have ended";
}

}  // namespace memprof::cli
