// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/check_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "memprof/check/check_run.h"
#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/output_check.h"
#include "memprof/run/python_program.h"
#include "profile/files/atomic_file.h"
#include "profile/gate/limit_file.h"
#include "profile/gate/output/gate_json.h"
#include "profile/gate/output/gate_junit.h"
#include "profile/gate/output/gate_markdown.h"
#include "profile/gate/output/gate_text.h"
#include "profile/gate/output/github_annotations.h"
#include "profile/gate/verdict.h"
#include "profile/text/nearest_name.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {
      "memprof check [OPTIONS] [-- CMD ARG...]\n"
      "memprof check [OPTIONS] FILE...",
      R"(Runs programs and checks them against the limits in memprof.toml: bytes at the
peak, at the end and allocated, for the whole program, sites and modules; growth
per iteration, allocations per call. docs/check.md describes the file.
)",
      R"(With CMD or FILE (profiles), the limits are those of the checks in the file that
name neither a command nor a profile; without, all others are run.
)",
      R"(A limit is exceeded if the low end of the 95 % interval is above it: a program
that holds exactly as much as the limit fails once in 40 runs. If the interval
does not rule out twice the limit, there is no verdict.

The programs' output goes to standard error. The status is 0 if all limits hold,
1 if one is exceeded or a program fails, 2 if there is no verdict or wrong use.
)"};
}

struct Options {
  std::string limits = "memprof.toml";
  std::vector<std::string> only;
  std::vector<std::string> files;
  std::vector<std::string> command;
  CheckRunOptions run;
  bool json = false;
  bool markdown = false;
  bool github = false;
  std::string junit;
  std::string output;

  bool has_own() const { return !files.empty() || !command.empty(); }
  bool has_file() const { return !output.empty() && output != "-"; }
};

bool is_in_github() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string(value) == "true";
}

void check_outputs(const Options& options) {
  if (options.json && options.markdown) throw Failure("check: --json or --markdown? One of them");
  if (options.junit == "-" && !options.has_file() && (options.json || options.markdown)) {
    throw Failure("--junit -: standard output has --json or --markdown already; give a file");
  }
  if (options.has_file()) check_output_path(options.output, options.run.force);
  if (!options.junit.empty() && options.junit != "-") check_output_path(options.junit, options.run.force);
  if (options.run.keep.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options.run.keep, error);
  if (error) throw Failure("--keep " + options.run.keep + ": cannot make the folder: " + error.message());
}

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  ArgumentParser parser("check", help());
  using Shown = OptionText::Shown;
  std::string rate;
  parser.add_arguments(options.files);
  parser.add_option({"--limits", "FILE", "the limits (memprof.toml)", Shown::kInBoth}, options.limits);
  parser.add_repeated_option(
      {"--only", "NAME", "only the check with this name; may be repeated", Shown::kInBoth}, options.only);
  parser.add_option(
      {"-r,--rate", "RATE",
       "mean bytes between samples, 0 for every allocation, instead of the rate that suits the limits"},
      rate);
  parser.add_option({"--keep", "FOLDER", "keep the profiles of the runs there", Shown::kInBoth},
                    options.run.keep);
  parser.add_flag({"--json", "", "for programs; docs/check.md describes it", Shown::kInBoth}, options.json);
  parser.add_flag({"--markdown", "", "for a comment on a pull request", Shown::kInBoth}, options.markdown);
  parser.add_option(
      {"--junit", "FILE", "also write the limits as test cases; `-` is standard output, instead of the text"},
      options.junit);
  parser.add_flag(
      {"--github", "",
       "annotations for GitHub Actions, at the source lines that hold the most, and the summary of the job; "
       "also where the variable GITHUB_ACTIONS is true"},
      options.github);
  parser.add_option({"-o,--output", "OUT", "write to a file instead of standard output"}, options.output);
  parser.add_flag({"--force", "", "replace OUT, the file of --junit, and what --keep has"},
                  options.run.force);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse({arguments.begin(), dashes})) return std::nullopt;
  if (parser.is_given("--no-debuginfod")) options.run.ask_servers = AskServers::kNo;
  options.run.access = access.access();
  if (parser.is_given("--rate")) options.run.rate_bytes = parse_rate(rate);
  for (const char* option : {"--keep", "--junit", "-o", "--limits"}) {
    const std::string& value = option == std::string("--keep")    ? options.run.keep
                               : option == std::string("--junit") ? options.junit
                               : option == std::string("-o")      ? options.output
                                                                  : options.limits;
    if (parser.is_given(option) && value.empty()) throw Failure(std::string(option) + ": give a name");
  }
  if (dashes != arguments.end()) {
    options.command.assign(dashes + 1, arguments.end());
    if (options.command.empty()) throw Failure("check: no program given behind --");
    options.command = with_python(options.command);
    if (!options.files.empty()) {
      throw Failure("check: '" + options.files[0] + "': profiles or a program? Programs stand behind --");
    }
  }
  options.github = options.github || is_in_github();
  check_outputs(options);
  return options;
}

