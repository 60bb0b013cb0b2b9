// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/jit_list.h"

#include <gtest/gtest.h>

#include "tests/runtime/jit/listed_objects.h"

namespace memprof::jit::jit_list_test {
namespace {

using jit_fixture::Entry;
using jit_fixture::Listing;

uint64_t address_of(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

TEST(JitList, TheNewestIsTheFirst) {
  Listing listing;
  JitList list;
  ListedFile file{};
  EXPECT_FALSE(list.first(&file));
  EXPECT_EQ(0u, list.state());
  list.set(listing.descriptor());
  EXPECT_FALSE(list.first(&file));
  Entry* const a = listing.add("a");
  Entry* const b = listing.add("bb");
  ASSERT_TRUE(list.first(&file));
  EXPECT_EQ(address_of(b), file.entry);
  EXPECT_EQ(2u, file.size_bytes);
  const ListedFile newest = file;
  ASSERT_TRUE(list.next(&file));
  EXPECT_EQ(address_of(a), file.entry);
  EXPECT_EQ(address_of(a->file), file.start);
  EXPECT_FALSE(list.next(&file));
  EXPECT_TRUE(list.has(newest));
  listing.remove(b);
  EXPECT_FALSE(list.has(newest));
  list.set(0);
  EXPECT_FALSE(list.first(&file));
}

TEST(JitList, EachChangeIsAnotherState) {
  Listing listing;
  JitList list;
  list.set(listing.descriptor());
  const uint64_t empty = list.state();
  Entry* const a = listing.add("a");
  const uint64_t one = list.state();
  Entry* const b = listing.add("b");
  const uint64_t two = list.state();
  listing.remove(b);
  const uint64_t less = list.state();
  listing.remove(a);
  EXPECT_NE(empty, one);
  EXPECT_NE(one, two);
  EXPECT_NE(two, less);
  EXPECT_NE(less, list.state());
  EXPECT_EQ(list.state(), list.state());
}

TEST(JitList, WhatIsNotLinkedIsNotInIt) {
  Listing listing;
  JitList list;
  list.set(listing.descriptor());
  Entry* const a = listing.add("a");
  Entry* const b = listing.add("b");
  ListedFile file{};
  ASSERT_TRUE(list.first(&file));
  a->previous = nullptr;  // another list's
  ListedFile next = file;
  EXPECT_FALSE(list.next(&next));
  a->previous = b;
  b->next = reinterpret_cast<Entry*>(64);  // not mapped
  ASSERT_TRUE(list.first(&next));
  EXPECT_FALSE(list.next(&next));
  b->next = a;
  listing.raw().version = 2;
  EXPECT_FALSE(list.first(&next));
}

// The neighbour before it is half taken out: its neighbours know already, its list does not.
TEST(JitList, WhatStaysIsInItWhileItsNeighbourGoes) {
  Listing listing;
  JitList list;
  list.set(listing.descriptor());
  listing.add("a");
  Entry* const b = listing.add("b");
  Entry* const c = listing.add("c");
  ListedFile file{};
  ASSERT_TRUE(list.first(&file) && list.next(&file));
  ASSERT_EQ(address_of(b), file.entry);
  b->previous = nullptr;
  EXPECT_TRUE(list.has(file));
  b->previous = c;
  listing.remove(b);
  EXPECT_FALSE(list.has(file));
}

TEST(JitList, ADescriptorThatIsGoneIsEmpty) {
  JitList list;
  list.set(64);
  ListedFile file{};
  EXPECT_FALSE(list.first(&file));
  EXPECT_EQ(0u, list.state());
}

}  // namespace
}  // namespace memprof::jit::jit_list_test
