// SPDX-License-Identifier: Apache-2.0
// A key that a user pressed, as the view sees it; tools/memprof/console/key_reader.h reads them from a terminal.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::profile {

struct LiveKey {
  enum class Kind : uint8_t {
    kText,  // `text`: one character, UTF-8
    kEnter,
    kEscape,
    kBackspace,
    kClearLine,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kOther,  // one that means nothing here
  };
  Kind kind = Kind::kOther;
  std::string text;
};

inline bool operator==(const LiveKey& a, const LiveKey& b) {
  return a.kind == b.kind && a.text == b.text;
}

}  // namespace memprof::profile
