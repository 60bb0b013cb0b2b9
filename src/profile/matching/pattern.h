// SPDX-License-Identifier: Apache-2.0
// A regular expression that a user typed, found anywhere in a text.
//
// RE2: its syntax is that of pprof's own expressions (Go's regexp), and its time and memory are bounded
// however long a name is; std::regex recurses once a character, which the names of templates overflow.
//
// Threads: immutable; copies share the compiled expression.
// Failure: the constructor throws Error for what is no expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace memprof::profile {

class Pattern {
 public:
  explicit Pattern(const std::string& text);

  bool is_in(std::string_view text) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace memprof::profile
