// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/pressure/pressure_looks.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "format/pprof/pprof_name.h"
#include "memprof/console/console.h"
#include "memprof/host/system/free_memory.h"
#include "memprof/io/profile_output.h"
#include "memprof/pressure/pressure_text.h"
#include "memprof/record/run_looks.h"
#include "profile/compare/merge.h"
#include "profile/model/estimate.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/report/holder_text.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {
namespace {

constexpr auto kFar = std::chrono::seconds(1);  // less than half of the limit is used
constexpr auto kNear = std::chrono::milliseconds(100);
constexpr auto kSoon = std::chrono::milliseconds(50);  // it grows, and passes a mark soon
constexpr auto kWithoutLimit = std::chrono::seconds(15);
constexpr auto kWriteEvery = std::chrono::minutes(1);
constexpr double kHalf = 50;  // percent
// One part in so many of a processor is what checks take.
constexpr int kShare = 5000;
// Reading the names of a program with its libraries takes less, mostly.
constexpr uint64_t kNamesBytes = uint64_t{64} << 20;

// out.pb.gz -> out.pressure/at-95-percent.pb.gz
std::string path_of(const std::string& output, const std::string& name) {
  const profile::PprofEnd* end = profile::pprof_end_of(output.c_str());
  const std::string suffix = end != nullptr ? end->text : ".pb.gz";
  const size_t size = end != nullptr ? output.size() - suffix.size() : output.size();
  return output.substr(0, size) + ".pressure/" + name + suffix;
}

std::string name_of(const Pressure& pressure) {
  return pressure.passed_percent != 0 ? fmt::format("at-{}-percent", pressure.passed_percent) : "stalled";
}

// That which holds the most comes first, and gives the look its name: a wrapper holds little.
void put_largest_first(std::vector<profile::Profile>* profiles) {
  const auto held = [](const profile::Profile& profile) {
    return profile::estimated_total(profile, profile::Metric::kInuseSpace);
  };
  const auto largest = std::max_element(
      profiles->begin(), profiles->end(),
      [&](const profile::Profile& a, const profile::Profile& b) { return held(a) < held(b); });
  std::iter_swap(profiles->begin(), largest);
}

uint64_t left_bytes(const Pressure& pressure) {
  if (pressure.limit_bytes == 0) return UINT64_MAX;
  return pressure.limit_bytes - std::min(pressure.limit_bytes, pressure.used_bytes);
}

}  // namespace

PressureLooks::PressureLooks(PressureChoice choice, const std::string& root)
    : choice_(std::move(choice)), watch_(root) {
  static_cast<void>(watch_.check({choice_.pid}));
}

void PressureLooks::start() {
  // A thread with its heap takes much of an address space that is limited (ulimit -v), and the profile needs the rest.
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY) return;
  static_cast<void>(thread_.start([this] { run(); }));
}

void PressureLooks::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::chrono::nanoseconds PressureLooks::pause_after(const PressureWatch& watch,
                                                    std::chrono::nanoseconds took) {
  const std::optional<double>& percent = watch.fullest_percent();
  const std::optional<MemoryStall>& stall = watch.longest_stall();
  const bool is_group_known = stall && !stall->is_of_machine;
  if (!percent)
    return std::max<std::chrono::nanoseconds>(is_group_known ? kFar : kWithoutLimit, took * kShare);
  return std::max<std::chrono::nanoseconds>(*percent < kHalf ? kFar : kNear, took * kShare);
}

std::chrono::nanoseconds PressureLooks::pause_while_growing(double before, double now,
                                                            std::chrono::nanoseconds time,
                                                            std::chrono::nanoseconds pause) {
  constexpr double kParts = 3;  // of the time until the mark
  const int mark = PressureWatch::next_mark(now);
  if (mark == 0 || now < kHalf || now <= before) return pause;
  const double until_ns = (mark - now) / (now - before) * static_cast<double>(time.count()) / kParts;
  if (until_ns >= static_cast<double>(pause.count())) return pause;
  return std::min(pause, std::max<std::chrono::nanoseconds>(
                             kSoon, std::chrono::nanoseconds(static_cast<int64_t>(until_ns))));
}

void PressureLooks::run() {
  auto pause = pause_after(watch_, {});
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_for(lock, pause, [this] { return is_stopping_; })) return;
    }
    try {
      pause = check();
    } catch (const std::exception&) {
      return;  // out of memory
    }
  }
}

std::chrono::nanoseconds PressureLooks::check() {
  const auto before = processor_time_of_thread();
  const std::vector<Pressure> pressures = watch_.check({choice_.pid});
  std::chrono::nanoseconds pause = pause_after(watch_, processor_time_of_thread() - before);
  const double percent = watch_.fullest_percent().value_or(0);
  const auto now = Clock::now();
  pause = pause_while_growing(last_percent_, percent, now - last_check_, pause);
  last_percent_ = percent;
  last_check_ = now;
  for (const Pressure& pressure : pressures) {
    if (pressure.passed_percent == 0 && !pressure.is_stalled) continue;
    look(pressure);
    give_back_free_memory();
  }
  return pause;
}

void PressureLooks::look(const Pressure& pressure) {
  const std::string name = name_of(pressure);
  File& file = files_[name];
  if (Clock::now() < file.next) return;
  file.next = Clock::now() + kWriteEvery;
  file.path = path_of(choice_.output, name);
  RunLook look = choice_.take();
  if (look.profiles.empty()) return;
  put_largest_first(&look.profiles);
  const std::string program = look.profiles[0].program;
  file.has_names = !choice_.raw && left_bytes(pressure) >= kNamesBytes;
  profile::SharedNames names;
  if (file.has_names) {
    for (const profile::Profile& profile : look.profiles) names.add(profile);
    static_cast<void>(names.resolve({}));
    for (profile::Profile& profile : look.profiles) names.apply(profile);
  }
  profile::Profile profile;
  if (look.profiles.size() == 1) {
    profile = std::move(look.profiles[0]);
  } else {
    profile::Merger merger;
    for (const profile::Profile& one : look.profiles) merger.add(one);
    profile = merger.take();
  }
  note_pressure(pressure, &profile);
  std::string outcome;
  try {
    write(profile, &file);
    outcome = "; memprof report " + shell_word(file.path);
  } catch (const profile::Error& error) {
    outcome = fmt::format("; {}", error.what());
  }
  if (std::exchange(file.is_said, true)) return;
  complain(program + (pressure.passed_percent != 0 ? ": its group " : ": processes of its group ") +
           pressure_text(pressure) + profile::holder_text(profile) + stall_text(pressure) + outcome);
}

void PressureLooks::write(const profile::Profile& profile, File* file) {
  // Where it cannot be made, or is a file, writing says so.
  std::error_code error;
  std::filesystem::create_directory(std::filesystem::path(file->path).parent_path(), error);
  write_profile(profile, file->path, choice_.force || file->is_written);
  file->is_written = true;
  newest_ = file->path;
}

std::string PressureLooks::finish() {
  if (choice_.raw) return newest_;
  for (auto& [name, file] : files_) {
    if (!file.is_written || file.has_names) continue;
    try {
      profile::Profile profile = profile::read_pprof_file(file.path);
      profile::SharedNames names;
      names.add(profile);
      static_cast<void>(names.resolve({}));
      names.apply(profile);
      write_profile(profile, file.path, true);
      file.has_names = true;
    } catch (const profile::Error&) {
      continue;  // its reader reads the names
    }
  }
  return newest_;
}

}  // namespace memprof::cli
