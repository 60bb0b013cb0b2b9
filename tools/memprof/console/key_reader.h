// SPDX-License-Identifier: Apache-2.0
// Keys out of the bytes that a terminal sends: characters, and the sequences of arrows and the like (those of
// xterm and of the Linux console; an unknown one is one key that means nothing).
//
// Threads: one object, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/live/live_key.h"

namespace memprof::cli {

class KeyReader {
 public:
  // The keys that are whole by now.
  std::vector<profile::LiveKey> feed(std::string_view bytes);

  // Whether a key has begun that may go on: the key Escape, or a sequence.
  bool is_waiting() const { return !rest_.empty(); }
  // Nothing more came for a while: what has begun is all there is.
  std::vector<profile::LiveKey> finish();

 private:
  // Takes one key off the beginning of what is there; false: it is not whole.
  bool take(profile::LiveKey* key);
  bool take_sequence(profile::LiveKey* key);

  std::string rest_;
};

}  // namespace memprof::cli
