// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/profiled_run.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "format/files/arena_name.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/doctor/doctor_allocator.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/program/target_program.h"
#include "memprof/io/output_check.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/temporary_folder.h"
#include "memprof/record/run_recorder.h"
#include "memprof/run/child_process.h"
#include "memprof/run/oom_kill.h"
#include "memprof/run/pressure/pressure_looks.h"
#include "memprof/run/processes/process_collector.h"
#include "memprof/run/run_environment.h"
#include "memprof/run/run_shipper.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The folder for the arenas of all processes; none where there can be none: they write their profiles at exit
// then.
std::unique_ptr<TemporaryFolder> make_arena_folder() {
  const std::string parent = arena_parent();
  if (parent.empty()) return nullptr;
  try {
    auto folder = std::make_unique<TemporaryFolder>(parent, run_folder_name());
    // Servers that are started by root work as somebody else. Like /tmp, but nobody sees what is in it.
    if (geteuid() == 0) chmod(folder->path().c_str(), 01733);
    return folder;
  } catch (const Failure&) {
    return nullptr;
  }
}

// Never 0, which is what an arena outside of runs has.
uint64_t new_run_token() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) | 1;
}

// What `memprof doctor` would say stops it; empty: nothing that the file shows.
std::string obstacle_of(const TargetProgram& target) {
  if (!target.obstacle.empty() || target.elf.empty()) return target.obstacle;
  return allocator_obstacle_of(target.elf, HookedAllocators::kNone);
}

// Ours, which the program has from us; empty: there is none.
std::string limit_of_space() {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return {};
  return " under the limit of " + profile::format_bytes(static_cast<double>(space.rlim_cur)) +
         " of address space (ulimit -v); to limit the program alone: memprof run -- sh -c 'ulimit -v N; exec "
         "CMD'";
}

// "nginx (pid 12) is statically linked": what processes of one program have in common, once.
std::vector<std::string> describe_unseen(const std::vector<UnseenProcess>& unseen) {
  std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> groups;
  for (const UnseenProcess& process : unseen) groups[{process.program, process.why}].push_back(process.pid);
  std::vector<std::string> lines;
  for (const auto& [what, pids] : groups) {
    std::string line = what.first + " (pid " + std::to_string(pids[0]);
    if (pids.size() > 1) line += " and " + std::to_string(pids.size() - 1) + " more";
    lines.push_back(line + ") " + what.second);
  }
  return lines;
}

// The kernel's name of a process, for a program that it executed.
bool is_called(const std::string& program, const std::string& kernel_name) {
  constexpr size_t kLongestName = 15;
  return program.substr(0, kLongestName) == kernel_name;
}

void say_nothing_recorded(const TargetProgram& target, const std::string& command, const ChildProcess& child,
                          int wait_status, const std::vector<UnseenProcess>& unseen) {
  std::string why = obstacle_of(target);
  if (why.empty() && !unseen.empty()) why = describe_unseen(unseen)[0];
  const std::string& last = child.last_name();
  if (why.empty() && WIFEXITED(wait_status) && !last.empty() && !is_called(file_name(command), last) &&
      !is_called(file_name(target.elf), last)) {
    // It was gone before a look saw it.
    why = command + " executed " + last +
          ", which has an allocator of its own, is statically linked, or was " +
          "started without LD_PRELOAD (sudo, env -i ...); see `memprof doctor " + last + "`";
  }
  if (why.empty()) {
    why = "the library was not loaded into " + command +
          " (LD_PRELOAD removed by sudo, env -i ...), or it could " +
          "write neither to the folder for shared files nor to that for temporary files";
    const std::string limit = limit_of_space();
    if (!limit.empty()) why += ", or it had no room" + limit;
    if (WIFSIGNALED(wait_status)) {
      const int signal = WTERMSIG(wait_status);
      why = command + " was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) +
            ") before it allocated anything, or " + why;
    }
  }
  complain("nothing was recorded: " + why);
}

// A program that ended by itself, and not the one that memprof saw last in its process: that executed it, and
// it does without the library.
void drop_what_it_was_before(Collected& collected, uint64_t pid) {
  auto& processes = collected.processes;
  processes.erase(std::remove_if(processes.begin(), processes.end(),
                                 [&](const ProcessProfile& process) {
                                   return process.pid == pid && !process.has_ended && process.samples == 0;
                                 }),
                  processes.end());
}

// Of a program that ended by itself: what memprof saw last in its process did not, and the kernel has another
// name for what did.
void say_if_another_ended(const std::vector<RunOutput>& outputs, const RunFacts& facts,
                          const std::string& last_name) {
  for (const RunOutput& output : outputs) {
    const ProcessProfile& process = output.process;
    if (process.pid != facts.pid || process.has_ended || process.still_runs || last_name.empty() ||
        is_called(process.program, last_name) || is_called(facts.program, last_name)) {
      continue;
    }
    complain("warning: process " + std::to_string(process.pid) + " executed " + last_name +
             ", of which memprof has no data; its profile is of " + process.program + ", the program before");
  }
}

