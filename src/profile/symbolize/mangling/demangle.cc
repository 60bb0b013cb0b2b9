// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/mangling/demangle.h"

#include <cxxabi.h>
#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "profile/symbolize/mangling/mypyc_name.h"

namespace memprof::profile {
namespace {

// Longer ones are left as they are, and of what a short one unfolds to the beginning is enough.
constexpr size_t kMaxSymbolBytes = size_t{64} << 10;
// libiberty's demangler of D calls itself for each letter of a nested type.
constexpr size_t kMaxDSymbolBytes = size_t{8} << 10;
constexpr size_t kMaxNameBytes = size_t{256} << 10;

using Text = std::unique_ptr<char, decltype(&std::free)>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Rust's names of before 2025 look like those of C++ and end in a hash: `17h` and 16 hexadecimal digits.
bool is_legacy_rust(const std::string& symbol) {
  constexpr size_t kHashBytes = 16;
  if (symbol.compare(0, 3, "_ZN") != 0) return false;
  for (size_t at = symbol.find("17h"); at != std::string::npos; at = symbol.find("17h", at + 1)) {
    const size_t end = at + 3 + kHashBytes;
    if (end < symbol.size() && symbol.find_first_not_of("0123456789abcdef", at + 3) == end &&
        symbol[end] == 'E' && (end + 1 == symbol.size() || symbol[end + 1] == '.')) {
      return true;
    }
  }
  return false;
}

void append(const char* text, size_t size, void* context) {
  auto* name = static_cast<std::string*>(context);
  name->append(text, std::min(size, kMaxNameBytes - std::min(kMaxNameBytes, name->size())));
}

}  // namespace

std::string demangle(const std::string& symbol) {
  if (symbol.size() > kMaxSymbolBytes) return symbol;
  if (const std::string name = mypyc_name(symbol); !name.empty()) return name;
  if (symbol.size() < 3 || symbol[0] != '_') return symbol;
  if (symbol[1] == 'R' || is_legacy_rust(symbol)) {
    std::string name;
    return rust_demangle_callback(symbol.c_str(), DMGL_NO_OPTS, append, &name) != 0 && !name.empty() ? name
                                                                                                     : symbol;
  }
  if (symbol[1] == 'D' && symbol.size() <= kMaxDSymbolBytes && (is_digit(symbol[2]) || symbol == "_Dmain")) {
    const Text text(dlang_demangle(symbol.c_str(), DMGL_NO_OPTS), &std::free);
    return text != nullptr ? std::string(text.get()) : symbol;
  }
  // __cxa_demangle takes type encodings too: `i` would become `int`. A function begins with _Z.
  if (symbol[1] != 'Z') return symbol;
  int status = 0;
  const Text text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

}  // namespace memprof::profile
