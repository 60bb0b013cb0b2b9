// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/code_bytes.h"

#include <algorithm>

namespace memprof::cli {
namespace {

// Zeros, int3, and the bytes of x86's instructions that do nothing.
constexpr std::string_view kFill("\x00\x0f\x1f\x2e\x40\x44\x66\x80\x84\x90\xcc", 11);
// Less may be part of an instruction.
constexpr size_t kMinFillBytes = 16;

}  // namespace

uint64_t code_bytes(std::string_view text) {
  uint64_t bytes = 0;
  while (!text.empty()) {
    const size_t code = std::min(text.find_first_of(kFill), text.size());
    const size_t fill = std::min(text.find_first_not_of(kFill, code), text.size()) - code;
    bytes += code + (fill < kMinFillBytes ? fill : 0);
    text.remove_prefix(code + fill);
  }
  return bytes;
}

}  // namespace memprof::cli
