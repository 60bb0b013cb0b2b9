// SPDX-License-Identifier: Apache-2.0
// The mappings of a source map: which place of the generated file is which of a source.
//
//     "AAAA,SAASA;EACP"    a line for each `;`, a place for each `,`: up to five numbers, each the difference to the one before, in
//                          base 64, five bits a digit
//
// Threads: no state.
// Failure: throws Error where the text is not of this form, or a number is below zero or beyond 32 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace memprof::profile {

// All from 0.
struct MappedPlace {
  uint32_t line = 0;  // of the generated file
  uint32_t column = 0;
  bool has_source = false;  // else it is code of the compiler's own
  uint32_t source = 0;      // an index, which need not be in the list
  uint32_t source_line = 0;
  uint32_t source_column = 0;
  bool has_name = false;
  uint32_t name = 0;  // likewise
};

// In the order of the text.
void decode_mappings(std::string_view text, const std::function<void(const MappedPlace&)>& visit);

}  // namespace memprof::profile
