// SPDX-License-Identifier: Apache-2.0
// tests/e2e/live_page_test.py puts together what a real process sends, and compares it with reports.
#include "profile/page/page_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "profile/page/page_data.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

// Reads what the stream writes, as far as the tests look at it.
class Changes {
 public:
  explicit Changes(const std::string& data) : data_(data) {
    facts = data_.substr(at_, take_text());
    for (size_t i = 0; i < 7; ++i) begins.push_back(varint());
    texts = varint();
    size_t bytes = 0;
    for (uint64_t i = 0; i < texts; ++i) bytes += varint();
    at_ += bytes;
    frames = skip_rows(10);
    skip_rows(2);
    nodes = skip_rows(2);
    skip_rows(3);
    skip_rows(3);
    stacks = skip_rows(2);
    const uint64_t count = varint();
    uint64_t stack = 0;
    for (uint64_t i = 0; i < count; ++i) changed.push_back(stack += varint());
    std::vector<uint64_t> entries;
    for (uint64_t i = 0; i < count; ++i) entries.push_back(varint());
    for (const uint64_t own : entries) skip(own);
    live.resize(count);
    for (size_t i = 0; i < count; ++i) {
      for (uint64_t j = 0; j < entries[i]; ++j) live[i] += varint();
    }
  }

  std::string facts;
  std::vector<uint64_t> begins;  // texts, frames, sites, nodes, kinds, labels, stacks
  uint64_t texts = 0;
  uint64_t frames = 0;
  uint64_t nodes = 0;
  uint64_t stacks = 0;
  std::vector<uint64_t> changed;
  std::vector<uint64_t> live;  // samples

 private:
  uint64_t varint() {
    uint64_t number = 0;
    for (size_t shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(data_.at(at_++));
      number |= uint64_t{byte & 127U} << shift;
      if (byte < 128) return number;
    }
  }
  size_t take_text() {
    const size_t size = varint();
    at_ += size;
    return size;
  }
  void skip(uint64_t numbers) {
    for (uint64_t i = 0; i < numbers; ++i) varint();
  }
  uint64_t skip_rows(uint64_t columns) {
    const uint64_t rows = varint();
    skip(rows * columns);
    return rows;
  }

  const std::string data_;
  size_t at_ = 0;
};

const nlohmann::ordered_json kFacts = {{"version", kPageDataVersion}};
using Numbers = std::vector<uint64_t>;

Builder two_stacks(uint64_t live_of_first, uint64_t live_of_second) {
  Builder builder(1024);
  const uint32_t main = builder.at("main", "main.c", 7);
  builder.stack({builder.at("insert", "cache.c", 3), main}, 64, 10, live_of_first);
  builder.stack({builder.at("find", "cache.c", 9), main}, 64, 10, live_of_second);
  return builder;
}

TEST(PageStream, AFirstLookIsAllThereIs) {
  PageStream stream;
  EXPECT_EQ(stream.add(two_stacks(3, 4).profile(), kFacts), 1u);
  const Changes all(stream.changes_since(0));
  EXPECT_EQ(all.begins, Numbers(7, 0));
  EXPECT_EQ(all.nodes, 3u);
  EXPECT_EQ(all.stacks, 2u);
  EXPECT_EQ(all.changed, (Numbers{0, 1}));
  EXPECT_EQ(all.live, (Numbers{3, 4}));
}

TEST(PageStream, ALaterLookIsWhatChanged) {
  PageStream stream;
  stream.add(two_stacks(3, 4).profile(), kFacts);
  stream.add(two_stacks(3, 5).profile(), kFacts);
  const Changes second(stream.changes_since(1));
  EXPECT_EQ(second.texts + second.frames + second.nodes + second.stacks, 0u);
  EXPECT_EQ(second.begins[3], 3u);
  EXPECT_EQ(second.begins[6], 2u);
  EXPECT_EQ(second.changed, (Numbers{1}));
  EXPECT_EQ(second.live, (Numbers{5}));
  stream.add(two_stacks(3, 5).profile(), kFacts);
  EXPECT_TRUE(Changes(stream.changes_since(2)).changed.empty());
  EXPECT_EQ(Changes(stream.changes_since(1)).live, (Numbers{5})) << "who is behind gets all that he missed";
  EXPECT_EQ(Changes(stream.changes_since(0)).live, (Numbers{3, 5}));
}

TEST(PageStream, NewStacksGetTheNextNumbers) {
  PageStream stream;
  stream.add(two_stacks(3, 4).profile(), kFacts);
  // Other locations, in another order: names and paths are the same.
  Builder builder(1024);
  const uint32_t other = builder.at("other", "other.c", 1);
  const uint32_t main = builder.at("main", "main.c", 7);
  builder.stack({other, main}, 64, 10, 2);
  builder.stack({builder.at("find", "cache.c", 9), main}, 64, 10, 4);
  stream.add(builder.profile(), kFacts);
  const Changes second(stream.changes_since(1));
  EXPECT_EQ(second.frames, 1u);
  EXPECT_EQ(second.nodes, 1u);
  EXPECT_EQ(second.stacks, 1u);
  // The first is in this look no more: it holds nothing.
  EXPECT_EQ(second.changed, (Numbers{0, 2}));
  EXPECT_EQ(second.live, (Numbers{0, 2}));
  stream.add(two_stacks(3, 4).profile(), kFacts);
  EXPECT_EQ(Changes(stream.changes_since(2)).changed, (Numbers{0, 2})) << "it is back, with its number";
}

TEST(PageStream, StacksThatAPageCannotTellApartAreOne) {
  PageStream stream;
  Builder builder(1024);
  const uint32_t main = builder.at("main", "main.c", 7);
  const uint32_t again = builder.at("main", "main.c", 7);  // at another address
  builder.stack({main}, 64, 10, 3).stack({again}, 64, 10, 4);
  stream.add(builder.profile(), kFacts);
  const Changes all(stream.changes_since(0));
  EXPECT_EQ(all.stacks, 1u);
  EXPECT_EQ(all.live, (Numbers{7}));
}

TEST(PageStream, OldLooksAreForgottenButForTheFirst) {
  PageStream stream;
  for (uint64_t i = 1; i <= 700; ++i) stream.add(two_stacks(i, 4).profile(), kFacts);
  EXPECT_TRUE(stream.knows(0));
  EXPECT_TRUE(stream.knows(1));
  EXPECT_FALSE(stream.knows(2));
  EXPECT_FALSE(stream.knows(100));
  EXPECT_TRUE(stream.knows(101));
  EXPECT_TRUE(stream.knows(700));
  EXPECT_FALSE(stream.knows(701));
  EXPECT_EQ(Changes(stream.changes_since(101)).live, (Numbers{700}));
  EXPECT_EQ(Changes(stream.changes_since(1)).live, (Numbers{700}));
  EXPECT_TRUE(Changes(stream.changes_since(700)).live.empty());
}

}  // namespace
}  // namespace memprof::profile
