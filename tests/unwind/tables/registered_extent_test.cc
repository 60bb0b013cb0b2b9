// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/registered.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_code.h"
#include "tests/unwind/tables/hand_made_section.h"

namespace memprof::registered_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::Random;
using testing_support::scaled;

TEST(Registered, WhatIsDamagedIsLeftOut) {
  const auto tables = make_tables();
  tables->add(0);
  tables->add(4096);
  tables->add(UINT64_MAX - 3);
  const std::vector<uint64_t> zero(8);
  tables->add(reinterpret_cast<uint64_t>(zero.data()));
  EXPECT_EQ(0u, tables->count());
  EXPECT_EQ(0u, tables->used_bytes());
  // Any byte of a good one changed: nothing is read outside, and others stay right.
  const Section good({6}, 1 << 14);
  tables->add(good.begin());
  Random random(20260107);
  for (uint64_t i = 0; i < scaled(4000); ++i) {
    Section bad({2, 3, 4, 5});
    for (int n = 0; n < 3; ++n) {
      *bad.tables.at(random.next() % bad.tables.used()) = static_cast<uint8_t>(random.next());
    }
    tables->add(bad.begin());
    for (uint64_t at = 0; at < 256; at += 16) {
      words_at(*tables, bad.code(at));
    }
    tables->remove(bad.begin());
  }
  EXPECT_EQ(6u, words_at(*tables, good.code(1 << 14)));
  EXPECT_EQ(1u, tables->count());
}

TEST(Registered, ItsMemoryMayGoWithoutAWord) {
  const auto tables = make_tables();
  Section source({2, 3});
  constexpr size_t kPage = 4096;
  auto* pages = static_cast<uint8_t*>(
      mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, pages);
  // Nothing behind its last entry, not even the end.
  const size_t size = source.tables.used();
  uint8_t* begin = pages + 2 * kPage - size;
  memcpy(begin, source.tables.at(0), size);
  ASSERT_EQ(0, munmap(pages + 2 * kPage, kPage));
  tables->add(reinterpret_cast<uint64_t>(begin));
  ASSERT_EQ(0, munmap(pages, 2 * kPage));
  const uint64_t moved = reinterpret_cast<uint64_t>(begin) - source.begin();
  EXPECT_EQ(2u, words_at(*tables, source.code(0) + moved));
  EXPECT_EQ(3u, words_at(*tables, source.code(64) + moved));
}

}  // namespace
}  // namespace memprof::registered_test
