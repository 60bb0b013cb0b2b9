// SPDX-License-Identifier: Apache-2.0
#include "memprof/run_command.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "memprof/arena_files.h"
#include "memprof/child_process.h"
#include "memprof/console.h"
#include "memprof/doctor_allocator.h"
#include "memprof/doctor_program.h"
#include "memprof/elf_facts.h"
#include "memprof/failure.h"
#include "memprof/find_library.h"
#include "memprof/output_check.h"
#include "memprof/path_pattern.h"
#include "memprof/process_collector.h"
#include "memprof/run_options.h"
#include "memprof/run_output.h"
#include "memprof/target_program.h"
#include "memprof/temporary_folder.h"
#include "profile/symbolize/elf_file.h"
#include "profile/units.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof run [-r RATE] [-o PATH] [--merge | --no-follow] [--force]
                   [--raw] [--no-python | --native-interpreter]
                   [--no-debuginfod] [--] CMD ARG...
       memprof run [OPTIONS] SCRIPT.py ARG... | -m MODULE ARG...

Runs CMD and writes a profile of what it allocated, and one of each process that
it starts. The program's input, output and exit status are its own (128+N when
signal N ended it); memprof speaks on standard error. A process that is killed
has its profile, too. Where a profile cannot be written, the status is 2 instead
of 0.

  -r RATE   mean bytes between samples: 512k (default), 64k, 1M ...; 0 records
            every allocation. Less is more exact and costs more.
  -o PATH   the file to write (memprof.%n.%p.pb.gz): %n is the program, %p its
            process id, %t the time in seconds since 1970, %% a percent sign.
            A file whose name ends in .pb is not compressed. Where PATH has no
            %p, the files of other processes get their id: out.1234.pb.gz.
  --merge   one file for all processes, each stack labelled with its process
            (memprof report --by process; --focus NAME)
  --no-follow  profile CMD only (also when it executes another program), not the
            processes that it starts
  --force   replace PATH if it exists
  --raw     write addresses, and names only of code that the program made while
            it ran; report and export find the others later, on this machine
  --no-python  leave the Python interpreter alone: objects of up to 512 bytes are
            not seen then, and stacks have no Python functions
  --native-interpreter  keep the frames of Python's evaluation loop, which each
            run of Python functions stands for otherwise
  --no-debuginfod  do not ask the servers in DEBUGINFOD_URLS for debug files

A process that allocates too little for a sample has no file. The processes'
data lie in /dev/shm (or $MEMPROF_ARENA_DIR) while they run.

