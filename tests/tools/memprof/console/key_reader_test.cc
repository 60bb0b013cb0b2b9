// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/key_reader.h"

#include <gtest/gtest.h>

#include <random>

namespace memprof::cli {
namespace {

using profile::LiveKey;
using Kind = LiveKey::Kind;

std::string names(const std::vector<LiveKey>& keys) {
  static constexpr const char* kNames[] = {"text", "enter",   "escape",    "backspace", "clear", "up",
                                           "down", "page up", "page down", "home",      "end",   "other"};
  std::string text;
  for (const LiveKey& key : keys) {
    text += (text.empty() ? "" : ",") + std::string(kNames[static_cast<size_t>(key.kind)]) +
            (key.text.empty() ? "" : ":" + key.text);
  }
  return text;
}

TEST(KeyReader, ReadsCharactersAndKeys) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("aé中")), "text:a,text:é,text:中");
  EXPECT_EQ(names(reader.feed("\r\n\x7f\b\x15\x01")), "enter,enter,backspace,backspace,clear,other");
  EXPECT_EQ(names(reader.feed("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~")),
            "up,down,page up,page down,home,end");
  EXPECT_FALSE(reader.is_waiting());
}

TEST(KeyReader, ASequenceMayComeInPieces) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("x\x1b")), "text:x");
  EXPECT_TRUE(reader.is_waiting());
  EXPECT_EQ(names(reader.feed("[")), "");
  EXPECT_EQ(names(reader.feed("B")), "down");
  EXPECT_EQ(names(reader.feed("\xe4\xb8")), "");
  EXPECT_EQ(names(reader.feed("\xad")), "text:中");
}

TEST(KeyReader, EscapeAloneIsAKeyWhenNothingFollows) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("\x1b")), "");
  EXPECT_EQ(names(reader.finish()), "escape");
  EXPECT_FALSE(reader.is_waiting());
  EXPECT_EQ(names(reader.feed("\x1bq")), "escape,text:q");
  EXPECT_EQ(names(reader.feed("\x1b[")), "");
  EXPECT_EQ(names(reader.finish()), "") << "half a sequence is nothing";
}

TEST(KeyReader, WhatIsUnknownIsOneKey) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("\x1b[1;5Aq")), "other,text:q") << "Ctrl and an arrow";
  EXPECT_EQ(names(reader.feed("\x1b[200~")), "other");
  EXPECT_EQ(names(reader.feed("\xff")), "other");
}

TEST(KeyReader, AnyBytesAreKeysInTheEnd) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    KeyReader reader;
    for (int i = 0; i < 50; ++i) {
      std::string bytes;
      for (unsigned length = random() % 5; length > 0; --length)
        bytes += static_cast<char>(random() % 3 == 0 ? 0x1b : random());
      for (const LiveKey& key : reader.feed(bytes)) EXPECT_EQ(key.kind == Kind::kText, !key.text.empty());
    }
    reader.finish();
    EXPECT_EQ(names(reader.feed("z")), "text:z");
  }
}

}  // namespace
}  // namespace memprof::cli
