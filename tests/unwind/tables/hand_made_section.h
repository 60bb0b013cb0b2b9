// SPDX-License-Identifier: Apache-2.0
// Sections as a JIT registers them.
#pragma once

#include "unwind/tables/registered.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_code.h"

namespace memprof::registered_test {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)

using Reading = RegisteredTables::Reading;

inline std::unique_ptr<RegisteredTables> make_tables() {
  return std::make_unique<RegisteredTables>();
}

// CFA = rsp + 8 words.
inline Blob frame_of(uint64_t words) {
  return join({{0x0e}, uleb(8 * words)});
}

// The words of the frame that contains the n-th byte of the code; 0: nothing describes it.
inline uint64_t words_at(RegisteredTables& tables, uint64_t address) {
  const Reading reading(tables);
  Row row;
  switch (reading.find_row(address, &row)) {
    case Found::kYes:
      return static_cast<uint64_t>(row.cfa_offset) / 8;
    case Found::kNo:
      return 0;
    case Found::kCorrupt:
      return UINT64_MAX;
  }
  return 0;
}

// A section of functions of 64 bytes each.
struct Section {
  explicit Section(const std::vector<uint64_t>& words, uint64_t first = 0) {
    const size_t cie = tables.add_cie({});
    for (size_t i = 0; i < words.size(); ++i) {
      tables.add_fde(cie, first + 64 * i, 64, frame_of(words[i]));
    }
  }
  uint64_t begin() const { return tables.base(); }
  uint64_t code(uint64_t n) const { return tables.code(n); }
  Tables tables;
};

}  // namespace memprof::registered_test
