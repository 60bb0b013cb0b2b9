// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/process_number.h"

namespace memprof::cli {

bool parse_pid(const std::string& text, uint64_t* pid) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  *pid = std::stoull(text);
  return *pid != 0;
}

}  // namespace memprof::cli
