// SPDX-License-Identifier: Apache-2.0
// Ends a command: one line that names the input and says what to do, and the exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace memprof::cli {

inline constexpr int kBadInput = 2;
inline constexpr int kCannotExecute = 126;  // as shells have it
inline constexpr int kNotFound = 127;

class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& line, int status = kBadInput)
      : std::runtime_error(line), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace memprof::cli
