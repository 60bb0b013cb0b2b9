// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/run_command.h"

#include "memprof/commands/view_command.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/profile_input.h"
#include "memprof/run/profiled_run.h"
#include "memprof/run/run_options.h"
#include "memprof/run/run_output.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof run [-r RATE] [--budget SHARE] [-o PATH] [--merge | --no-follow]
                   [--force] [--raw] [--no-python | --native-interpreter] [--mmap]
                   [--no-inline-hooks]
                   [--every TIME [--record FILE.series] [--limit SIZE]]
                   [--no-debuginfod] [--view] [--] CMD ARG...
       memprof run [OPTIONS] SCRIPT.py ARG... | -m MODULE ARG...

Runs CMD and writes a profile of its memory, and one for each process that it
starts. The program keeps its input, output and exit status (128+N if signal N
ended it); memprof writes messages to standard error. A process that is killed
has a profile, too. If a profile cannot be written, the status is 2 instead of 0.

  -r RATE   mean bytes between samples: 512k, 64k, 1M ...; 0 records every
            allocation. Smaller is more exact and costs more. Without -r: 8k at
            first, and more as bytes go by, up to 512k (docs/accuracy.md)
  --budget SHARE  of the program's CPU time that sampling may take, like 0.5%:
            the rate follows what it costs, between 16k and 64M, from RATE on, or
            from a coarse one without -r, or with 512k (--min-rate, --max-rate)
  --memory SIZE  that the profiler's tables of a process stay within, like 32m
  -o PATH   the file to write (memprof.%n.%p.pb.gz): %n is the program, %p its
            process id, %t the time in seconds since 1970, %% a percent sign.
            A file whose name ends in .pb is not compressed. Where PATH has no
            %p, the files of other processes get their id: out.1234.pb.gz.
  --merge   one file for all processes, each stack labelled with its process
            (memprof report --by process; --focus NAME)
  --no-follow  profile CMD only (also when it executes another program), not the
            processes that it starts
  --force   replace PATH if it exists
  --raw     write addresses, and names only of code that the program generated
            at run time; report and export find the other names later, on this
            machine
  --no-python  leave the Python interpreter alone: objects of up to 512 bytes are
            not seen, and stacks have no Python functions
  --no-inline-hooks  leave allocators alone that programs and libraries have
            inside them: jemalloc, mimalloc, tcmalloc (docs/allocators.md)
  --native-interpreter  keep the frames of Python's evaluation loop, which Python
            functions replace by default
  --mmap    also record the memory that the program maps itself (mmap, sbrk), each
            mapping with its stack: a heap apart (docs/mappings.md); of Python
            programs also without it, where 4 MiB or more are in memory
  --every TIME     while it runs, also record what the processes hold, each 10s,
                   500ms, 5m ...: memory over time (docs/series.md), in
  --record FILE    (memprof.%n.%p.series), which has at most
  --limit SIZE     (256m): the older, the further apart are looks kept
  --no-debuginfod  do not contact the servers in DEBUGINFOD_URLS
  --view    then show the profile in the browser, until Ctrl-C (memprof view)

A process that allocates too little for a sample has no file. The processes'
data lie in /dev/shm (or $MEMPROF_ARENA_DIR) while they run.

SCRIPT.py and -m MODULE run under python3 (that of the wheel, where memprof came
with one).
)";

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const RunOptions options = parse_run_options(arguments);
  if (options.wants_help) {
    print(kHelp);
    return 0;
  }
  const FinishedRun run = run_profiled(options);
  if (run.is_written && !run.outputs.empty() && options.view) {
    const std::string& path = path_to_look_at(run.outputs, options);
    view_profile(read_profile(path), path);  // it has its names already
  }
  return run.is_written || run.status != 0 ? run.status : kBadInput;
}

}  // namespace memprof::cli
