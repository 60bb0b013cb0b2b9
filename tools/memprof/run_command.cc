// SPDX-License-Identifier: Apache-2.0
#include "memprof/run_command.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "memprof/child_process.h"
#include "memprof/console.h"
#include "memprof/failure.h"
#include "memprof/find_library.h"
#include "memprof/output_check.h"
#include "memprof/path_pattern.h"
#include "memprof/profile_input.h"
#include "memprof/run_options.h"
#include "memprof/target_program.h"
#include "memprof/temporary_folder.h"
#include "profile/atomic_file.h"
#include "profile/estimate.h"
#include "profile/pprof_reader.h"
#include "profile/pprof_writer.h"
#include "profile/units.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof run [-r RATE] [-o PATH] [--force] [--raw] [--no-debuginfod]
                   [--] CMD ARG...

Runs CMD and writes a profile of what it allocated. The program's input, output
and exit status are its own (128+N when signal N ended it); memprof speaks on
standard error. Where the profile cannot be written, the status is 2 instead
of 0.

  -r RATE   mean bytes between samples: 512k (default), 64k, 1M ...; 0 records
            every allocation. Less is more exact and costs more.
  -o PATH   the file to write (memprof.%n.%p.pb.gz): %n is the program, %p its
            process id, %t the time in seconds since 1970, %% a percent sign.
            A file whose name ends in .pb is not compressed.
  --force   replace PATH if it exists
  --raw     write addresses, and names only of code that the program made while
            it ran; report and export find the others later, on this machine
  --no-debuginfod  do not ask the servers in DEBUGINFOD_URLS for debug files

The process that is started is profiled, also when it executes another program;
its children are not.
)";

constexpr char kRawName[] = "profile.pb";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_compressed(const std::string& path) {
  return path.size() < 3 || path.compare(path.size() - 3, 3, ".pb") != 0;
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

ChildProcess::Environment environment_for(const RunOptions& options, const TargetProgram& target,
                                          const std::string& library, const std::string& raw_path) {
  ChildProcess::Environment environment;
  if (target.can_preload) {
    const char* before = std::getenv("LD_PRELOAD");
    const bool has_others = before != nullptr && *before != '\0';
    environment.emplace_back("LD_PRELOAD", has_others ? library + ":" + before : library);
  }
  environment.emplace_back("MEMPROF_PROFILE", escape_path(raw_path));
  environment.emplace_back("MEMPROF_RATE", std::to_string(options.rate_bytes));
  return environment;
}

void say_nothing_recorded(const TargetProgram& target, const std::string& command, int wait_status) {
  std::string why;
  if (!target.obstacle.empty()) {
    why = target.obstacle;
  } else if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    why = command + " was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) +
          "), before it could write its profile";
  } else {
    why = command +
          " ended by the system call exit_group itself, or the library was not loaded into it "
          "(LD_PRELOAD removed by sudo, env -i ...), or it could not write to the folder for temporary files";
  }
  complain("nothing was recorded: " + why);
}

void say_written(const profile::Profile& profile, const std::string& path) {
  if (profile.samples == 0) {
    complain(profile.rate_bytes <= 1
                 ? "no sample: the program allocated nothing"
                 : "no sample: the program allocated less than about " +
                       profile::format_bytes(profile::unlisted_bound_bytes(profile.rate_bytes)) +
                       ", too little for a rate of " + profile::format_rate(profile.rate_bytes) +
                       "; try -r 0, which records every allocation");
  }
  if (profile.dropped_samples != 0) {
    complain("warning: " + std::to_string(profile.dropped_samples) + " of " +
             std::to_string(profile.samples) +
             " samples were dropped, the profiler's tables were full; a larger -r takes fewer");
  }
  complain("wrote " + shell_word(path) + "; next: memprof report " + shell_word(path));
}

// Makes the profile at `path` of the one that the program wrote.  Returns whether there is one.
bool finish(const RunOptions& options, const std::string& raw_path, const std::string& path,
            TemporaryFolder& folder) {
  try {
    profile::Profile profile = profile::read_pprof_file(raw_path);
    if (options.raw) {
      add_jit_names(profile);
    } else {
      add_names(profile, options.ask_servers ? AskServers::kYes : AskServers::kNo);
    }
    profile::PprofWriteOptions write_options;
    write_options.gzip = is_compressed(path);
    profile::write_file_atomically(path, profile::write_pprof(profile, write_options),
                                   options.force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
    say_written(profile, path);
    return true;
  } catch (const profile::Error& error) {
    // What the program wrote is whole: it need not run again.
    folder.keep();
    complain(error.what());
    complain("the profile without names is kept: memprof report " + shell_word(raw_path));
    return false;
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

  PathFacts facts;
  facts.program = file_name(command);
  facts.time_seconds = std::time(nullptr);
  static_cast<void>(expand_path(options.output, facts));  // a wrong pattern is said before anything starts
  TemporaryFolder folder;
  const std::string library = preloadable(find_library(), folder);
  const std::string raw_path = folder.path() + "/" + kRawName;

  ChildProcess child(options.command, environment_for(options, target, library, raw_path), "MEMPROF_RUN_PID");
  facts.pid = child.pid();
  const std::string path = expand_path(options.output, facts);
  check_output_path(path, options.force);
  if (const int error = child.start(); error != 0) {
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    throw Failure("cannot run '" + command + "': " + error_text(error),
                  is_missing ? kNotFound : kCannotExecute);
  }
  const int wait_status = child.wait();
  const int status = exit_status(wait_status);

  struct stat raw{};
  if (stat(raw_path.c_str(), &raw) != 0) {
    say_nothing_recorded(target, command, wait_status);
    return status;
  }
  const bool is_written = finish(options, raw_path, path, folder);
  return is_written || status != 0 ? status : kBadInput;
}

}  // namespace memprof::cli
