// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/scrape/scrape_query.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using Parameters = std::map<std::string, std::string>;

unsigned refusal_of(const std::string& target) {
  try {
    parse_scrape_query(target);
  } catch (const ScrapeRefusal& refusal) {
    return refusal.status();
  }
  return 0;
}

TEST(ScrapeQuery, HasAPathAndParameters) {
  EXPECT_EQ(parse_scrape_query("/a").path, "/a");
  EXPECT_TRUE(parse_scrape_query("/a?").parameters.empty());
  const ScrapeQuery query = parse_scrape_query("/a?pid=12&service=a%20b+c%2f&&x&y=1=2");
  EXPECT_EQ(query.path, "/a");
  EXPECT_EQ(query.parameters, (Parameters{{"pid", "12"}, {"service", "a b c/"}, {"x", ""}, {"y", "1=2"}}));
}

TEST(ScrapeQuery, WhatIsNoneIsRefused) {
  for (const char* target :
       {"/a?b=%", "/a?b=%4", "/a?b=%zz", "/a?b=%4g", "/a?%-1=2", "/a?b=1&b=1", "/a?b=1&%62=2"}) {
    EXPECT_EQ(refusal_of(target), kHttpBadRequest) << target;
  }
}

TEST(ScrapeQuery, WhatIsEncodedIsReadAsItWas) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(parse_scrape_query("/?a=" + percent_encoded(all)).parameters.at("a"), all);
  EXPECT_EQ(percent_encoded("a-B.9_~ &"), "a-B.9_~%20%26");
}

}  // namespace
}  // namespace memprof::cli
