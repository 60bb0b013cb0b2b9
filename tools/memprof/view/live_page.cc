// SPDX-License-Identifier: Apache-2.0
#include "memprof/view/live_page.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/output_check.h"
#include "memprof/io/path_pattern.h"
#include "profile/files/base64.h"
#include "profile/files/gzip.h"
#include "profile/files/system_file.h"
#include "profile/model/error.h"
#include "profile/page/page_data.h"
#include "profile/page/page_html.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/text/markup/json_text.h"
#include "profile/view/profile_view.h"

namespace memprof::cli {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kMinInterval = 1;  // seconds
// From one look to the next at least so many times what it took of a processor: 2 % of a core, with what the server
// does beside looks.
constexpr double kPause = 56;

constexpr double kMilliseconds = 1e3;
constexpr double kNanoseconds = 1e9;
constexpr char kBetween[] = "between-";

// Adds what a block of code takes of a processor.
class Meter {
 public:
  Meter(std::chrono::nanoseconds (*clock)(), double* sum) : clock_(clock), sum_(sum), before_(clock()) {}
  ~Meter() { *sum_ += Seconds(clock_() - before_).count(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  std::chrono::nanoseconds (*clock_)();
  double* sum_;
  std::chrono::nanoseconds before_;
};

PageSource::Clock::duration as_clock(double seconds) {
  return std::chrono::duration_cast<PageSource::Clock::duration>(Seconds(seconds));
}

std::string look_event(const char* type, uint64_t look, const std::string& data) {
  return "event: " + std::string(type) + "\nid: " + std::to_string(look) +
         "\ndata: " + profile::base64(profile::gzip(data)) + "\n\n";
}

}  // namespace

LivePage::LivePage(LookSource* looks, std::string name, const std::optional<Recording>& recording,
                   SourceFiles* sources, std::shared_ptr<const profile::HiddenFrames> hidden,
                   std::chrono::nanoseconds (*processor_time)())
    : looks_(*looks),
      sources_(sources),
      name_(std::move(name)),
      hidden_(std::move(hidden)),
      began_(Clock::now()),
      looked_(began_),
      processor_time_(processor_time) {
  profile::LiveLook first = looks_.look();  // with all names: later ones take less
  if (recording) begin(*recording);
  take(std::move(first));
  first_event_ = look_event("first", 1, stream_.changes_since(0));
}

void LivePage::begin(const Recording& recording) {
  const RecordChoice& choice = recording.choice;
  const RunningProcess& process = recording.process;
  PathFacts facts;
  facts.pid = static_cast<int64_t>(process.pid);
  facts.program = process.program;
  facts.time_seconds = std::time(nullptr);
  const std::string path = expand_path(choice.pattern, facts);
  check_output_path(path, choice.force);
  recorder_.emplace(path, choice, process.program, process.pid);
  record_every_ = std::chrono::nanoseconds(choice.every_ns);
}

nlohmann::ordered_json LivePage::timeline() const {
  std::vector<TimelinePoint> points = looks_.timeline();
  if (points.empty()) points = timeline_.points();
  nlohmann::ordered_json columns = {{"seconds", nlohmann::ordered_json::array()}};
  const auto whole = [](double value) { return static_cast<uint64_t>(std::max(value, 0.0)); };
  for (const TimelinePoint& point : points) {
    columns["seconds"].push_back(std::round(point.seconds * kMilliseconds) / kMilliseconds);
    columns["live"].push_back(whole(point.live_bytes));
    columns["resident"].push_back(whole(point.resident_bytes));
    columns["allocated"].push_back(whole(point.allocated_bytes));
  }
  return columns;
}

void LivePage::take(profile::LiveLook look) {
  if (look.time_unix_ns == 0) {
    seconds_ = Seconds(looked_ - began_).count();
    timeline_.add(look, seconds_, profile::now_unix_ns());
  } else {
    if (began_unix_ns_ == 0) began_unix_ns_ = look.time_unix_ns;
    seconds_ =
        std::chrono::duration<double, std::nano>(look.time_unix_ns - began_unix_ns_).count() / kNanoseconds;
  }
  last_ = std::move(look.profile);
  record();
  if (hidden_ != nullptr) profile::hide_frames(*hidden_, &last_);
  if (sources_ != nullptr) sources_->know(last_);
  live_ = {{"events", "events"},  {"profile", "profile.pb.gz"},
           {"seconds", seconds_}, {"resident", look.resident_bytes},
           {"who", look.who},     {"recording", recorder_ ? recorder_->path() : std::string()},
           {"between", kBetween}, {"timeline", timeline()}};
  stream_.add(last_, profile::live_page_facts(last_, name_, live_));
}

void LivePage::record() {
  const auto now = Clock::now();
  if (!recorder_ || now < next_record_) return;
  // One that is late is left out, not made up for.
  next_record_ = std::max(next_record_ + record_every_, now + record_every_ / 2);
  recorder_->add(last_, state_.ending.empty() ? looks_.pids() : std::vector<uint64_t>());
}

void LivePage::look() {
  if (!state_.ending.empty()) return;
  looked_ = Clock::now();
  spent_s_ = 0;
  const Meter meter(processor_time_, &spent_s_);
  if (!looks_.is_there()) return end();
  try {
    if (looks_.has_news()) take(looks_.look());
    set_problem("");
  } catch (const profile::Error& error) {
    if (!looks_.is_there()) return end();
    set_problem(error.what());
  } catch (const Failure& failure) {  // of the recording
    recorder_.reset();
    complain(failure.what());
    set_problem(failure.what());
  }
}

void LivePage::end() {
  state_.ending = looks_.ending();
  state_.problem.clear();
  ++state_.number;
  complain(state_.ending + "; the page shows the last look");
  try {
    next_record_ = {};
    if (auto last = looks_.look_at_end()) take(std::move(*last));
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

void LivePage::set_problem(const std::string& problem) {
  if (problem == state_.problem) return;
  state_.problem = problem;
  ++state_.number;
}

std::optional<PageSource::Clock::time_point> LivePage::next_look(bool has_viewers) const {
  if (!state_.ending.empty()) return std::nullopt;
  std::optional<Clock::time_point> next;
  const double interval = std::max(kMinInterval, kPause * spent_s_);
  if (has_viewers) next = looked_ + as_clock(interval);
  if (recorder_) next = std::min(next.value_or(next_record_), next_record_);
  return next;
}

std::string LivePage::page() {
  look();
  profile::PageOptions options;
  options.metric = profile::Metric::kInuseSpace;
  options.live = live_;
  if (sources_ != nullptr) options.source_address = SourceFiles::kAddress;
  return profile::write_page(last_, name_, options);
}

std::optional<PageFile> LivePage::file(const std::string& name) {
  if (name.compare(0, sizeof kBetween - 1, kBetween) == 0) return between(name);
  if (name != "profile.pb.gz") return std::nullopt;
  const std::string saved =
      "memprof." + std::to_string(last_.pid) + "." + std::to_string(std::time(nullptr)) + ".pb.gz";
  return PageFile{"application/octet-stream", saved, profile::write_pprof(last_)};
}

// "between-1500-90000": milliseconds from the first look on.
std::optional<PageFile> LivePage::between(const std::string& name) {
  uint64_t first = 0;
  uint64_t last = 0;
  const size_t begin = sizeof kBetween - 1;
  const size_t middle = std::min(name.find('-', begin), name.size());
  const auto number = [&](size_t from, size_t to, uint64_t* out) {
    const auto parsed = std::from_chars(name.data() + from, name.data() + to, *out);
    return parsed.ec == std::errc() && parsed.ptr == name.data() + to;
  };
  if (middle == name.size() || !number(begin, middle, &first) || !number(middle + 1, name.size(), &last)) {
    return std::nullopt;
  }
  const double first_s = static_cast<double>(first) / kMilliseconds;
  const double last_s = static_cast<double>(last) / kMilliseconds;
  auto block = looks_.between(first_s, last_s);
  if (!block) block = timeline_.between(first_s, last_s, last_);
  return PageFile{"application/octet-stream", "between.gz", profile::gzip(*block)};
}

std::string LivePage::state_event() const {
  const nlohmann::ordered_json state = {{"ending", state_.ending}, {"problem", state_.problem}};
  return "event: state\ndata: " + profile::json_to_text(state) + "\n\n";
}

std::string LivePage::event_after(ViewerPlace* place) {
  const Meter meter(processor_time_, &spent_s_);
  if (place->look == 0 || !stream_.knows(place->look)) {
    place->look = 1;
    return first_event_;
  }
  if (place->look < stream_.looks()) {
    if (ready_look_ != stream_.looks() || ready_since_ != place->look) {
      ready_since_ = place->look;
      ready_look_ = stream_.looks();
      ready_event_ = look_event("look", ready_look_, stream_.changes_since(ready_since_));
    }
    place->look = ready_look_;
    return ready_event_;
  }
  if (place->state == state_.number) return {};
  place->state = state_.number;
  return state_event();
}

ViewerPlace LivePage::place_after(const std::string& event) const {
  char* end = nullptr;
  const uint64_t look = std::strtoull(event.c_str(), &end, 10);
  ViewerPlace place;
  if (!event.empty() && *end == '\0' && look <= stream_.looks() && stream_.knows(look)) place.look = look;
  return place;
}

std::string LivePage::summary() const {
  return recorder_ ? recorder_->summary() : std::string();
}

}  // namespace memprof::cli
