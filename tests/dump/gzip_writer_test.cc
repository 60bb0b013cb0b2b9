// SPDX-License-Identifier: Apache-2.0
#include "dump/gzip_writer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "format/pprof/pprof_name.h"
#include "profile/files/gzip.h"

namespace memprof::profile {
namespace {

struct Taker {
  std::string taken;
  size_t room = SIZE_MAX;
  int refused = 0;

  Sink sink() { return {take, this}; }
  static bool take(void* context, const void* data, size_t size) {
    auto* taker = static_cast<Taker*>(context);
    if (size > taker->room - taker->taken.size()) {
      ++taker->refused;
      return false;
    }
    taker->taken.append(static_cast<const char*>(data), size);
    return true;
  }
};

// `piece`: bytes of each write.
std::string packed(const std::string& text, size_t piece, uint8_t memory_holds = 0) {
  Taker taker;
  std::vector<uint64_t> memory(GzipWriter::kMemoryBytes / 8 + 1);
  std::fill_n(reinterpret_cast<uint8_t*>(memory.data()), GzipWriter::kMemoryBytes, memory_holds);
  GzipWriter writer(memory.data(), taker.sink());
  const Sink sink = writer.sink();
  for (size_t at = 0; at < text.size(); at += piece) {
    EXPECT_TRUE(sink.write(sink.context, text.data() + at, std::min(piece, text.size() - at)));
  }
  EXPECT_TRUE(writer.finish());
  return taker.taken;
}

void expect_comes_back(const std::string& text, size_t piece = 4096) {
  const std::string unpacked = gunzip(packed(text, piece), "x", uint64_t{1} << 30);
  ASSERT_EQ(unpacked.size(), text.size());
  EXPECT_TRUE(unpacked == text);
}

// Runs of what was there before, at all distances and lengths, and bytes that were not.
std::string text_with_repeats(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) {
    const size_t length = random() % 5 == 0 ? random() % 700 : random() % 12;
    if (text.empty() || random() % 3 == 0) {
      for (size_t i = 0; i < length; ++i) text += static_cast<char>(random());
    } else {
      const size_t distance = 1 + random() % std::min<size_t>(text.size(), random() % 2 == 0 ? 40 : 40000);
      for (size_t i = 0; i < length; ++i) text += text[text.size() - distance];
    }
  }
  return text.substr(0, size);
}

TEST(GzipWriter, WhatWasWrittenComesBack) {
  expect_comes_back("");
  expect_comes_back("a");
  expect_comes_back("abcabcabcabcabc", 1);
  for (const size_t size : {1000u, 32768u, 65535u, 65536u, 65537u, 300000u}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      expect_comes_back(text_with_repeats(size, seed), 1 + seed * 17001);
    }
  }
}

TEST(GzipWriter, EveryByteEveryLengthEveryDistance) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  expect_comes_back(bytes);
  for (size_t length = 3; length <= 300; ++length) {
    expect_comes_back(bytes.substr(0, 64) + std::string(length, 'x') + "-" + bytes.substr(64, length % 192) +
                      std::string(length, 'x'));
  }
  std::mt19937 random(7);
  std::string noise;
  for (int i = 0; i < 70000; ++i) noise += static_cast<char>(random());
  for (size_t distance = 4; distance < 33000; distance += distance / 7 + 1) {
    expect_comes_back(noise.substr(0, distance) + noise.substr(0, std::min<size_t>(distance, 200)));
  }
  for (const size_t distance : {32767u, 32768u, 32769u}) {
    expect_comes_back(noise.substr(0, distance) + noise.substr(0, 100));
  }
}

TEST(GzipWriter, ItBecomesSmaller) {
  const std::string zeros(1 << 20, '\0');
  EXPECT_LT(packed(zeros, 4096).size(), zeros.size() / 100);
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "frame " + std::to_string(i % 500) + " of " + std::to_string(i % 37);
  EXPECT_LT(packed(text, 4096).size(), 2 * gzip(text).size());
  // What cannot become smaller does not become much larger: 9 bits at most for a byte.
  std::mt19937 random(3);
  std::string noise;
  for (int i = 0; i < 100000; ++i) noise += static_cast<char>(random());
  EXPECT_LT(packed(noise, 4096).size(), noise.size() * 9 / 8 + 100);
}

TEST(GzipWriter, WhatTheMemoryHeldDoesNotMatter) {
  const std::string text = text_with_repeats(200000, 11);
  for (const uint8_t held : {0, 1, 0x7f, 0xff}) {
    EXPECT_TRUE(gunzip(packed(text, 1000, held), "x", uint64_t{1} << 30) == text) << int{held};
  }
}

TEST(GzipWriter, ASinkThatFailsIsNotAskedAgain) {
  Taker taker;
  taker.room = 30000;
  std::vector<uint64_t> memory(GzipWriter::kMemoryBytes / 8 + 1);
  GzipWriter writer(memory.data(), taker.sink());
  const Sink sink = writer.sink();
  std::mt19937 random(5);
  bool is_good = true;
  for (int i = 0; i < 100 && is_good; ++i) {
    std::string noise;
    for (int j = 0; j < 5000; ++j) noise += static_cast<char>(random());
    is_good = sink.write(sink.context, noise.data(), noise.size());
  }
  EXPECT_FALSE(is_good);
  EXPECT_FALSE(writer.finish());
  EXPECT_EQ(taker.refused, 1);
}

TEST(PprofName, TheEndSaysWhetherItIsCompressed) {
  EXPECT_TRUE(pprof_end_of("/tmp/a.pb.gz")->has_gzip);
  EXPECT_TRUE(pprof_end_of("a.pprof")->has_gzip);
  EXPECT_FALSE(pprof_end_of("a.gz.pb")->has_gzip);
  for (const char* other : {"", "a", "a.json", "a.html", "a.svg", "pb", "a.pb.", "a.PB", "a.pb.gz.x"}) {
    EXPECT_EQ(pprof_end_of(other), nullptr) << other;
  }
}

}  // namespace
}  // namespace memprof::profile
