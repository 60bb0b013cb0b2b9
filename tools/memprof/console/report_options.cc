// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/report_options.h"

#include <algorithm>

#include "memprof/console/failure.h"
#include "profile/lifetimes/temporary.h"
#include "profile/matching/hidden_frames.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

profile::GroupBy parse_group_by(const std::string& text) {
  const auto by = profile::group_by_from_name(text);
  if (!by)
    throw Failure("--by: '" + text + "' is not one of function, line, file, module, heap, process, thread");
  return *by;
}

}  // namespace

profile::Pattern parse_pattern(const std::string& option, const std::string& text) {
  if (text.empty()) throw Failure(option + ": an empty expression matches everything; give some text");
  try {
    return profile::Pattern(text);
  } catch (const profile::Error& error) {
    throw Failure(option + ": " + error.what());
  }
}

std::shared_ptr<const profile::HiddenFrames> parse_hidden(const std::string& option,
                                                          const std::string& text) {
  return profile::hidden_frames(parse_pattern(option, text));
}

namespace {

// What --help says of them is in that of `memprof report`.
const OptionText kOptions[] = {
    {"--by", "WHAT",
     "a row for each function (default), line, file or module. Or for each thread, by the function that it began with; process, of a merged profile; heap that the program's own allocators report (docs/own-allocators.md)",
     OptionText::Shown::kInBoth},
    {"--metric", "METRIC",
     "peak, live, alloc, temporary, resident, mapped or js.\n"
     "  peak   bytes that were live when the heap was largest\n"
     "         (default for a program that ended by itself)\n"
     "  live   bytes that are live (default for others); if the\n"
     "         program ended, those before its clean-up at exit\n"
     "  alloc  bytes allocated since the start\n"
     "  temporary  of these, bytes that were freed again within\n"
     "         the time of --younger\n"
     "  resident  of the live bytes those in memory (docs/rss.md)\n"
     "  mapped, mapped_resident  what the program mapped itself,\n"
     "         and of it what is in memory (memprof run --mmap)\n"
     "  js     live objects in the own heap of node, by the\n"
     "         function that made them (the npm package)\n"
     "or, by pprof's names, peak_space, inuse_space, alloc_space, and peak_objects, inuse_objects, alloc_objects for "
     "blocks; and temporary_space, temporary_objects",
     OptionText::Shown::kInBoth},
    {"--younger", "TIME",
     "what is temporary: 100us, 10ms (default), 2s, 5m, 1h, 7d. Lifetimes are kept in classes, two a decade (1, 3, 10 "
     "...): the bound next to TIME is used. With --metric temporary, or --json"},
    {"--focus", "REGEX",
     "only stacks with a frame that matches. A frame's function, source file or module does, or the stack's heap or "
     "process; percents stay those of the whole profile",
     OptionText::Shown::kInBoth},
    {"--ignore", "REGEX", "without the stacks that have such a frame"},
    {"--process", "REGEX",
     "only stacks of a process whose \"NAME PID\", or \"NAME PID: PART\" with a part of its command line, matches, in "
     "a file of several (memprof run --merge)"},
    {"--hide", "REGEX",
     "without the frames whose function, source file or module matches: what they allocate counts as their callers'"},
    {"--native", "",
     "show the functions of extension modules. By default what native code below Python or JavaScript allocates counts "
     "as that of the line that called it"},
    {"--imports", "",
     "show the lines of installed packages that are imported. By default what importing pandas takes is one row, "
     "\"importing pandas\", and the interpreter's start another; trees have them always"},
    {"--all-frames", "",
     "show all frames. By default what these allocate counts as their caller's, too: known wrappers of malloc (xmalloc, "
     "g_malloc ...), and functions that are seen to be such (\"through BigAlloc\"); the standard libraries of C, C++ and "
     "Rust; Python's import machinery"},
    {"--native-interpreter", "", "show the functions of the Python interpreter itself, too"},
    {"--full-names", "",
     "show template arguments, return types and the suffixes of clones (.isra.0), with a row for each; --json has them"},
};

}  // namespace

ReaderOptions::ReaderOptions(ArgumentParser& parser, const std::vector<std::string>& refused)
    : parser_(parser) {
  const std::map<std::string, bool*> flags = {{"--native", &view_.native},
                                              {"--imports", &view_.imports},
                                              {"--native-interpreter", &view_.interpreter},
                                              {"--all-frames", &view_.all},
                                              {"--full-names", &view_.full_names}};
  for (OptionText option : kOptions) {
    option.home = "report";
    if (std::find(refused.begin(), refused.end(), option.names) != refused.end()) {
      option.shown = OptionText::Shown::kNowhere;
    }
    if (const auto flag = flags.find(option.names); flag != flags.end()) {
      parser.add_flag(option, *flag->second);
    } else {
      parser.add_option(option, values_[option.names]);
    }
  }
}

ReaderChoice ReaderOptions::choice() const {
  ReaderChoice choice;
  choice.view = view_;
  for (const auto& [option, text] : values_) {
    if (!parser_.is_given(option)) continue;
    if (option == "--by") choice.by = parse_group_by(text);
    if (option == "--metric") choice.metric = parse_metric(text);
    if (option == "--younger") choice.younger_ns = parse_duration_ns(option, text);
    if (option == "--focus") choice.filter.focus = parse_pattern(option, text);
    if (option == "--ignore") choice.filter.ignore = parse_pattern(option, text);
    if (option == "--hide") choice.view.hidden = parse_hidden(option, text);
    if (option == "--process") choice.filter.process = parse_pattern(option, text);
  }
  return choice;
}

void settle_younger(bool is_temporary, bool is_used_else, std::optional<uint64_t>* younger_ns) {
  if (*younger_ns && !is_temporary && !is_used_else) {
    throw Failure("--younger: applies to what is temporary; add --metric temporary");
  }
  if (is_temporary && !*younger_ns) *younger_ns = profile::kDefaultTemporaryNs;
}

}  // namespace memprof::cli
