// SPDX-License-Identifier: Apache-2.0
// The looks of a series, also of one that is still being recorded: first its first one, then whichever is its last.
//
// Model: who records a series has its file locked (profile/files/growing_file.h).  The file is read anew when it has changed.
// A file that begins with another look than before is another recording, which nobody asked for.
//
// Threads: one command's own.
// Failure: throws profile::Error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/io/profile_input.h"
#include "memprof/live/look_source.h"
#include "profile/names/frame_grouping.h"
#include "profile/series/series_file.h"

namespace memprof::cli {

class SeriesFollower : public LookSource {
 public:
  // Waits for its first look where it is being recorded and has none.
  // `hidden`: nullptr, or frames that no look has.
  SeriesFollower(std::string path, AskServers ask_servers,
                 std::shared_ptr<const profile::HiddenFrames> hidden = nullptr);

  profile::LiveLook look() override;
  std::optional<profile::LiveLook> look_at_end() override;
  const std::vector<uint64_t>& pids() const override { return no_pids_; }
  // Whether it is being recorded.
  bool is_there() const override;
  std::string ending() const override;
  bool has_news() override;
  std::vector<TimelinePoint> timeline() const override;
  std::optional<std::string> between(double first_s, double last_s) override;

  static constexpr size_t kMaxPoints = 240;

 private:
  // Reads the file where it has changed; false: it is another recording, or gone.
  bool refresh();
  const profile::SeriesLook& look_near(double seconds) const;
  profile::Profile profile_of(const profile::SeriesLook& look);
  profile::LiveLook as_live(const profile::SeriesLook& look);

  const std::string path_;
  const AskServers ask_servers_;
  const std::shared_ptr<const profile::HiddenFrames> hidden_;
  const std::vector<uint64_t> no_pids_;
  std::unique_ptr<profile::SeriesReader> reader_;  // never null
  std::string state_of_file_;                      // when it was read
  uint64_t shown_unix_ns_ = 0;                     // the look that was shown last; 0: none
  bool is_other_ = false;
};

}  // namespace memprof::cli
