// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/labels.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

std::string failure_of(const std::string& text, Labels labels = {}) {
  try {
    add_label("--label", text, &labels);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Labels, WhatIsNoLabelIsNamed) {
  EXPECT_EQ(failure_of("region=eu"), "");
  EXPECT_EQ(failure_of("text=a=b \xc3\xa4"), "");
  EXPECT_NE(failure_of("region").find("'region' is not NAME=VALUE"), std::string::npos);
  for (const char* name : {"=eu", "9a=eu", "a-b=eu", "__name__=eu", "\xc3\xa4=eu"}) {
    EXPECT_NE(failure_of(name).find("is no name of a label"), std::string::npos) << name;
  }
  EXPECT_NE(failure_of(std::string(64, 'a') + "=b").find("has 64 bytes, more than 63"), std::string::npos);
  EXPECT_NE(failure_of("a=" + std::string(201, 'b')).find("has 201 bytes, more than 200"), std::string::npos);
  EXPECT_NE(failure_of("a=").find("empty"), std::string::npos);
  EXPECT_NE(failure_of("a=\xff").find("UTF-8"), std::string::npos);
  EXPECT_NE(failure_of("a=b\nc").find("control"), std::string::npos);
  EXPECT_NE(failure_of("a=b", {{"a", "c"}}).find("given twice"), std::string::npos);
}

TEST(Labels, ThereAreFew) {
  Labels labels;
  for (size_t i = 0; i < kMaxOwnLabels; ++i) add_label("--label", "l" + std::to_string(i) + "=x", &labels);
  EXPECT_NE(failure_of("more=x", labels).find("more than 16 labels"), std::string::npos);
}

TEST(Labels, WhatTheMachineSaysIsShortened) {
  EXPECT_EQ(bounded_label_value("web"), "web");
  EXPECT_EQ(bounded_label_value("a\nb\xff"), "a_b_");
  EXPECT_EQ(bounded_label_value(std::string(300, 'x')), std::string(kMaxLabelValueBytes, 'x'));
  // No character is cut in two.
  EXPECT_EQ(bounded_label_value(std::string(199, 'x') + "\xc3\xa4"), std::string(199, 'x'));
}

TEST(Labels, TheHashIsOfNamesAndValues) {
  EXPECT_EQ(label_hash({{"a", "b"}}), label_hash({{"a", "b"}}));
  EXPECT_NE(label_hash({{"a", "bc"}}), label_hash({{"ab", "c"}}));
  EXPECT_NE(label_hash({{"a", "b"}}), label_hash({{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(label_hash({}).size(), 16U);
  EXPECT_EQ(label_text({{"b", "2"}, {"a", "1"}}), "a=\"1\" b=\"2\"");
}

}  // namespace
}  // namespace memprof::cli
