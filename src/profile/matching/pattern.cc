// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/pattern.h"

#include <re2/re2.h>

#include "profile/model/error.h"

namespace memprof::profile {

Pattern::Pattern(const std::string& text) : text_(text) {
  RE2::Options options;
  options.set_log_errors(false);  // on standard error, and not ours
  options.set_never_capture(true);
  auto expression = std::make_shared<const RE2>(text, options);
  if (!expression->ok()) {
    throw Error("'" + text + "' is not a regular expression: " + expression->error());
  }
  expression_ = std::move(expression);
}

bool Pattern::is_in(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

}  // namespace memprof::profile
