// SPDX-License-Identifier: Apache-2.0
// What `memprof doctor` found: one line a check, what to do about it, and the sum of it all.
//
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace memprof::cli {

enum class Verdict {
  kYes,   // nothing to do
  kNote,  // works; something is missing from the picture, or a limit is near
  kNo,    // stops memprof
};

struct Check {
  Verdict verdict = Verdict::kYes;
  std::string name;   // what was looked at: "library"
  std::string found;  // one sentence without its dot
  std::string to_do;  // empty: nothing
};

class Checks {
 public:
  void yes(const std::string& name, const std::string& found);
  void note(const std::string& name, const std::string& found, const std::string& to_do);
  void no(const std::string& name, const std::string& found, const std::string& to_do);

  const std::vector<Check>& all() const { return all_; }
  size_t count(Verdict verdict) const;

  // Lines and the sum.  width: of a line, 0 for any length.  Control characters of names become `?`.
  std::string text(size_t width, bool has_color) const;

 private:
  std::vector<Check> all_;
};

}  // namespace memprof::cli
