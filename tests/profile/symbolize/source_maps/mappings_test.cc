// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

// "line:column", with what it has of "source:line:column" and "name".
std::vector<std::string> decode(std::string_view text) {
  std::vector<std::string> places;
  decode_mappings(text, [&](const MappedPlace& p) {
    std::string place = std::to_string(p.line) + ":" + std::to_string(p.column);
    if (p.has_source) {
      place += " " + std::to_string(p.source) + ":" + std::to_string(p.source_line) + ":" +
               std::to_string(p.source_column);
    }
    if (p.has_name) place += " " + std::to_string(p.name);
    places.push_back(place);
  });
  return places;
}

TEST(Mappings, numbers_are_differences) {
  EXPECT_THAT(decode(""), ElementsAre());
  EXPECT_THAT(decode("AAAA"), ElementsAre("0:0 0:0:0"));
  EXPECT_THAT(decode("AAAA,SAASA;EACP,gBCDAC"),
              ElementsAre("0:0 0:0:0", "0:9 0:0:9 0", "1:2 0:1:2", "1:18 1:0:2 1"));
  EXPECT_THAT(decode(";;A,IAEE;,"), ElementsAre("2:0", "2:4 0:2:2"));
}

TEST(Mappings, large_numbers_have_more_digits) {
  EXPECT_THAT(decode("+/////D"), ElementsAre("0:2147483647"));
  EXPECT_THAT(decode("ggggggE"), ElementsAre("0:2147483648"));
}

TEST(Mappings, damaged_text_is_refused) {
  for (const char* const text : {"AA", "AAA", "AAAAAA", "AAAAAAAA", "A!AA", "D", "AAAD", "AADA", "g", "AAAg",
                                 "ggggggggggggB", "\xff", "A A", "AAAA AAAA"}) {
    EXPECT_THROW(decode(text), Error) << text;
  }
  // Line after line is beyond 32 bits, and so is a column.
  EXPECT_THROW(decode("+/////D,+/////D,+/////D"), Error);
}

// Any text is decoded or refused.
TEST(Mappings, random_text) {
  constexpr std::string_view kCharacters = "ABCDgh+/;;,,AAAAAA!";
  std::mt19937 random(1);
  size_t decoded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t size = random() % 20; size > 0; --size) text += kCharacters[random() % kCharacters.size()];
    try {
      decode(text);
      ++decoded;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(decoded, 100u);
}

}  // namespace
}  // namespace memprof::profile