// How many lines there are for each kind of things, at most.
constexpr size_t kMaxLines = 5;

// Processes that memprof was in and of which there is nothing: what is left of those that it was in.
uint64_t count_unsampled(const Collected& collected, const std::vector<ProcessProfile>& former,
                         const std::vector<RunOutput>& outputs) {
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> known;
  const auto add = [&known](const ProcessProfile& process) {
    known.insert({process.pid, process.process_start, process.pid_namespace});
  };
  for (const ProcessProfile& process : former) add(process);
  for (const ProcessProfile& process : collected.processes) {
    if (!process.is_empty()) add(process);
  }
  for (const RunOutput& output : outputs) add(output.process);
  const uint64_t others = known.size() + collected.unreadable + collected.left_out;
  return collected.with_memprof > others ? collected.with_memprof - others : 0;
}

// What the former programs of processes allocated, as far as it is worth a line: at a rate that starts fine a shell that
// becomes the program is seen, but what it allocates is no matter.
constexpr double kLittleBytes = 1024 * 1024;

std::vector<ProcessProfile> worth_a_line(std::vector<ProcessProfile> former, const RunOptions& options) {
  if (!options.rate_bytes && options.budget.empty()) {
    former.erase(
        std::remove_if(former.begin(), former.end(),
                       [](const ProcessProfile& process) { return process.allocated_bytes < kLittleBytes; }),
        former.end());
  }
  return former;
}

// Takes those of little out and says them in one line: a wrapper's helpers are many.
void say_little_former(std::vector<ProcessProfile>* former) {
  std::vector<ProcessProfile> others;
  double allocated_bytes = 0;
  for (const ProcessProfile& process : *former) {
    if (process.allocated_bytes >= kLittleBytes) {
      others.push_back(process);
    } else {
      allocated_bytes += process.allocated_bytes;
    }
  }
  const size_t count = former->size() - others.size();
  if (count < 2) return;
  former->swap(others);
  complain(std::to_string(count) + " programs executed another one: their own " +
           profile::format_bytes(allocated_bytes) + " allocated until then are in no profile");
}

Missing say_what_is_missing(const Collected& collected, const std::vector<ProcessProfile>& former) {
  Missing missing;
  missing.unseen = collected.unseen.size() + collected.more_unseen;
  missing.uncollected = collected.unreadable + collected.left_out;
  missing.names = describe_unseen(collected.unseen);
  missing.names.resize(std::min(missing.names.size(), kMaxLines));
  if (missing.unseen == 1) {
    complain("warning: ran without memprof: " + missing.names[0]);
  } else if (missing.unseen != 0) {
    complain("warning: " + std::to_string(missing.unseen) + " processes ran without memprof, among them");
    for (const std::string& name : missing.names) complain("  " + name);
  }
  if (collected.unreadable != 0) {
    complain("warning: what " + std::to_string(collected.unreadable) +
             (collected.unreadable == 1 ? " process" : " processes") +
             " left could not be read: " + collected.unreadable_why + limit_of_space());
  }
  if (collected.left_out != 0) {
    complain("warning: " + std::to_string(collected.left_out) +
             " processes were left out: limit reached, a run keeps " +
             std::to_string(ProcessCollector::kMaxProcesses) + "; --no-follow profiles the first only");
  }
  if (collected.foreign != 0) {
    complain("warning: " + std::to_string(collected.foreign) + (collected.foreign == 1 ? " file" : " files") +
             " in the run's folder, made by processes outside the run: ignored");
  }
  for (size_t i = 0; i < std::min(former.size(), kMaxLines); ++i) {
    const ProcessProfile& process = former[i];
    complain(process.program + " (pid " + std::to_string(process.pid) +
             ") executed another program: its own " + profile::format_bytes(process.allocated_bytes) +
             " allocated until then are in no profile");
  }
  if (former.size() > kMaxLines) {
    complain("and " + std::to_string(former.size() - kMaxLines) + " more that executed another program");
  }
  for (const ProcessProfile& process : collected.processes) {
    if (!process.still_runs) continue;
    complain(process.program + " (pid " + std::to_string(process.pid) +
             ") still runs: its profile is as of now");
  }
  return missing;
}

}  // namespace

