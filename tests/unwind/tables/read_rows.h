// SPDX-License-Identifier: Apache-2.0
// A row of hand-made unwind information, read.
#pragma once

#include "unwind/tables/eh_frame.h"

#include <gtest/gtest.h>

#include "tests/unwind/hand_made_tables.h"

namespace memprof::eh_frame_test {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)

inline constexpr int kDwarfNumber[kRegisters] = {3, 6, 7, 12, 13, 14, 15, 16};

inline constexpr uint64_t kSize = 0x1000;  // of the function, which begins at code(0)

// The row at code(at) of a function with this program.
struct Reading {
  Found found;
  Row row;
};

inline Reading read(const Blob& program, uint64_t at = 0, const Cie& cie = {}) {
  Tables tables;
  tables.add_fde(tables.add_cie(cie), 0, kSize, program);
  Reading r{};
  r.found = find_row(tables.finish(), tables.code(at), &r.row);
  return r;
}

}  // namespace memprof::eh_frame_test
