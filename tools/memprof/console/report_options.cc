// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/report_options.h"

#include "memprof/console/arguments.h"
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

const char kFilterHelp[] =
    R"(  --focus REGEX    only stacks with a frame whose function, source file or
                   module matches, or whose heap or process does; percents
                   stay those of the whole profile
  --ignore REGEX   without the stacks that have such a frame
  --process REGEX  only stacks of a process whose "NAME PID", or "NAME PID: PART"
                   with a part of its command line, matches, in a file of several
                   (memprof run --merge)
)";

const char kFrameHelp[] =
    R"(  --hide REGEX     without the frames whose function, source file or module
                   matches: what they allocate counts as their callers'
  --native         show the functions of extension modules. By default what native
                   code below Python or JavaScript allocates counts as that of
                   the line that called it
  --imports        show the lines of installed packages that are imported. By
                   default what importing pandas takes is one row, "importing
                   pandas", and the interpreter's start another; trees have
                   them always
  --all-frames     show all frames. By default what these allocate counts as their
                   caller's, too: known wrappers of malloc (xmalloc, g_malloc
                   ...), and functions that are seen to be such ("through
                   BigAlloc"); the standard libraries of C, C++ and Rust; Python's
                   import machinery
  --native-interpreter  show the functions of the Python interpreter itself, too
)";

ReaderOptions::ReaderOptions(ArgumentParser& parser) : parser_(parser) {
  for (const char* option : {"--by", "--metric", "--younger", "--focus", "--ignore", "--process", "--hide"}) {
    parser.add_option(option, values_[option]);
  }
  parser.add_flag("--native", view_.native);
  parser.add_flag("--imports", view_.imports);
  parser.add_flag("--native-interpreter", view_.interpreter);
  parser.add_flag("--all-frames", view_.all);
  parser.add_flag("--full-names", view_.full_names);
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
