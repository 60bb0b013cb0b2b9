// SPDX-License-Identifier: Apache-2.0
// What other decoders read from it: tests/e2e/ship_otlp_test.py.
#include "profile/otlp/otlp_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

// A message by the numbers of its fields.
struct Fields {
  explicit Fields(const std::string& bytes) {
    protozero::pbf_reader reader(bytes);
    while (reader.next()) {
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint:
          numbers[reader.tag()].push_back(reader.get_uint64());
          break;
        case protozero::pbf_wire_type::fixed64:
          numbers[reader.tag()].push_back(reader.get_fixed64());
          break;
        default:
          messages[reader.tag()].push_back(reader.get_bytes());
      }
    }
  }
  uint64_t number(uint32_t tag) const { return numbers.count(tag) != 0 ? numbers.at(tag)[0] : 0; }
  std::string bytes(uint32_t tag) const { return messages.count(tag) != 0 ? messages.at(tag)[0] : ""; }
  Fields message(uint32_t tag, size_t i = 0) const { return Fields(messages.at(tag).at(i)); }
  size_t count(uint32_t tag) const { return messages.count(tag) != 0 ? messages.at(tag).size() : 0; }

  std::map<uint32_t, std::vector<uint64_t>> numbers;
  std::map<uint32_t, std::vector<std::string>> messages;
};

std::vector<uint64_t> packed(const std::string& bytes) {
  std::string message;
  message += '\x0a';
  message += static_cast<char>(bytes.size());
  message += bytes;
  protozero::pbf_reader reader(message);
  std::vector<uint64_t> numbers;
  if (reader.next()) {
    for (const uint64_t number : reader.get_packed_uint64()) numbers.push_back(number);
  }
  return numbers;
}

struct Request {
  explicit Request(const OtlpRequest& request)
      : all(request.bytes),
        resource(all.message(1)),
        scope(resource.message(2)),
        dictionary(all.message(2)) {}
  std::string string(uint64_t index) const { return dictionary.messages.at(5).at(index); }
  Fields profile(size_t i) const { return scope.message(2, i); }
  std::string type(size_t i) const { return string(profile(i).message(1).number(1)); }

  Fields all, resource, scope, dictionary;
};

class OtlpWriter : public testing::Test {
 protected:
  OtlpWriter() {
    profile.time_unix_ns = 1700000000000000000;
    profile.duration_ns = 60'000'000'000;
    profile.rate_bytes = 524288;
    profile.mappings = {{0x1000, 0x2000, 0, "/bin/unused", "00", false, false, false, false},
                        {0x400000, 0x500000, 0x1000, "/bin/server", "abcdef01", true, true, true, true}};
    profile.functions = {{"main", "main", "/src/main.cc", 10},
                         {"make", "_Z4makev", "/src/make.h", 0},
                         {"inner", "inner", "/src/make.h", 5}};
    profile.locations = {{0x401234, 1, false, {{2, 7}, {1, 30}}},  // inner, inlined into make
                         {0x402000, 1, false, {{0, 12}}},
                         {0x12345, kNoMapping, false, {}}};
    add({0, 1}, 3, 300, 2, 200);
    add({2, 1}, 1, 4096, 0, 0);
    add({0, 1}, 1, 50, 1, 50);
    profile.stacks.back().heap = "pool";
    options.writer_id = 0x0102030405060708;
    options.sequence = 9;
    options.scope_version = "1.2";
  }

  void add(std::vector<uint32_t> locations, double count, double bytes, double live, double live_bytes) {
    Stack stack;
    stack.locations = std::move(locations);
    stack.values[metric_index(Metric::kAllocObjects)] = count;
    stack.values[metric_index(Metric::kAllocSpace)] = bytes;
    stack.values[metric_index(Metric::kInuseObjects)] = live;
    stack.values[metric_index(Metric::kInuseSpace)] = live_bytes;
    profile.stacks.push_back(stack);
  }

  Profile profile;
  OtlpOptions options;
};

TEST_F(OtlpWriter, EachTypeIsAProfileWithItsSums) {
  const OtlpRequest written = write_otlp(profile, options);
  EXPECT_EQ(written.profiles, 4U);
  const Request request(written);
  std::map<std::string, uint64_t> sums;
  for (size_t i = 0; i < written.profiles; ++i) {
    const Fields one = request.profile(i);
    EXPECT_EQ(one.number(3), profile.time_unix_ns);
    EXPECT_EQ(request.string(one.message(5).number(1)), "space");
    EXPECT_EQ(one.number(6), 524288U);
    const bool is_increment = request.type(i).compare(0, 6, "alloc_") == 0;
    EXPECT_EQ(one.number(4), is_increment ? profile.duration_ns : 0) << request.type(i);
    for (size_t s = 0; s < one.count(2); ++s) {
      const auto values = packed(one.message(2, s).bytes(4));
      ASSERT_EQ(values.size(), 1U);
      sums[request.type(i)] += values[0];
    }
  }
  EXPECT_EQ(sums,
            (std::map<std::string, uint64_t>{
                {"alloc_objects", 5}, {"alloc_space", 4446}, {"inuse_objects", 3}, {"inuse_space", 250}}));
  EXPECT_EQ(request.string(request.profile(1).message(1).number(2)), "bytes");
  EXPECT_EQ(request.scope.message(1).bytes(1), "memprof");
  EXPECT_EQ(request.scope.message(1).bytes(2), "1.2");
}

