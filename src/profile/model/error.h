// SPDX-License-Identifier: Apache-2.0
// The one exception of the profile library: something that a user gave us cannot be used.  Its text is one
// line that names the input and what is wrong with it, ready to be printed.
#pragma once

#include <stdexcept>
#include <string>

namespace memprof::profile {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace memprof::profile
