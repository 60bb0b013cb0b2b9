// SPDX-License-Identifier: Apache-2.0
// The limits of --fail-on, as each command reads them.
//
// Failure: throws Failure.
#pragma once

#include <string>
#include <vector>

#include "memprof/console/failure.h"
#include "profile/model/error.h"

namespace memprof::cli {

template <typename Limit>
std::vector<Limit> parse_fail_on(const std::vector<std::string>& texts,
                                 Limit (*parse_limit)(const std::string&)) {
  std::vector<Limit> limits;
  for (const std::string& text : texts) {
    try {
      limits.push_back(parse_limit(text));
    } catch (const profile::Error& error) {
      throw Failure(std::string("--fail-on: ") + error.what());
    }
  }
  return limits;
}

}  // namespace memprof::cli
