// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/merge_command.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/http/profile_url.h"
#include "memprof/io/output_check.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/profile_output.h"
#include "memprof/io/pyroscope/pyroscope_query.h"
#include "profile/compare/merge.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {"memprof merge FILE... -o OUT [OPTIONS]",
          R"(Adds up profiles of many runs, processes or machines into one, whose intervals
are those of the sum. They may be of different rates.
)",
          R"(Stacks that are the same become one, wherever the processes had their code
loaded. There may be thousands of files: one is in memory at a time.
)",
          R"(Profiles by memprof, and profiles by others, can be merged with their like only:
those of others have no intervals.
)"};
}

constexpr size_t kMaxNamed = 5;

struct Options {
  std::vector<std::string> files;
  std::string output;
  bool skip_damaged = false;
  bool force = false;
  HttpAccess access;
};

class Merge {
 public:
  explicit Merge(const Options& options) : options_(options) {}

  void add(const std::string& path) {
    std::error_code missing;
    if (path != "-" && !is_profile_url(path) && !is_pyroscope_query(path) &&
        !std::filesystem::exists(path, missing)) {
      throw Failure(path + ": cannot read it: " + error_text(missing ? missing.value() : ENOENT));
    }
    profile::Profile profile;
    try {
      profile = read_profile(path, options_.access);
    } catch (const profile::Error& error) {
      if (!options_.skip_damaged) {
        throw Failure(std::string(error.what()) + "; --skip-damaged leaves such files out");
      }
      if (damaged_++ < kMaxNamed) complain(std::string("left out: ") + error.what());
      return;
    }
    say_origin(profile, path);
    check_like_the_others(path, profile);
    check_process(path, profile);
    merger_.add(profile);
    ++merged_;
  }

  profile::Profile take() {
    if (damaged_ > kMaxNamed) {
      complain("left out: " + std::to_string(damaged_ - kMaxNamed) + " more, for reasons like these");
    }
    if (merged_ == 0) throw Failure("merge: none of the files is a whole profile");
    if (programs_.size() > 1) {
      std::string names;
      for (const std::string& program : programs_) {
        names += (names.empty() ? "" : ", ") + (program.empty() ? "?" : program);
        if (names.size() > 200) {
          names += " ...";
          break;
        }
      }
      complain("warning: the files are of " + std::to_string(programs_.size()) + " programs: " + names);
    }
    return merger_.take();
  }

  size_t merged() const { return merged_; }
  size_t damaged() const { return damaged_; }

 private:
  void check_like_the_others(const std::string& path, const profile::Profile& profile) {
    programs_.insert(profile.program);
    if (merged_ == 0) {
      first_ = path;
      from_memprof_ = profile.from_memprof;
      has_metric_ = profile.has_metric;
      return;
    }
    if (profile.from_memprof != from_memprof_) {
      throw Failure((from_memprof_ ? path : first_) + ": not written by memprof, and " +
                    (from_memprof_ ? first_ : path) +
                    " was: the sum would have no intervals; merge them apart, or use `pprof -proto`");
    }
    if (profile.has_metric != has_metric_) {
      throw Failure(path + ": has other metrics than " + first_ + "; merge those apart that have the same");
    }
  }

  // Two looks at one process have the same blocks in them.
  void check_process(const std::string& path, const profile::Profile& profile) {
    if (!profile.from_memprof || profile.pid == 0 || profile.time_unix_ns == 0) return;
    constexpr uint64_t kSecond = 1'000'000'000;
    const uint64_t start = (profile.time_unix_ns - profile.duration_ns) / kSecond;
    std::map<uint64_t, std::string>& starts = processes_[{profile.program, profile.pid}];
    const auto known = starts.lower_bound(start - 1);
    if (known != starts.end() && known->first <= start + 1) {
      if (twice_++ < kMaxNamed) {
        complain("warning: " + path + " and " + known->second +
                 " are of one process at two times: what it held at both counts twice");
      }
      return;
    }
    starts[start] = path;
  }

  const Options options_;
  profile::Merger merger_{profile::Processes::kAddedUp};
  size_t merged_ = 0;
  size_t damaged_ = 0;
  size_t twice_ = 0;
  std::string first_;
  bool from_memprof_ = false;
  std::array<bool, profile::kMetricCount> has_metric_{};
  std::set<std::string> programs_;
  std::map<std::pair<std::string, uint64_t>, std::map<uint64_t, std::string>> processes_;
};

}  // namespace

int merge_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("merge", help());
  using Shown = OptionText::Shown;
  Options options;
  parser.add_arguments(options.files);
  parser.add_option({"-o,--output", "OUT", "the file to write, .pb.gz or .pb", Shown::kInBoth},
                    options.output);
  parser.add_flag({"--skip-damaged", "",
                   "leave out damaged files, and say which and how many. Otherwise the first one is an error",
                   Shown::kInBoth},
                  options.skip_damaged);
  add_force(parser, "OUT if it exists", options.force);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(arguments)) return 0;
  if (options.files.empty()) throw Failure("merge: no profiles given; usage: memprof merge FILE... -o OUT");
  if (options.output.empty() || options.output == "-") {
    throw Failure("merge: where to? give -o OUT, like -o all.pb.gz");
  }
  check_pprof_name("merge", options.output);
  check_output_path(options.output, options.force);
  options.access = access.access();
  Merge merge(options);
  for (const std::string& file : options.files) merge.add(file);
  profile::Profile merged = merge.take();
  add_names(merged, parser.is_given("--no-debuginfod") ? AskServers::kNo : AskServers::kYes);
  write_profile(merged, options.output, options.force);
  std::string said = "merged " + std::to_string(merge.merged()) + (merge.merged() == 1 ? " file" : " files");
  if (merge.damaged() != 0) said += " (" + std::to_string(merge.damaged()) + " left out)";
  complain(said + " into " + shell_word(options.output) + "; next: memprof report " +
           shell_word(options.output));
  return 0;
}

}  // namespace memprof::cli
