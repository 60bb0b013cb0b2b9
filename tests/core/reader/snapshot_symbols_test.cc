// SPDX-License-Identifier: Apache-2.0
#include "core/reader/snapshot.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include "tests/core/reader/filled_arena.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_test {
namespace {

using platform::Walk;
using testing_support::ScopedArena;
using testing_support::take;

TEST(Snapshot, ResolvesTheNamesOfExportedFunctions) {
  ScopedArena a;
  const uint64_t start = reinterpret_cast<uint64_t>(&gnu_get_libc_version);
  const uint64_t frames[] = {start + 3, 0x1234, start + 3, start + 4};
  bool is_new = false;
  a.stacks.intern(frames, 4, Walk::kRoot, &is_new);
  const auto s = take(a.arena);
  ASSERT_EQ(3, s->resolve_symbols());
  ASSERT_EQ(4u, s->symbols.size);
  EXPECT_STREQ("gnu_get_libc_version", s->strings.data + s->symbols.data[0].name_offset);
  EXPECT_EQ(3u, s->symbols.data[0].symbol_offset);
  EXPECT_EQ(0u, s->symbols.data[1].name_offset);
  EXPECT_EQ(0u, s->symbols.data[1].symbol_offset);
  EXPECT_EQ(s->symbols.data[0].name_offset, s->symbols.data[2].name_offset);
  EXPECT_EQ(4u, s->symbols.data[3].symbol_offset);
  EXPECT_EQ(3, s->resolve_symbols());  // again: the same
  EXPECT_STREQ("gnu_get_libc_version", s->strings.data + s->symbols.data[3].name_offset);
}

}  // namespace
}  // namespace memprof::snapshot_test
