// SPDX-License-Identifier: Apache-2.0
#include "memprof/check/check_run.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/temporary_folder.h"
#include "memprof/run/kept_signals.h"
#include "memprof/run/profiled_run.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    text += (text.empty() ? "" : " ") + (word == "{n}" ? word : shell_word(word));
  }
  return text;
}

// A file name of a check's name.
std::string file_name(const std::string& name, size_t run, size_t runs) {
  std::string file = name.empty() ? "check" : name;
  std::replace_if(
      file.begin(), file.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '-');
  if (file[0] == '.') file[0] = '-';
  return runs > 1 ? file + "." + std::to_string(run + 1) + ".pb.gz" : file + ".pb.gz";
}

class CheckRunner {
 public:
  CheckRunner(const profile::GateCheck& check, const CheckRunOptions& options)
      : check_(check), options_(options) {
    result_.name = check.name;
    result_.line = check.line;
  }

  profile::CheckResult run() {
    try {
      std::vector<profile::ComparedProfile> baseline;
      for (const std::string& path : check_.baseline) {
        baseline.push_back({path, load_profile(path, options_.ask_servers, "", options_.access)});
      }
      if (check_.command.empty()) {
        load_profiles();
      } else {
        run_programs();
      }
      if (profiles_.size() == std::max(check_.iterations.size(), size_t{1})) {
        judge_profiles(baseline);
      }
    } catch (const Failure& failure) {
      if (failure.status() > kEndedBySignal) throw;
      result_.error = failure.what();
    } catch (const profile::Error& error) {
      result_.error = error.what();
    }
    return std::move(result_);
  }

 private:
  static constexpr int kEndedBySignal = 128;

  void load_profiles() {
    for (const std::string& path : check_.profiles) {
      result_.subject += (result_.subject.empty() ? "" : ", ") + path;
      profiles_.push_back({path, load_profile(path, options_.ask_servers, "", options_.access)});
    }
  }

  void run_programs() {
    const std::vector<uint64_t> counts =
        check_.iterations.empty() ? std::vector<uint64_t>{0} : check_.iterations;
    result_.subject = command_text(check_.command);
    for (size_t i = 0; i < check_.iterations.size(); ++i) {
      result_.subject += (i == 0 ? ", n = " : " and ") + std::to_string(check_.iterations[i]);
    }
    for (size_t i = 0; i < counts.size() && result_.status.value_or(0) == 0; ++i) {
      const auto command = check_.iterations.empty() ? check_.command : with_count(check_.command, counts[i]);
      run_program(command, file_name(check_.name, i, counts.size()));
    }
  }

  void run_program(const std::vector<std::string>& command, const std::string& file) {
    RunOptions run;
    run.rate_bytes = options_.rate_bytes.value_or(profile::rate_for(check_));
    const std::string path = (options_.keep.empty() ? folder_.path() : options_.keep) + "/" + file;
    run.output = escape_path(path);
    run.force = options_.keep.empty() || options_.force;
    run.follow = check_.follow;
    run.merge = check_.follow;
    run.quiet = true;
    run.program_output = ProgramOutput::kStandardError;
    run.ask_servers = options_.ask_servers == AskServers::kYes;
    run.command = command;
    const KeptSignals signals;
    const FinishedRun finished = run_profiled(run);
    result_.status = finished.status;
    if (finished.status == kEndedBySignal + SIGINT || finished.status == kEndedBySignal + SIGQUIT) {
      throw Failure("check: " + command_text(command) + " was ended by a signal: no verdict",
                    finished.status);
    }
    if (finished.outputs.empty() || !finished.is_written) {
      result_.error = "nothing was recorded: there is no verdict";
      return;
    }
    if (!options_.keep.empty()) result_.kept.push_back(finished.outputs[0].path);
    profiles_.push_back({command_text(command), read_profile(finished.outputs[0].path)});
  }

  void judge_profiles(const std::vector<profile::ComparedProfile>& baseline) {
    const profile::Profile& last = profiles_.back().profile;
    result_.rate_bytes = last.rate_bytes;
    result_.samples = last.samples;
    for (const profile::ComparedProfile& one : profiles_) {
      add_warnings(profile::doubts_of(one));
    }
    add_warnings(profile::doubts_of_baseline(check_, profiles_, baseline));
    result_.results = profile::judge(check_, profiles_, baseline);
  }

  void add_warnings(std::vector<std::string> sentences) {
    std::move(sentences.begin(), sentences.end(), std::back_inserter(result_.warnings));
  }

  const profile::GateCheck& check_;
  const CheckRunOptions& options_;
  TemporaryFolder folder_;
  std::vector<profile::ComparedProfile> profiles_;
  profile::CheckResult result_;
};

}  // namespace

std::vector<std::string> with_count(const std::vector<std::string>& command, uint64_t count) {
  constexpr char kPlace[] = "{n}";
  constexpr size_t kLength = sizeof(kPlace) - 1;
  std::vector<std::string> words = command;
  for (std::string& word : words) {
    const std::string number = std::to_string(count);
    for (size_t at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at + number.size())) {
      word.replace(at, kLength, number);
    }
  }
  return words;
}

profile::CheckResult run_check(const profile::GateCheck& check, const CheckRunOptions& options) {
  return CheckRunner(check, options).run();
}

}  // namespace memprof::cli
