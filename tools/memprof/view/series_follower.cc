// SPDX-License-Identifier: Apache-2.0
#include "memprof/view/series_follower.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/host/process/file_state.h"
#include "profile/files/growing_file.h"
#include "profile/model/error.h"
#include "profile/page/page_html.h"
#include "profile/view/profile_view.h"

namespace memprof::cli {
namespace {

constexpr std::chrono::milliseconds kWait{200};
// A writer that puts other content in place of its file has no lock for a moment.
constexpr std::chrono::milliseconds kMoment{50};
constexpr double kNsPerSecond = 1e9;

double figure(const profile::SeriesLook& look, const char* name) {
  const auto found = look.system.find(name);
  return found == look.system.end() ? 0 : static_cast<double>(found->second);
}

double allocated(const profile::SeriesLook& look) {
  const auto found = look.totals.find(profile::Metric::kAllocSpace);
  return found == look.totals.end() ? 0 : found->second.value;
}

}  // namespace

SeriesFollower::SeriesFollower(std::string path, AskServers ask_servers,
                               std::shared_ptr<const profile::HiddenFrames> hidden)
    : path_(std::move(path)), ask_servers_(ask_servers), hidden_(std::move(hidden)) {
  bool is_said = false;
  while (true) {
    const bool is_recorded = SeriesFollower::is_there();
    state_of_file_ = file_state(path_);
    reader_ = std::make_unique<profile::SeriesReader>(path_);
    if (!reader_->series().looks.empty()) return;
    if (!is_recorded) throw profile::Error(path_ + ": a series without a look");
    if (!is_said) complain(path_ + ": is being recorded, and has no look yet: waiting for the first");
    is_said = true;
    std::this_thread::sleep_for(kWait);
  }
}

bool SeriesFollower::refresh() {
  const std::string state = file_state(path_);
  if (state == state_of_file_) return !is_other_;
  state_of_file_ = state;
  try {
    profile::SeriesReader reader(path_);
    const auto& looks = reader.series().looks;
    is_other_ = looks.empty() || looks.front().time_unix_ns != reader_->series().looks.front().time_unix_ns;
    if (!is_other_) reader_ = std::make_unique<profile::SeriesReader>(std::move(reader));
  } catch (const profile::Error&) {
    is_other_ = true;
  }
  return !is_other_;
}

bool SeriesFollower::is_there() const {
  if (is_other_) return false;
  if (profile::is_growing(path_)) return true;
  std::this_thread::sleep_for(kMoment);
  return profile::is_growing(path_);
}

std::string SeriesFollower::ending() const {
  if (is_other_) return path_ + ": another file has taken its place, or it is gone";
  return path_ + ": the recording has ended";
}

bool SeriesFollower::has_news() {
  return refresh() && reader_->series().looks.back().time_unix_ns != shown_unix_ns_;
}

profile::Profile SeriesFollower::profile_of(const profile::SeriesLook& look) {
  profile::Profile profile = reader_->profile_of(look);
  add_names(profile, ask_servers_);
  if (hidden_ != nullptr) profile::hide_frames(*hidden_, &profile);
  return profile;
}

profile::LiveLook SeriesFollower::as_live(const profile::SeriesLook& look) {
  profile::LiveLook live;
  live.profile = profile_of(look);
  live.resident_bytes = static_cast<uint64_t>(figure(look, "rss_bytes"));
  live.who = "the look of " + profile::time_text(look.time_unix_ns);
  if (look.processes > 1) live.who += " at " + std::to_string(look.processes) + " processes";
  live.time_unix_ns = look.time_unix_ns;
  shown_unix_ns_ = look.time_unix_ns;
  return live;
}

profile::LiveLook SeriesFollower::look() {
  if (!refresh()) throw profile::Error(ending());
  const auto& looks = reader_->series().looks;
  return as_live(shown_unix_ns_ == 0 ? looks.front() : looks.back());
}

std::optional<profile::LiveLook> SeriesFollower::look_at_end() {
  if (!has_news()) return std::nullopt;
  return as_live(reader_->series().looks.back());
}

std::vector<TimelinePoint> SeriesFollower::timeline() const {
  const auto& looks = reader_->series().looks;
  const size_t step = (looks.size() + kMaxPoints - 1) / kMaxPoints;
  std::vector<TimelinePoint> points;
  for (size_t i = 0; i < looks.size(); ++i) {
    if (i % step != 0 && i + 1 != looks.size()) continue;
    TimelinePoint& point = points.emplace_back();
    point.seconds = static_cast<double>(looks[i].time_unix_ns - looks.front().time_unix_ns) / kNsPerSecond;
    point.live_bytes = profile::live_bytes_of(looks[i]);
    point.resident_bytes = figure(looks[i], "rss_bytes");
    point.allocated_bytes = allocated(looks[i]);
  }
  return points;
}

const profile::SeriesLook& SeriesFollower::look_near(double seconds) const {
  const auto& looks = reader_->series().looks;
  const auto distance = [&](const profile::SeriesLook& look) {
    return std::abs(static_cast<double>(look.time_unix_ns - looks.front().time_unix_ns) / kNsPerSecond -
                    seconds);
  };
  return *std::min_element(looks.begin(), looks.end(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
}

std::optional<std::string> SeriesFollower::between(double first_s, double last_s) {
  static_cast<void>(refresh());  // of one that is gone what was read last
  const profile::SeriesLook& first = look_near(first_s);
  const profile::SeriesLook& last = look_near(last_s);
  if (first.time_unix_ns == last.time_unix_ns) {
    return profile::write_page_block(profile_of(last), profile::time_text(last.time_unix_ns));
  }
  return profile::write_change_block({{profile::time_text(first.time_unix_ns), profile_of(first)}},
                                     {{profile::time_text(last.time_unix_ns), profile_of(last)}});
}

}  // namespace memprof::cli
