// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/report_options.h"

#include "memprof/console/failure.h"
#include "profile/model/error.h"

namespace memprof::cli {

profile::GroupBy parse_group_by(const std::string& text) {
  const auto by = profile::group_by_from_name(text);
  if (!by) throw Failure("--by: '" + text + "' is not one of function, line, file, module, heap, process");
  return *by;
}

profile::Pattern parse_pattern(const std::string& option, const std::string& text) {
  if (text.empty()) throw Failure(option + ": an empty expression matches everything; give some text");
  try {
    return profile::Pattern(text);
  } catch (const profile::Error& error) {
    throw Failure(option + ": " + error.what());
  }
}

}  // namespace memprof::cli
