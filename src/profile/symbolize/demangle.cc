// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace memprof::profile {

std::string demangle(const std::string& symbol) {
  // __cxa_demangle takes type encodings too: `i` would become `int`. A function begins with _Z.
  if (symbol.compare(0, 2, "_Z") != 0) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

}  // namespace memprof::profile
