// SPDX-License-Identifier: Apache-2.0
// Writes and reads the file of a series (series.h).
//
// Threads: one object, one thread.  A file is read rightly while another process writes it.
// Failure: throws Error "PATH: why, and what to do".
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "profile/files/growing_file.h"
#include "profile/series/series.h"

namespace memprof::profile {

// The file of a series as it grows.  Its size is bounded: where the next look would make it larger, looks are
// left out of it (series_thinning.h).
class SeriesWriter {
 public:
  static constexpr uint64_t kMinBytes = uint64_t{1} << 20;

  // Makes the file.  `series`: its facts; looks are not taken from it.  `max_bytes`: at least kMinBytes.
  SeriesWriter(std::string path, const Series& series, uint64_t max_bytes, IfExists if_exists);

  // Later than the look before.  The file stays as it was where this throws: also where a look alone is larger
  // than the file may be.
  void add(const SeriesLook& look, const Profile& profile);

  uint64_t looks() const { return kept_.size(); }
  uint64_t left_out() const { return left_out_; }

 private:
  struct Kept {
    uint64_t time_unix_ns;
    double live_bytes;
    uint64_t offset;  // of its record
    uint64_t bytes;
  };
  void make_room(uint64_t for_bytes, uint64_t now_unix_ns);

  std::string beginning_;
  uint64_t max_bytes_;
  GrowingFile file_;
  std::vector<Kept> kept_;
  uint64_t left_out_ = 0;
};

// Whether a file begins as a series does.  false for what cannot be read, or is no ordinary file.
bool is_series(const std::string& path);

// A file as it was when it was opened: what its writer puts in its place later is not seen.
class SeriesReader {
 public:
  // Reads the figures of all looks.
  explicit SeriesReader(const std::string& path);

  const Series& series() const { return series_; }
  // The profile of one of its looks.
  Profile profile_of(const SeriesLook& look);

 private:
  std::string path_;
  std::ifstream file_;
  Series series_;
};

}  // namespace memprof::profile