SCRIPT.py and -m MODULE run under python3 (that of the wheel, where memprof came
with one).
)";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// A path that LD_PRELOAD can hold: the loader splits at ' ' and ':' and replaces $ORIGIN and the like.
std::string preloadable(const std::string& library, const TemporaryFolder& folder) {
  if (library.find_first_of(" :$") == std::string::npos) return library;
  const std::string link = folder.path() + "/libmemprof.so";
  if (symlink(library.c_str(), link.c_str()) != 0 || link.find_first_of(" :$") != std::string::npos) {
    throw Failure(library +
                  ": cannot be preloaded from a path with ' ', ':' or '$'; set MEMPROF_LIBRARY, or TMPDIR to "
                  "a folder without them");
  }
  return link;
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

ChildProcess::Environment environment_for(const RunOptions& options, const TargetProgram& target,
                                          const std::string& library, const std::string& arenas,
                                          const std::string& profiles) {
  ChildProcess::Environment environment;
  if (target.can_preload) {
    const char* before = std::getenv("LD_PRELOAD");
    const bool has_others = before != nullptr && *before != '\0';
    environment.emplace_back("LD_PRELOAD", has_others ? library + ":" + before : library);
  }
  environment.emplace_back("MEMPROF_RATE", std::to_string(options.rate_bytes));
  environment.emplace_back("MEMPROF_ARENA_DIR", arenas);
  environment.emplace_back("MEMPROF_KEEP_ARENA", "1");
  environment.emplace_back("MEMPROF_FOLLOW_FORK", options.follow ? "1" : "0");
  if (!options.python) environment.emplace_back("MEMPROF_PYTHON", "0");
  if (options.native_interpreter) environment.emplace_back("MEMPROF_NATIVE_INTERPRETER", "1");
  // For those whose arena cannot be read.
  environment.emplace_back("MEMPROF_PROFILE", escape_path(profiles) + "/%p.pb");
  return environment;
}

// What `memprof doctor` would say stops it; empty: nothing that the file shows.
std::string obstacle_of(const TargetProgram& target) {
  if (!target.obstacle.empty() || target.elf.empty()) return target.obstacle;
  std::string unreadable;
  const auto file = profile::ElfFile::open(target.elf, &unreadable);
  if (file == nullptr) return {};
  const AllocatorObstacle obstacle = allocator_obstacle(files_of(target.elf), read_elf_facts(*file));
  return obstacle.found.empty() ? "" : obstacle.found + "; " + obstacle.to_do;
}

void say_nothing_recorded(const TargetProgram& target, const std::string& command, int wait_status) {
  std::string why = obstacle_of(target);
  if (why.empty()) {
    why = "the library was not loaded into " + command +
          " (LD_PRELOAD removed by sudo, env -i ...), or it could " +
          "write neither to the folder for shared files nor to that for temporary files";
    rlimit space{};
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
      why += ", or it had no room under the limit of " +
             profile::format_bytes(static_cast<double>(space.rlim_cur)) + " of address space (ulimit -v)";
    }
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

void say_what_is_missing(const Collected& collected) {
  if (collected.unreadable != 0) {
    complain("warning: what " + std::to_string(collected.unreadable) +
             (collected.unreadable == 1 ? " process" : " processes") +
             " left could not be read: " + collected.unreadable_why);
  }
  if (collected.left_out != 0) {
    complain("warning: " + std::to_string(collected.left_out) + " processes were left out: a run keeps " +
             std::to_string(ProcessCollector::kMostProcesses) + "; --no-follow profiles the first only");
  }
  for (const ProcessProfile& process : collected.processes) {
    if (!process.still_runs) continue;
    complain(process.program + " (pid " + std::to_string(process.pid) +
             ") still runs: its profile is as of now");
  }
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const RunOptions options = parse_run_options(arguments);
  if (options.wants_help) {
    print(kHelp);
    return 0;
  }
  const std::string& command = options.command[0];
  const TargetProgram target = inspect_target(command);
  if (target.status != 0) throw Failure(target.error, target.status);

  RunFacts facts;
  facts.program = file_name(command);
  facts.time_seconds = std::time(nullptr);
  PathFacts path_facts{0, facts.program, facts.time_seconds};
  static_cast<void>(
      expand_path(options.output, path_facts));  // a wrong pattern is said before anything starts
  TemporaryFolder folder;
  const std::string library = preloadable(find_library(), folder);
  const auto arena_folder = make_arena_folder();
  const std::string arenas = arena_folder != nullptr ? arena_folder->path() : "";

  ChildProcess child(options.command, environment_for(options, target, library, arenas, folder.path()),
                     "MEMPROF_RUN_PID");
  facts.pid = static_cast<uint64_t>(child.pid());
  path_facts.pid = child.pid();
  check_output_path(expand_path(options.output, path_facts), options.force);
  ProcessCollector collector(arenas, folder.path());
  if (const int error = child.start(); error != 0) {
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    throw Failure("cannot run '" + command + "': " + error_text(error),
                  is_missing ? kNotFound : kCannotExecute);
  }
  collector.start();
  const int wait_status = child.wait();
  const int status = exit_status(wait_status);
  Collected collected = collector.finish();
  if (WIFEXITED(wait_status)) drop_what_it_was_before(collected, facts.pid);
  say_what_is_missing(collected);
  const std::vector<RunOutput> outputs = choose_outputs(collected.processes, options, facts);
  if (outputs.empty()) {
    say_nothing_recorded(target, command, wait_status);
    return status;
  }
  const bool is_written = write_outputs(outputs, options, folder);
  return is_written || status != 0 ? status : kBadInput;
}

}  // namespace memprof::cli