FinishedRun run_profiled(const RunOptions& options) {
  const std::string& command = options.command[0];
  TargetProgram target = inspect_target(command);
  if (target.status != 0) throw Failure(target.error, target.status);
  const std::string sanitizer = preloaded_sanitizer();
  if (!sanitizer.empty()) {
    target.can_preload = false;
    target.obstacle =
        "LD_PRELOAD has " + sanitizer + " in it, whose malloc must be the first; unset LD_PRELOAD";
  }

  RunFacts facts;
  facts.program = file_name(command);
  facts.time_seconds = std::time(nullptr);
  PathFacts path_facts{0, facts.program, facts.time_seconds};
  static_cast<void>(
      expand_path(options.output, path_facts));  // a wrong pattern is said before anything starts
  TemporaryFolder folder;
  const Libraries libraries = find_libraries(folder);
  const auto arena_folder = make_arena_folder();
  const std::string arenas = arena_folder != nullptr ? arena_folder->path() : "";

  const uint64_t run_token = new_run_token();
  ChildProcess child(options.command,
                     environment_for(options, target, libraries, arenas, folder.path(), run_token),
                     "MEMPROF_RUN_PID", options.program_output);
  facts.pid = static_cast<uint64_t>(child.pid());
  path_facts.pid = child.pid();
  check_output_path(expand_path(options.output, path_facts), options.force);
  std::optional<RunRecorder> recorder;
  if (options.record) {
    const std::string path = expand_path(options.record->pattern, path_facts);
    check_output_path(path, options.force);
    recorder.emplace(arenas, run_token, path, *options.record, facts.program, facts.pid);
  }
  std::optional<RunShipper> shipper;
  if (options.ship) shipper.emplace(*options.ship, arenas, run_token);
  std::optional<PressureLooks> pressure;  // a shipper takes such looks itself
  if (!options.ship && !options.quiet && !arenas.empty()) {
    pressure.emplace(PressureChoice{[&] { return look_at_run(arenas, run_token, nullptr); }, facts.pid,
                                    expand_path(options.output, path_facts), options.force, options.raw});
  }
  ProcessCollector collector(arenas, folder.path(), {facts.pid, run_token, options.follow});
  const OomWatch oom;
  if (const int error = child.start(); error != 0) {
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    throw Failure(command + ": cannot run it: " + error_text(error), is_missing ? kNotFound : kCannotExecute);
  }
  const bool is_watching = collector.start();
  if (recorder) recorder->start();
  if (shipper) shipper->start();
  if (pressure) pressure->start();
  const int wait_status = child.wait();
  if (pressure) pressure->stop();
  if (recorder) complain(recorder->finish());
  FinishedRun run;
  run.status = exit_status(wait_status);
  Collected collected = collector.finish();
  if (WIFEXITED(wait_status)) drop_what_it_was_before(collected, facts.pid);
  // With what a process waited for: the system's figure is the program's where it started no other.
  if (collected.processes.size() == 1 && collected.processes[0].pid == facts.pid &&
      collected.unseen.empty() && collected.unreadable + collected.left_out == 0) {
    collected.processes[0].max_resident_bytes = child.max_resident_bytes();
  }
  if (!is_watching) {
    complain(
        "warning: memprof could not start a second thread (ulimit -u, ulimit -v): processes that ran "
        "without memprof are not reported");
  }
  const std::vector<ProcessProfile> former = take_former_programs(&collected.processes, collected.unseen);
  if (shipper) shipper->take_last(collected.processes, former, facts.pid);
  std::vector<ProcessProfile> with_files = collected.processes;
  SmallProcesses small;
  if (!options.keep_all && !options.merge) small = take_small_processes(&with_files, facts.pid);
  run.outputs = choose_outputs(std::move(with_files), options, facts);
  std::vector<UnseenProcess> only;  // the reason why there is nothing, which is said once
  if (run.outputs.empty() && collected.unseen.size() == 1) only.swap(collected.unseen);
  std::vector<ProcessProfile> to_say = worth_a_line(former, options);
  if (!options.keep_all && !options.merge) say_little_former(&to_say);
  Missing missing = say_what_is_missing(collected, to_say);
  if (run.outputs.empty()) {
    if (missing.uncollected == 0) say_nothing_recorded(target, command, child, wait_status, only);
    const std::string newest = pressure ? pressure->finish() : "";
    if (!newest.empty()) complain("what it held when memory got short: memprof report " + shell_word(newest));
    run.is_written = missing.uncollected == 0;
    if (shipper) shipper->finish();
    return run;
  }
  if (WIFEXITED(wait_status)) say_if_another_ended(run.outputs, facts, child.last_name());
  mark_oom_killed(&run.outputs, oom.kills(), oom.limit_bytes(), facts.pid,
                  WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL);
  missing.small = small;
  missing.unsampled = count_unsampled(collected, former, run.outputs);
  run.is_written = write_outputs(run.outputs, options, missing, folder);
  if (pressure) static_cast<void>(pressure->finish());
  if (shipper) shipper->finish();
  return run;
}

}  // namespace memprof::cli
