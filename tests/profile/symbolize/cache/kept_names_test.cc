// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/cache/kept_names.h"

#include <gtest/gtest.h>

#include <random>

#include "profile/symbolize/files/debug_link.h"

namespace memprof::profile {
namespace {

constexpr char kKey[] = "libdemo.so, by memprof 1";

CodeNames names_of_two() {
  return {{{"_ZN4demo5innerEv", true, "/src/demo.cc", 12}, {"outer", false, "", 0}}, true, true};
}

KeptNames some_names() {
  KeptNames names;
  names.add(0x4000, names_of_two());
  names.add(0x1000, {});
  names.add(UINT64_MAX, {{{"_ZN4demo5innerEv", true, "/src/demo.cc", -7}}, false, true});
  return names;
}

void expect_same(const KeptNames& names, uint64_t address, const CodeNames& wanted) {
  CodeNames found;
  ASSERT_TRUE(names.find(address, &found)) << address;
  EXPECT_EQ(found.has_lines, wanted.has_lines);
  ASSERT_EQ(found.names.size(), wanted.names.size());
  for (size_t i = 0; i < wanted.names.size(); ++i) {
    EXPECT_EQ(found.names[i].name, wanted.names[i].name);
    EXPECT_EQ(found.names[i].is_symbol, wanted.names[i].is_symbol);
    EXPECT_EQ(found.names[i].file, wanted.names[i].file);
    EXPECT_EQ(found.names[i].line, wanted.names[i].line);
  }
}

TEST(KeptNames, AreReadAsTheyWereWritten) {
  const std::string bytes = some_names().encode(kKey);
  const auto names = KeptNames::decode(bytes, kKey);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->addresses(), 3u);
  expect_same(*names, 0x4000, names_of_two());
  expect_same(*names, 0x1000, {});  // it was asked for, and has no name
  expect_same(*names, UINT64_MAX, {{{"_ZN4demo5innerEv", true, "/src/demo.cc", -7}}, false, true});
  CodeNames none;
  EXPECT_FALSE(names->find(0x4001, &none));
  EXPECT_EQ(names->encode(kKey), bytes);
  EXPECT_LE(names->size_bytes(), 2 * bytes.size());
  const auto empty = KeptNames::decode(KeptNames().encode(""), "");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->addresses(), 0u);
}

TEST(KeptNames, MoreCanBeAdded) {
  auto names = KeptNames::decode(some_names().encode(kKey), kKey);
  ASSERT_TRUE(names);
  names->add(0x4000, {});  // is known
  names->add(0x5000, {{{"outer", true, "/src/other.cc", 1}}, true, true});
  KeptNames others;
  others.add(0x6000, names_of_two());
  others.add(0x1000, names_of_two());
  names->add_all(others);
  const auto again = KeptNames::decode(names->encode(kKey), kKey);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->addresses(), 5u);
  expect_same(*again, 0x4000, names_of_two());
  expect_same(*again, 0x1000, {});
  expect_same(*again, 0x5000, {{{"outer", true, "/src/other.cc", 1}}, true, true});
  expect_same(*again, 0x6000, names_of_two());
}

TEST(KeptNames, OfAnotherKeyAreNothing) {
  EXPECT_FALSE(KeptNames::decode(some_names().encode(kKey), "another"));
}

TEST(KeptNames, WhatIsDamagedIsNothing) {
  const std::string bytes = some_names().encode(kKey);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(KeptNames::decode(bytes.substr(0, size), kKey));
  EXPECT_FALSE(KeptNames::decode(bytes + "x", kKey));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(KeptNames::decode(damaged, kKey)) << i;
    }
  }
}

// A right checksum over what encode() does not make: nothing is read outside of it.
TEST(KeptNames, WhatIsNoneIsNothing) {
  const std::string bytes = some_names().encode(kKey);
  const size_t head = bytes.find('\n') + 1;
  std::mt19937 random(4);
  size_t whole = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string body = bytes.substr(head + 4);
    for (unsigned changes = 1 + random() % 3; changes != 0; --changes) {
      body[random() % body.size()] = static_cast<char>(random());
    }
    const uint32_t sum = debug_link_checksum(body);
    std::string made = bytes.substr(0, head);
    for (int shift = 0; shift < 32; shift += 8) made.push_back(static_cast<char>(sum >> shift));
    const auto names = KeptNames::decode(made + body, kKey);
    if (!names) continue;
    ++whole;
    CodeNames found;
    for (const uint64_t address : {uint64_t{0x1000}, uint64_t{0x4000}, UINT64_MAX})
      names->find(address, &found);
  }
  EXPECT_GT(whole, 0u);  // letters of a name
}

}  // namespace
}  // namespace memprof::profile
