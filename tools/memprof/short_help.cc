// SPDX-License-Identifier: Apache-2.0
#include "memprof/short_help.h"

#include "memprof/command_table.h"

namespace memprof::cli {
namespace {

struct ShortHelp {
  const char* command;
  const char* text;
};

constexpr char kBeginning[] =
    "memprof shows which code holds a program's memory, and which code allocated it.\n\n";
constexpr char kEnd[] = R"(
Try: memprof run -o out.pb.gz -- sort /etc/services; memprof report out.pb.gz

memprof COMMAND -h explains a command, memprof COMMAND --help all its options.
memprof --help lists all commands and their usage. memprof --version
)";

constexpr ShortHelp kTexts[] = {
    {"run", R"(usage: memprof run [OPTIONS] [--] CMD ARG...
       memprof run [OPTIONS] SCRIPT.py ARG... | -m MODULE ARG...

Runs CMD and writes a profile of its memory, and one for each process that it
starts. There is a profile even if a process is killed.

  -r RATE      mean bytes between samples: 512k, 64k, 1M ...; 0 records every
               allocation. Without -r: 8k at first, and more as bytes go by,
               up to 512k
  -o PATH      the file to write, .pb.gz or .pb (memprof.%n.%p.pb.gz: %n is the
               program, %p its process id)
  --force      replace PATH if it exists
  --merge      one file for all processes (report --by process)
  --no-follow  profile CMD only, not the processes that it starts
  --every 10s  also record memory over time (docs/series.md)

  memprof run -o out.pb.gz -- sort /usr/share/dict/words
  memprof report out.pb.gz

All options: memprof run --help
)"},
    {"report", R"(usage: memprof report FILE [OPTIONS]

Shows a profile as a table: which function holds how much memory.

  -n N                  rows to show (20)
  --by WHAT             a row for each function (default), line, file, module,
                        thread, heap, process
  --metric WHAT         peak (when the heap was largest: the default if the
                        program has ended), live (held now), alloc (all since
                        the start), temporary (freed within --younger 10ms)
  --focus REGEX         only stacks with a frame that matches; --ignore: without
  --tree                the calls from the root down, heaviest first
  --callers FUNCTION    who calls it; --callees FUNCTION: what it calls
  --sizes               how large live blocks are
  --json                for programs; --csv for spreadsheets

All options, and what the columns mean: memprof report --help
)"},
    {"churn", R"(usage: memprof churn FILE [OPTIONS]

Shows which code allocates memory that it frees soon afterwards, how long the
memory lived, what this probably costs, and what you can do about it.

  --younger TIME  how soon: 100us, 10ms (default), 2s ...
  -n N            rows to show (20)
  --by WHAT       a row for each function (default), line, file, module
  --blocks        most blocks first, instead of most bytes
  --json          for programs

All options, and what the columns mean: memprof churn --help
)"},
    {"leaks", R"(usage: memprof leaks FILE...|PID [OPTIONS]

Finds places that leak: code that allocates throughout the run and never frees.
Says how fast they grow, and why. Exit status 1: there is a leak.

  --why            also explain why the other places do not leak
  --expect REGEX   places that may grow
  --fail-on LIMIT  status 1 only beyond it: "growth > 5MB" a minute
  -n N             rows to show (10)
  --json           for programs

All options: memprof leaks --help
)"},
    {"view", R"(usage: memprof view FILE|PID [OPTIONS]

Shows a profile in the browser: flame graph, table, search, callers and callees.
Only this machine can open the page, until Ctrl-C.

  --no-open    print the address, do not open a browser
  --port PORT  serve at this port (any that is free)

memprof export FILE -o report.html writes the same page as a file.
All options: memprof view --help
)"},
    {"diff", R"(usage: memprof diff BEFORE AFTER [OPTIONS]
       memprof diff --before FILE... --after FILE... [OPTIONS]

Shows what grew and what shrank between two profiles (files, or the ids of
running processes), and whether that is more than chance.

  -n N                  rows of each table (20)
  --by WHAT             a row for each function (default), line, file, module
  --metric WHAT         peak, live or alloc
  --focus REGEX         only stacks with a frame that matches; --ignore: without
  --tree                the calls from the root down to what changed
  --fail-on "growth > 5MB", "alloc > 10%"
                        exit status 1 if it is exceeded by more than chance
  --markdown            for a comment on a pull request; --json: for programs

All options: memprof diff --help
)"},
    {"merge", R"(usage: memprof merge FILE... -o OUT [--skip-damaged] [--force]

Adds up profiles of many runs, processes or machines into one, whose intervals
are those of the sum. They may be of different rates.

  -o OUT          the file to write, .pb.gz or .pb
  --skip-damaged  leave out damaged files, and say how many
  --force         replace OUT if it exists

All options: memprof merge --help
)"},
    {"export", R"(usage: memprof export FILE -o OUT [--force]

Writes a profile in another format, with names and with the frames that
memprof report shows. The name of OUT says which:

  .html             a page for the browser: flame graph and table
  .pb.gz, .pb       pprof, compressed or not
  .svg              a picture of a flame graph
  .speedscope.json  speedscope (open it at speedscope.app)
  .heapprofile      Chrome DevTools, VS Code; .dhat.json: DHAT's viewer
  .collapsed        one line a stack, for flame graphs
  .json             memprof's own, for scripts

  --focus REGEX     only stacks with a frame that matches; --ignore: without
  --by module       what a frame is: function (default), line, file, module ...
  --since OLD       only what was allocated since OLD, an earlier profile

All options: memprof export --help
)"},
    {"live", R"(usage: memprof live PID... | --name PROGRAM [-o PATH]

Shows what memory running processes hold. memprof must be in them: started by
`memprof run`, attached, preloaded or linked. They are not stopped. ? lists the
keys of the view, q ends it.

  --name PROGRAM  the process whose executable, or script, has this name
  --run           with the other processes of its run
  -o PATH         write the profile up to now instead (.pb.gz or .pb)
  --record FILE.series --every 10s
                  record it over time (memprof report FILE.series)
  --by WHAT       a row for each function (default), line, file, module, process
  --count N       print the view so many times

memprof list shows such processes. All options: memprof live --help
)"},
    {"attach", R"(usage: memprof attach PID | --name PROGRAM [OPTIONS]
       memprof attach --stop PID

Starts memprof in a running process, which pauses for some milliseconds. It
records allocations from now on; memprof live PID shows them.

  --name PROGRAM  the process whose executable, or script, has this name
  -r RATE         mean bytes between samples: 512k (default), 64k, 1M ...
  --for TIME -o PATH
                  record for this time (30s, 5m, 1h), write the profile, stop
  --stop          stop recording

All options: memprof attach --help
)"},
};

}  // namespace

std::string short_help(const std::string& command) {
  if (command.empty()) return kBeginning + synopses_of_commands() + kEnd;
  for (const ShortHelp& help : kTexts) {
    if (command == help.command) return help.text;
  }
  return "";
}

}  // namespace memprof::cli