TEST_F(OtlpWriter, StacksHaveLocationsMappingsAndInlinedLines) {
  const Request request(write_otlp(profile, options));
  const Fields sample = request.profile(1).message(2);
  const Fields stack = request.dictionary.message(7, sample.number(1));
  const auto locations = packed(stack.bytes(1));
  ASSERT_EQ(locations.size(), 2U);
  const Fields leaf = request.dictionary.message(2, locations[0]);
  EXPECT_EQ(leaf.number(2), 0x401234U);
  ASSERT_EQ(leaf.count(3), 2U);
  const auto name_of = [&](const Fields& line) {
    return request.string(request.dictionary.message(3, line.number(1)).number(1));
  };
  EXPECT_EQ(name_of(leaf.message(3, 0)), "inner");
  EXPECT_EQ(leaf.message(3, 0).number(2), 7U);
  EXPECT_EQ(name_of(leaf.message(3, 1)), "make");
  const Fields make = request.dictionary.message(3, leaf.message(3, 1).number(1));
  EXPECT_EQ(request.string(make.number(2)), "_Z4makev");
  EXPECT_EQ(request.string(make.number(3)), "/src/make.h");
  const Fields mapping = request.dictionary.message(1, leaf.number(1));
  EXPECT_EQ(mapping.number(1), 0x400000U);
  EXPECT_EQ(request.string(mapping.number(4)), "/bin/server");
  const Fields build_id = request.dictionary.message(6, packed(mapping.bytes(5)).at(0));
  EXPECT_EQ(request.string(build_id.number(1)), "process.executable.build_id.gnu");
  EXPECT_EQ(build_id.message(2).bytes(1), "abcdef01");
}

TEST_F(OtlpWriter, TablesBeginWithNothingAndHaveOnlyWhatIsUsed) {
  const Request request(write_otlp(profile, options));
  for (const uint32_t table : {1U, 2U, 3U, 5U, 6U, 7U})
    EXPECT_EQ(request.dictionary.bytes(table), "") << table;
  EXPECT_EQ(request.dictionary.message(4).bytes(1), std::string(16, '\0'));
  EXPECT_EQ(request.dictionary.message(4).bytes(2), std::string(8, '\0'));
  EXPECT_EQ(request.dictionary.count(1), 2U) << "the mapping that no location has is left out";
  EXPECT_EQ(request.dictionary.count(2), 4U);
  EXPECT_EQ(request.dictionary.count(7), 3U) << "two stacks, of which one has a heap beside malloc's";
  const auto& strings = request.dictionary.messages.at(5);
  EXPECT_EQ(std::set<std::string>(strings.begin(), strings.end()).size(), strings.size());
  // A stack in two heaps is two samples.
  EXPECT_EQ(request.profile(1).count(2), 3U);
  const Fields heap = request.dictionary.message(6, 2);  // behind the build id
  EXPECT_EQ(request.string(heap.number(1)) + "=" + heap.message(2).bytes(1), "heap=pool");
}

TEST_F(OtlpWriter, WhatIsWrittenAgainHasTheSameIds) {
  const Request first(write_otlp(profile, options));
  const Request again(write_otlp(profile, options));
  std::set<std::string> ids;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first.profile(i).bytes(7), again.profile(i).bytes(7));
    EXPECT_EQ(first.profile(i).bytes(7).size(), 16U);
    ids.insert(first.profile(i).bytes(7));
  }
  options.sequence = 10;
  const Request next(write_otlp(profile, options));
  for (size_t i = 0; i < 4; ++i) ids.insert(next.profile(i).bytes(7));
  EXPECT_EQ(ids.size(), 8U);
}

TEST_F(OtlpWriter, AttributesOfTheResourceAreInPlace) {
  options.resource = {{"service.name", "shop"}, {"process.pid", "17", true}, {"odd", "x7", true}};
  const Request request(write_otlp(profile, options));
  const Fields resource = request.resource.message(1);
  ASSERT_EQ(resource.count(1), 3U);
  EXPECT_EQ(resource.message(1, 0).bytes(1), "service.name");
  EXPECT_EQ(resource.message(1, 0).message(2).bytes(1), "shop");
  EXPECT_EQ(resource.message(1, 0).number(3), 0U) << "no reference into the table of strings";
  EXPECT_EQ(resource.message(1, 1).message(2).number(3), 17U);
  EXPECT_EQ(resource.message(1, 2).message(2).bytes(1), "x7") << "no number";
}

TEST_F(OtlpWriter, NamesMayBeAnyBytes) {
  profile.functions[0].name = "a\xff\xc3\xa9\xed\xa0\x80z";
  const Request request(write_otlp(profile, options));
  const auto& strings = request.dictionary.messages.at(5);
  const std::string broken = "\xEF\xBF\xBD";
  EXPECT_EQ(
      std::count(strings.begin(), strings.end(), "a" + broken + "\xc3\xa9" + broken + broken + broken + "z"),
      1);
}

TEST_F(OtlpWriter, NothingIsNoRequest) {
  for (Stack& stack : profile.stacks) stack.values = {};
  const OtlpRequest written = write_otlp(profile, options);
  EXPECT_EQ(written.profiles, 0U);
  EXPECT_EQ(written.bytes, "");
  EXPECT_EQ(write_otlp({}, {}).profiles, 0U);
}

}  // namespace
}  // namespace memprof::profile
