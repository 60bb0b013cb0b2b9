// SPDX-License-Identifier: Apache-2.0
#include "memprof/view/live_timeline.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "profile/model/estimate.h"
#include "profile/page/page_html.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/series/series.h"

namespace memprof::cli {
namespace {

// From one look that is kept to the next so many times what it took of a processor: 0.5 %.
constexpr double kShare = 200;

template <typename T>
void drop_every_second(std::vector<T>& all) {
  std::vector<T> kept;
  for (size_t i = 0; i < all.size(); i += 2) kept.push_back(std::move(all[i]));
  all = std::move(kept);
}

}  // namespace

void LiveTimeline::add(const profile::LiveLook& look, double seconds, uint64_t time_unix_ns) {
  last_ = {seconds, time_unix_ns, {}};
  if (added_++ % point_every_ != 0) return;
  TimelinePoint& point = points_.emplace_back();
  point.seconds = seconds;
  point.resident_bytes = static_cast<double>(look.resident_bytes);
  for (const profile::Stack& stack : look.profile.stacks) {
    point.live_bytes += profile::estimated_value(stack, profile::Metric::kInuseSpace);
    point.allocated_bytes += profile::estimated_value(stack, profile::Metric::kAllocSpace);
  }
  if (seconds >= next_look_s_) keep(look.profile);
  if (points_.size() < kMaxPoints) return;
  drop_every_second(points_);
  point_every_ *= 2;
}

void LiveTimeline::keep(const profile::Profile& profile) {
  const auto before = processor_time_();
  last_.pprof = profile::write_pprof(profile);
  const std::chrono::duration<double> took = processor_time_() - before;
  next_look_s_ = last_.seconds + kShare * took.count();
  bytes_ += last_.pprof.size();
  looks_.push_back(std::move(last_));
  last_.pprof.clear();
  while (bytes_ > max_bytes_ && looks_.size() > 1) {
    drop_every_second(looks_);
    bytes_ = 0;
    for (const Look& kept : looks_) bytes_ += kept.pprof.size();
  }
}

std::string LiveTimeline::between(double first_s, double last_s, const profile::Profile& last) const {
  const auto nearest = [&](double seconds) {
    const Look* found = &last_;
    for (const Look& look : looks_) {
      if (std::abs(look.seconds - seconds) < std::abs(found->seconds - seconds)) found = &look;
    }
    return found;
  };
  const auto profile_of = [&](const Look& look) {
    return look.pprof.empty() ? last : profile::read_pprof(look.pprof, profile::time_text(look.time_unix_ns));
  };
  const Look& from = *nearest(first_s);
  const Look& to = *nearest(last_s);
  const std::string name = profile::time_text(to.time_unix_ns);
  if (from.time_unix_ns == to.time_unix_ns) return profile::write_page_block(profile_of(to), name);
  return profile::write_change_block({{profile::time_text(from.time_unix_ns), profile_of(from)}},
                                     {{name, profile_of(to)}});
}

}  // namespace memprof::cli
