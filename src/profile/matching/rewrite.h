// SPDX-License-Identifier: Apache-2.0
// A regular expression with the text that takes its place, as relabelling of Prometheus has them: the expression matches
// the whole text, and "$1", "${1}", "${name}" in the form stand for its groups, "$$" for a dollar.
//
// Threads: immutable; copies share the compiled expression.
// Failure: the constructor throws Error for what is no expression, and for a group that it does not have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace memprof::profile {

class Rewrite {
 public:
  Rewrite(const std::string& expression, const std::string& form);

  bool matches(std::string_view text) const;
  // The form with the groups of `text`; nothing where it does not match.
  std::optional<std::string> apply(std::string_view text) const;

 private:
  struct Part {
    std::string text;
    int group = -1;  // in place of `text`; 0: all that matched
  };

  void read_form(const std::string& form);
  Part group_called(const std::string& name, const std::string& form) const;

  std::shared_ptr<const re2::RE2> expression_;
  std::vector<Part> form_;
};

}  // namespace memprof::profile
