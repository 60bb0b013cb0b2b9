// SPDX-License-Identifier: Apache-2.0
// Running processes, or a series (series_follower.h), as a live page: looked at once a second while somebody watches,
// at each request, and as often as a recording wants.
//
// Model: looks are paced by what they take of a processor, with all that is sent of them: 2 % of a core.  A
// request of the page looks at once, and is beside that.  When the processes have ended the last look stays, and the
// page says so.
//
// Threads: the server's.
// Failure: the constructor throws profile::Error and Failure; later errors are told to the viewers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/host/process/running_process.h"
#include "memprof/live/look_source.h"
#include "memprof/record/record_options.h"
#include "memprof/record/series_recorder.h"
#include "memprof/serve/page_source.h"
#include "memprof/serve/source_files.h"
#include "memprof/view/live_timeline.h"
#include "profile/names/frame_grouping.h"
#include "profile/page/page_stream.h"

namespace memprof::cli {

class LivePage : public PageSource {
 public:
  // What is to be recorded, and of which process, or the first of several.
  struct Recording {
    RecordChoice choice;
    RunningProcess process;
  };

  // Looks for the first time.  `looks` must outlive it, and `sources`, which learns of all files.  `name`: the page's title.
  // What is recorded has the frames that are hidden here.  `processor_time`: what the thread has used of the processor;
  // what looks cost is measured with it.
  LivePage(LookSource* looks, std::string name, const std::optional<Recording>& recording = {},
           SourceFiles* sources = nullptr, std::shared_ptr<const profile::HiddenFrames> hidden = nullptr,
           std::chrono::nanoseconds (*processor_time)() = processor_time_of_thread);

  std::string page() override;
  // "profile.pb.gz": the last look; "between-MS-MS"
  std::optional<PageFile> file(const std::string& name) override;
  bool is_live() const override { return true; }
  std::optional<Clock::time_point> next_look(bool has_viewers) const override;
  void look() override;
  std::string event_after(ViewerPlace* place) override;
  ViewerPlace place_after(const std::string& event) const override;

  // Of what was recorded: where it is, and how to read it.  Empty: nothing was to be.
  std::string summary() const;

 private:
  // What viewers are told beside the looks.
  struct State {
    uint64_t number = 1;
    std::string ending;  // empty: it goes on
    std::string problem;
  };

  void take(profile::LiveLook look);
  void end();
  void record();
  void begin(const Recording& recording);
  void set_problem(const std::string& problem);
  std::string state_event() const;
  std::optional<PageFile> between(const std::string& name);
  nlohmann::ordered_json timeline() const;

  LookSource& looks_;
  SourceFiles* const sources_;
  const std::string name_;
  const std::shared_ptr<const profile::HiddenFrames> hidden_;  // nullptr: none
  profile::PageStream stream_;
  profile::Profile last_;
  nlohmann::ordered_json live_;  // facts of the last look
  std::string first_event_;
  uint64_t ready_since_ = 0;  // what ready_event_ begins after
  uint64_t ready_look_ = 0;   // and which look it leads to; 0: none is ready
  std::string ready_event_;
  State state_;
  Clock::time_point began_;     // the first look
  Clock::time_point looked_;    // the last one began
  uint64_t began_unix_ns_ = 0;  // of looks that were recorded
  double seconds_ = 0;          // from the first look to the last
  LiveTimeline timeline_;       // of looks that were not
  std::chrono::nanoseconds (*const processor_time_)();
  double spent_s_ = 0;  // of a processor, for it and for what was sent of it
  std::optional<SeriesRecorder> recorder_;
  std::chrono::nanoseconds record_every_{};
  Clock::time_point next_record_;
};

}  // namespace memprof::cli
