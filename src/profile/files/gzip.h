// SPDX-License-Identifier: Apache-2.0
// gzip in memory, both ways; unpacking is limited because a small file can ask for any amount of memory.
//
// Threads: no state.
// Failure: throws Error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "format/sink.h"
#include "profile/model/error.h"

namespace memprof::profile {

// Appends what it takes to the text.
Sink sink_to(std::string& text);

bool is_gzip(std::string_view data);

// All members of a gzip file, one after the other.  `name` stands in messages.  `look` is called with each piece of
// what was packed as soon as it is there, and may throw: then no more is unpacked.
std::string gunzip(std::string_view data, const std::string& name, uint64_t max_bytes,
                   const std::function<void(std::string_view)>& look = {});

enum class GzipEffort {
  kUsual,  // zlib's default; of large data only for their beginning
  kQuick,  // less than half the time, and a twentieth more room
};

// The same bytes each time: no time stamp and no file name.
std::string gzip(std::string_view data, GzipEffort effort = GzipEffort::kUsual);

// The same, of data that come piece by piece.
class GzipPacker {
 public:
  explicit GzipPacker(const Sink& to, GzipEffort effort = GzipEffort::kUsual);
  ~GzipPacker();
  GzipPacker(const GzipPacker&) = delete;
  GzipPacker& operator=(const GzipPacker&) = delete;

  Sink sink() { return {write, this}; }
  // After the last piece.  false: the sink did not take all of it.
  bool finish();

 private:
  struct Stream;

  static bool write(void* context, const void* data, size_t size);
  bool put(std::string_view data, bool is_last);

  std::unique_ptr<Stream> stream_;
  Sink to_;
};

}  // namespace memprof::profile
