// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/shared_options.h"

namespace memprof::cli {

using Shown = OptionText::Shown;

void add_no_debuginfod(ArgumentParser& parser) {
  parser.add_flag({"--no-debuginfod", "", "do not contact the servers in DEBUGINFOD_URLS"});
}

void add_no_pager(ArgumentParser& parser) {
  parser.add_flag(
      {"--no-pager", "",
       "print it as it is. By default what a terminal has too few rows for is shown by the command in "
       "MEMPROF_PAGER, else PAGER, else less -FRX; an empty one, or cat, is none",
       Shown::kInHelp, "report"});
}

void add_sample_type(ArgumentParser& parser, std::string& value) {
  parser.add_option(
      {"--sample-type", "TYPE",
       "of a pprof file by another profiler only this sample type, whatever it is called: bytes or blocks, "
       "as its unit says",
       Shown::kInHelp, "report"},
      value);
}

void add_rows(ArgumentParser& parser, const std::string& usual, std::string& value) {
  parser.add_option({"-n", "N", "rows to show (" + usual + ")", Shown::kInBoth}, value);
}

void add_force(ArgumentParser& parser, const std::string& what, bool& value) {
  parser.add_flag({"-f,--force", "", "replace " + what, Shown::kInBoth}, value);
}

void add_moment(ArgumentParser& parser, const std::string& usual, std::string& value) {
  parser.add_option(
      {"--at", "MOMENT",
       "of a series the look at 14:05, 2026-05-01T14:05, +10m (after its first), -10m (before its last), "
       "first, last, or peak" +
           (usual.empty() ? "" : "; " + usual)},
      value);
}

void add_whole_run(ArgumentParser& parser, bool& value) {
  parser.add_flag(
      {"--run", "", "also the other processes of its run. Those of memprof run that start later, too",
       Shown::kInBoth},
      value);
}

void add_raw(ArgumentParser& parser, bool& value) {
  parser.add_flag(
      {"--raw", "",
       "write addresses, and names only of code that the program generated at run time. report and export "
       "find the other names later, on this machine"},
      value);
}

void add_budget(ArgumentParser& parser, const std::string& more, std::string& value) {
  parser.add_option(
      {"--budget", "SHARE",
       "of the program's CPU time that sampling may take, like 0.5%: the rate follows what it costs, " +
           more},
      value);
}

void add_no_inline_hooks(ArgumentParser& parser, const std::string& more) {
  parser.add_flag(
      {"--no-inline-hooks", "",
       "leave allocators alone that programs and libraries have inside them: jemalloc, mimalloc, tcmalloc "
       "(docs/allocators.md)" +
           more});
}

void add_native_interpreter(ArgumentParser& parser, bool& value) {
  parser.add_flag({"--native-interpreter", "",
                   "keep the frames of Python's evaluation loop, which Python functions replace by default"},
                  value);
}

}  // namespace memprof::cli
