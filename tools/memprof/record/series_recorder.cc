// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/series_recorder.h"

#include <algorithm>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/host/process/memory_figures.h"
#include "profile/text/units.h"

namespace memprof::cli {

SeriesRecorder::SeriesRecorder(std::string path, const RecordChoice& choice, std::string program,
                               uint64_t pid)
    : path_(std::move(path)), choice_(choice) {
  facts_.program = std::move(program);
  facts_.pid = pid;
  facts_.every_ns = choice.every_ns;
}

// Of large processes not at each look: it takes at most 1 % of the time.
void SeriesRecorder::add_proportional_size(const std::vector<uint64_t>& pids,
                                           profile::SystemFigures* figures) {
  using Clock = std::chrono::steady_clock;
  constexpr int kShare = 100;
  const auto before = Clock::now();
  if (before < next_proportional_) return;
  cli::add_proportional_size(pids, figures);
  const auto now = Clock::now();
  next_proportional_ = now + kShare * (now - before);
}

void SeriesRecorder::add(const profile::Profile& profile, const std::vector<uint64_t>& pids) {
  profile::SeriesLook look = profile::figures_of(profile, std::max<uint64_t>(pids.size(), 1));
  look.system = read_memory_figures(pids);
  profile::add_resident_figures(profile.resident, &look.system);
  add_proportional_size(pids, &look.system);
  if (!writer_) {
    writer_.emplace(path_, facts_, choice_.max_bytes,
                    choice_.force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
  }
  writer_->add(look, profile);
}

std::string SeriesRecorder::summary() const {
  if (!writer_) {
    return "no look was taken, and there is no " + shell_word(path_) +
           ": what was to be recorded ended before the first, " +
           profile::format_duration_ns(static_cast<double>(choice_.every_ns)) + " after the start";
  }
  const uint64_t looks = writer_->looks();
  std::string text =
      "wrote " + shell_word(path_) + ": " + std::to_string(looks) + (looks == 1 ? " look" : " looks");
  if (writer_->left_out() != 0) {
    text += " (" + std::to_string(writer_->left_out()) + " older ones were left out: --limit)";
  }
  return text + "; next: memprof report " + shell_word(path_);
}

}  // namespace memprof::cli
