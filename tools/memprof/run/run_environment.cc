// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_environment.h"

#include <unistd.h>

#include <cstdlib>

#include "format/files/arena_name.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/program/find_library.h"
#include "memprof/io/path_pattern.h"

namespace memprof::cli {
namespace {

// A path that LD_PRELOAD can hold: the loader splits at ' ' and ':' and replaces $ORIGIN and the like.
std::string preloadable(const std::string& library, const TemporaryFolder& folder,
                        const char* name = "/libmemprof.so") {
  if (library.find_first_of(" :$") == std::string::npos) return library;
  const std::string link = folder.path() + name;
  if (symlink(library.c_str(), link.c_str()) != 0 || link.find_first_of(" :$") != std::string::npos) {
    throw Failure(library +
                  ": cannot be preloaded from a path with ' ', ':' or '$'; set MEMPROF_LIBRARY, or TMPDIR to "
                  "a folder without them");
  }
  return link;
}

}  // namespace

Libraries find_libraries(const TemporaryFolder& folder) {
  const std::string library = find_library();
  return {preloadable(library, folder),
          preloadable(find_musl_library(library).path, folder, "/libmemprof.so.musl")};
}

ChildProcess::Environment environment_for(const RunOptions& options, const TargetProgram& target,
                                          const Libraries& libraries, const std::string& arenas,
                                          const std::string& profiles, uint64_t run_token) {
  ChildProcess::Environment environment;
  if (target.can_preload) {
    const std::string& library = target.library.empty() ? libraries.glibc : libraries.musl;
    const char* before = std::getenv("LD_PRELOAD");
    const bool has_others = before != nullptr && *before != '\0';
    environment.emplace_back("LD_PRELOAD", has_others ? library + ":" + before : library);
  }
  // Programs of the other C library, which this one starts, get theirs by these.
  if (!libraries.musl.empty()) {
    environment.emplace_back("MEMPROF_GLIBC_LIBRARY", libraries.glibc);
    environment.emplace_back("MEMPROF_MUSL_LIBRARY", libraries.musl);
  }
  // Empty: as if it were not there, whatever it is outside.
  environment.emplace_back("MEMPROF_RATE", options.rate_bytes ? std::to_string(*options.rate_bytes) : "");
  if (!options.budget.empty()) environment.emplace_back("MEMPROF_BUDGET", options.budget);
  if (options.min_rate != 0) environment.emplace_back("MEMPROF_MIN_RATE", std::to_string(options.min_rate));
  if (options.max_rate != 0) environment.emplace_back("MEMPROF_MAX_RATE", std::to_string(options.max_rate));
  if (options.memory != 0) environment.emplace_back("MEMPROF_MEMORY", std::to_string(options.memory));
  environment.emplace_back(kArenaFolderVariable, arenas);
  environment.emplace_back("MEMPROF_KEEP_ARENA", "1");
  environment.emplace_back("MEMPROF_RUN_TOKEN", std::to_string(run_token));
  environment.emplace_back("MEMPROF_FOLLOW_FORK", options.follow ? "1" : "0");
  environment.emplace_back("MEMPROF_INLINE_HOOKS", options.inline_hooks ? "1" : "0");
  if (!options.python) environment.emplace_back("MEMPROF_PYTHON", "0");
  if (options.mmap) environment.emplace_back("MEMPROF_MMAP", "1");
  if (options.native_interpreter) environment.emplace_back("MEMPROF_NATIVE_INTERPRETER", "1");
  // For those whose arena cannot be read.
  environment.emplace_back("MEMPROF_PROFILE", escape_path(profiles) + "/%p.pb");
  return environment;
}

}  // namespace memprof::cli
