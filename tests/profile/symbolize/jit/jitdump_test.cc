// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/jit/jitdump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string header() {
  std::string out;
  for (const uint32_t value : {0x4a695444u, 1u, 40u, 62u, 0u, 1234u}) put(&out, value);
  put(&out, uint64_t{0});
  put(&out, uint64_t{0});
  return out;
}

std::string record(uint32_t id, const std::string& body) {
  std::string out;
  put(&out, id);
  put(&out, static_cast<uint32_t>(16 + body.size()));
  put(&out, uint64_t{0});
  return out + body;
}

std::string load(uint64_t address, uint64_t size, uint64_t index, const std::string& name) {
  std::string body;
  put(&body, uint64_t{1234});
  for (const uint64_t value : {address, address, size, index}) put(&body, value);
  return record(0, body + name + '\0' + std::string(size, '\x90'));
}

std::string move(uint64_t from, uint64_t to, uint64_t size, uint64_t index) {
  std::string body;
  put(&body, uint64_t{1234});
  for (const uint64_t value : {to, from, to, size, index}) put(&body, value);
  return record(1, body);
}

struct Entry {
  uint64_t address;
  int32_t line;
  std::string file;
};

std::string lines(uint64_t address, const std::vector<Entry>& entries) {
  std::string body;
  put(&body, address);
  put(&body, uint64_t{entries.size()});
  for (const Entry& entry : entries) {
    put(&body, entry.address);
    put(&body, entry.line);
    put(&body, int32_t{0});
    body += entry.file + '\0';
  }
  return record(2, body);
}

std::vector<std::string> texts(const std::vector<JitFrame>& frames) {
  std::vector<std::string> all;
  for (const JitFrame& frame : frames) {
    all.push_back(frame.line == 0 ? frame.name
                                  : frame.name + "@" + frame.file + ":" + std::to_string(frame.line));
  }
  return all;
}

TEST(Jitdump, NamesWhatWasLoaded) {
  const std::string dump =
      header() + load(0x1000, 0x10, 1, "first") + load(0x2000, 0x20, 2, "JS:*f /a.js:1:2");
  const auto frames = read_jitdump(dump, {0xfff, 0x1000, 0x100f, 0x1010, 0x201f});
  EXPECT_THAT(texts(frames), ElementsAre("", "first", "first", "", "f"));
  EXPECT_EQ(frames[4].file, "/a.js");
}

TEST(Jitdump, TheLastDefinitionWins) {
  const std::string dump = header() + load(0x1000, 0x10, 1, "old") + load(0x1008, 0x10, 2, "young");
  EXPECT_THAT(texts(read_jitdump(dump, {0x1000, 0x1008})), ElementsAre("old", "young"));
}

TEST(Jitdump, LinesStandBeforeTheirCode) {
  const std::string dump = header() +
                           lines(0x1000, {{0x1000, 7, "a.py"}, {0x1004, 8, "\xff"}, {0x1008, 9, "b.py"}}) +
                           load(0x1000, 0x10, 1, "f") + load(0x1000, 0x4, 2, "g");
  EXPECT_THAT(texts(read_jitdump(dump, {0x1001, 0x1004, 0x1007, 0x100f})),
              ElementsAre("g", "f@a.py:8", "f@a.py:8", "f@b.py:9"));
}

TEST(Jitdump, CodeThatMovedKeepsNameAndLines) {
  const std::string dump = header() + lines(0x1000, {{0x1000, 7, "a.py"}, {0x1008, 9, "a.py"}}) +
                           load(0x1000, 0x10, 5, "f") + move(0x1000, 0x3000, 0x10, 5);
  EXPECT_THAT(texts(read_jitdump(dump, {0x1000, 0x3000, 0x300f})),
              ElementsAre("f@a.py:7", "f@a.py:7", "f@a.py:9"));
}

TEST(Jitdump, AMoveOfWhatWasNeverLoadedNamesNothing) {
  EXPECT_THAT(texts(read_jitdump(header() + move(0x1000, 0x3000, 0x10, 5), {0x3000})), ElementsAre(""));
}

TEST(Jitdump, ReadsWhatIsThereOfACutFile) {
  const std::string first = header() + load(0x1000, 0x10, 1, "first");
  const std::string dump = first + load(0x2000, 0x10, 2, "second");
  for (size_t size = 0; size < dump.size(); ++size) {
    const auto frames = read_jitdump(dump.substr(0, size), {0x1000, 0x2000});
    EXPECT_EQ(frames[0].name, size < first.size() ? "" : "first") << size;
    EXPECT_EQ(frames[1].name, "") << size;
  }
}

TEST(Jitdump, DamageIsRead) {
  const std::string dump = header() + lines(0x1000, {{0x1000, 7, "a.py"}, {0x1008, 9, "a.py"}}) +
                           load(0x1000, 0x10, 5, "f") + move(0x1000, 0x3000, 0x10, 5);
  for (size_t i = 0; i < dump.size(); ++i) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = dump;
      damaged[i] = value;
      EXPECT_EQ(read_jitdump(damaged, {0x1000, 0x3000}).size(), 2u);
    }
  }
}

TEST(Jitdump, OtherFilesAreNone) {
  EXPECT_FALSE(is_jitdump(""));
  EXPECT_FALSE(is_jitdump(std::string(100, 'x')));
  EXPECT_FALSE(is_jitdump(header().substr(0, 39)));
  EXPECT_TRUE(is_jitdump(header()));
}

}  // namespace
}  // namespace memprof::profile
