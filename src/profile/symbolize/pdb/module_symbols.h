// SPDX-License-Identifier: Apache-2.0
// The functions of one module (object file) of a PDB, and the inlined calls in them.
//
// Threads: pure.
// Memory, time: the records are read once; what is kept is in proportion to the places that are asked for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace memprof::profile {

// Where code lies, as CodeView counts: a section from 1 on, and the offset in it.
struct CodePlace {
  uint32_t section = 0;
  uint32_t offset = 0;

  bool operator<(const CodePlace& other) const {
    return section != other.section ? section < other.section : offset < other.offset;
  }
};

// Where an address is in an inlined function.
struct InlineSite {
  uint32_t inlinee = 0;  // its id, in the stream of ids
  uint32_t file = 0;     // InlineRange's
  int64_t line_delta = 0;
};

struct CodeScope {
  std::string_view function;      // in the records; empty: none is known
  std::vector<InlineSite> sites;  // outermost first
};

// One entry a place.  `records` begin with their signature; `places` ascend.
std::vector<CodeScope> scopes_of(std::string_view records, const std::vector<CodePlace>& places);

}  // namespace memprof::profile