bool is_open(const profile::GateCheck& check) {
  return check.command.empty() && check.profiles.empty();
}

void keep_only(const Options& options, profile::LimitFile* file) {
  if (options.only.empty()) return;
  std::vector<std::string> names;
  for (const profile::GateCheck& check : file->checks) names.push_back(check.name);
  for (const std::string& name : options.only) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = profile::nearest_name(name, names);
    throw Failure("--only: " + file->path + " has no check '" + name + "'" +
                  (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  auto& checks = file->checks;
  checks.erase(std::remove_if(checks.begin(), checks.end(),
                              [&](const profile::GateCheck& check) {
                                return std::find(options.only.begin(), options.only.end(), check.name) ==
                                       options.only.end();
                              }),
               checks.end());
}

void take_command(const Options& options, const profile::GateCheck& check, profile::GateCheck* own) {
  own->command = options.command;
  const auto has_place = [](const std::string& word) { return word.find("{n}") != std::string::npos; };
  if (check.iterations.size() == 2 && !own->command.empty() &&
      std::none_of(own->command.begin(), own->command.end(), has_place)) {
    throw Failure("check: " + options.limits + ":" + std::to_string(check.line) +
                  ": the check has two counts of iterations; write {n} in CMD where the count belongs");
  }
}

// The checks as they are run.
std::vector<profile::GateCheck> chosen_checks(const Options& options, const profile::LimitFile& file) {
  std::vector<profile::GateCheck> chosen;
  for (const profile::GateCheck& check : file.checks) {
    if (is_open(check) != options.has_own()) {
      if (!options.has_own()) {
        complain("warning: " + file.path + ":" + std::to_string(check.line) +
                 ": not checked: the limits name no command; give one behind --");
      }
      continue;
    }
    if (!options.has_own()) {
      chosen.push_back(check);
      continue;
    }
    if (!options.command.empty()) {
      take_command(options, check, &chosen.emplace_back(check));
      continue;
    }
    if (check.iterations.size() == 2) {
      if (options.files.size() != 2) {
        throw Failure("check: the limits have two counts of iterations: give a profile of each");
      }
      chosen.emplace_back(check).profiles = options.files;
      continue;
    }
    for (const std::string& path : options.files) chosen.emplace_back(check).profiles = {path};
  }
  if (!chosen.empty()) return chosen;
  if (options.has_own()) {
    throw Failure(file.path +
                  ": each check has a command or a profile of its own; write limits without one, or "
                  "leave out " +
                  (options.files.empty() ? "CMD" : options.files[0]));
  }
  throw Failure(file.path + (file.checks.empty()
                                 ? ": there is no check in it"
                                 : ": no check names a command; memprof check -- CMD runs one"));
}

void write(const std::string& path, const std::string& text, bool force) {
  profile::write_file_atomically(path, text,
                                 force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
}

void append_summary(const std::string& markdown) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') return;
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << markdown << std::flush;
  if (!file) complain(std::string("warning: GITHUB_STEP_SUMMARY: cannot write ") + path);
}

void write_report(const Options& options, const profile::GateReport& report) {
  profile::TextOptions plain;
  plain.has_utf8 = true;
  const bool has_text = !options.json && !options.markdown;
  const auto text = [&](const profile::TextOptions& how) {
    return options.json       ? profile::gate_json(report)
           : options.markdown ? profile::gate_markdown(report)
                              : profile::gate_text(report, how);
  };
  if (options.has_file()) {
    write(options.output, text(plain), options.run.force);
  } else if (options.junit != "-") {
    print(text(terminal_text_options()));
  }
  const std::string junit = options.junit.empty() ? "" : profile::gate_junit(report);
  if (options.junit == "-") {
    print(junit);
  } else if (!junit.empty()) {
    write(options.junit, junit, options.run.force);
  }
  if (!options.github) return;
  const char* workspace = std::getenv("GITHUB_WORKSPACE");
  const std::string annotations = profile::github_annotations(
      report, workspace != nullptr ? workspace : std::filesystem::current_path().string());
  // The runner reads both; what a program reads stays what it is.
  if (has_text && options.junit != "-") {
    print(annotations);
  } else {
    static_cast<void>(std::fputs(annotations.c_str(), stderr));
  }
  append_summary(profile::gate_markdown(report));
}

}  // namespace

int check_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  profile::LimitFile file = profile::read_limit_file(options->limits);
  keep_only(*options, &file);
  profile::GateReport report{file.path, {}};
  for (const profile::GateCheck& check : chosen_checks(*options, file)) {
    report.checks.push_back(run_check(check, options->run));
  }
  write_report(*options, report);
  return report.status();
}

}  // namespace memprof::cli
