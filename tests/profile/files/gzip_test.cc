// SPDX-License-Identifier: Apache-2.0
#include "profile/files/gzip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace memprof::profile {
namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;

std::string random_text(size_t size) {
  std::mt19937 random(1);
  std::string text(size, '\0');
  for (char& c : text) {
    c = static_cast<char>(random() % 64);
  }
  return text;
}

std::string message_of_gunzip(const std::string& data, uint64_t limit) {
  try {
    gunzip(data, "NAME", limit);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Gzip, what_was_packed_comes_back) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{3} << 20}) {
    const std::string text = random_text(size);
    EXPECT_EQ(gunzip(gzip(text), "x", kPlenty), text) << size;
  }
}

TEST(Gzip, the_same_bytes_each_time_and_no_time_stamp) {
  const std::string packed = gzip("text");
  EXPECT_EQ(packed, gzip("text"));
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));
}

TEST(Gzip, members_follow_each_other_and_zeros_the_last) {
  EXPECT_EQ(gunzip(gzip("one") + gzip("two") + std::string(512, '\0'), "x", kPlenty), "onetwo");
}

TEST(Gzip, every_truncation_is_noticed) {
  const std::string packed = gzip(random_text(2000));
  for (size_t size = 2; size < packed.size(); ++size) {
    EXPECT_EQ(message_of_gunzip(packed.substr(0, size), kPlenty),
              "NAME: truncated: its gzip data end too early")
        << size;
  }
}

TEST(Gzip, damage_is_noticed) {
  std::string packed = gzip(random_text(2000));
  EXPECT_EQ(message_of_gunzip(packed + "more", kPlenty), "NAME: damaged: other bytes follow the gzip data");
  packed[packed.size() / 2] ^= 0x10;
  EXPECT_EQ(message_of_gunzip(packed, kPlenty).substr(0, 24), "NAME: damaged gzip data ");
}

TEST(Gzip, each_piece_is_looked_at_and_what_throws_ends_it) {
  const std::string text = random_text(size_t{3} << 20);
  std::string seen;
  EXPECT_EQ(gunzip(gzip(text), "x", kPlenty, [&](std::string_view piece) { seen += piece; }), text);
  EXPECT_TRUE(seen == text);
  size_t pieces = 0;
  const auto refuse = [&](std::string_view) {
    ++pieces;
    throw Error("refused");
  };
  EXPECT_THROW(gunzip(gzip(text), "x", kPlenty, refuse), Error);
  EXPECT_EQ(pieces, 1u);
}

TEST(Gzip, pieces_become_the_same_bytes) {
  const std::string text = random_text(size_t{1} << 20) + std::string(size_t{1} << 20, 'x');
  for (const size_t piece : {size_t{1} << 21, size_t{100000}, size_t{1000}}) {
    std::string packed;
    GzipPacker packer(sink_to(packed));
    const Sink sink = packer.sink();
    for (size_t at = 0; at < text.size(); at += piece) {
      EXPECT_TRUE(sink.write(sink.context, text.data() + at, std::min(piece, text.size() - at)));
    }
    EXPECT_TRUE(packer.finish());
    EXPECT_TRUE(packed == gzip(text)) << piece;
  }
}

// Of 20 MiB, the first one is packed more thoroughly than the others.
TEST(Gzip, pieces_of_large_data_become_the_same_bytes) {
  const std::string row = random_text(size_t{1} << 14);
  std::string text;
  while (text.size() < size_t{20} << 20) {
    text += row;
    text += std::to_string(text.size());
  }
  const std::string packed = gzip(text);
  EXPECT_LT(packed.size(), text.size() / 8);
  EXPECT_TRUE(gunzip(packed, "x", kPlenty) == text);
  for (const size_t piece : {size_t{1} << 20, (size_t{1} << 20) + 1, size_t{50000}}) {
    std::string in_pieces;
    GzipPacker packer(sink_to(in_pieces));
    const Sink sink = packer.sink();
    for (size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(sink.write(sink.context, text.data() + at, std::min(piece, text.size() - at)));
    }
    EXPECT_TRUE(packer.finish());
    EXPECT_TRUE(in_pieces == packed) << piece;
  }
}

TEST(Gzip, quickly_packed_it_comes_back_too) {
  std::string text;
  while (text.size() < size_t{1} << 20) text += random_text(100) + text.substr(text.size() / 2, 1000);
  const std::string quick = gzip(text, GzipEffort::kQuick);
  EXPECT_TRUE(gunzip(quick, "x", kPlenty) == text);
  EXPECT_GE(quick.size(), gzip(text).size());
}

TEST(Gzip, a_sink_that_refuses_ends_it) {
  const std::string text = random_text(size_t{4} << 20);
  GzipPacker packer({[](void*, const void*, size_t) { return false; }, nullptr});
  const Sink sink = packer.sink();
  EXPECT_FALSE(sink.write(sink.context, text.data(), text.size()) && packer.finish());
}

TEST(Gzip, what_a_file_says_of_its_size_is_no_more_than_a_hint) {
  std::string packed = gzip("text");
  packed.replace(packed.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(message_of_gunzip(packed, kPlenty).substr(0, 24), "NAME: damaged gzip data ");
}

TEST(Gzip, a_bomb_stops_at_the_limit) {
  const std::string bomb = gzip(std::string(size_t{64} << 20, 'x'));
  EXPECT_LT(bomb.size(), size_t{1} << 19);
  EXPECT_NE(message_of_gunzip(bomb, size_t{1} << 20).find("more than 1048576 bytes"), std::string::npos);
}

}  // namespace
}  // namespace memprof::profile
