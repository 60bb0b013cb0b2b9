// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/msf_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/profile/symbolize/pdb/pdb_bytes.h"

namespace memprof::profile {
namespace {

using fixture::Bytes;
using fixture::msf_of;
using std::string_literals::operator""s;

std::string text_of(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i * i / 7 % 26);
  return text;
}

std::string refusal_of(std::string_view bytes) {
  std::string why;
  return MsfFile::of_bytes(bytes, &why) != nullptr ? "" : why;
}

TEST(MsfFile, StreamsAreReadWhereverTheirBlocksLie) {
  const std::string text = text_of(5000);
  for (const uint32_t block_bytes : {512u, 1024u, 4096u, 8192u}) {
    for (const bool in_order : {true, false}) {
      const std::string bytes = msf_of({"", "first", text}, block_bytes, in_order);
      std::string why;
      const auto file = MsfFile::of_bytes(bytes, &why);
      ASSERT_NE(file, nullptr) << why;
      std::string buffer;
      EXPECT_EQ(file->stream(0).size(), 0u);
      EXPECT_EQ(file->stream(1).bytes(&buffer), "first");
      EXPECT_EQ(file->stream(2).bytes(&buffer), text);
      EXPECT_EQ(file->stream(2).bytes(511, 1026, &buffer), text.substr(511, 1026));
      EXPECT_EQ(file->stream(2).bytes(4999, 1, &buffer), text.substr(4999));
      EXPECT_EQ(file->stream(2).bytes(4999, 2, &buffer), "");
      EXPECT_EQ(file->stream(2).bytes(UINT64_MAX, 2, &buffer), "");
      EXPECT_EQ(file->stream(3).bytes(&buffer), "");
    }
  }
}

TEST(MsfFile, StreamsInOnePieceAreNotCopied) {
  const std::string bytes = msf_of({text_of(5000)});
  std::string why;
  std::string buffer;
  const auto file = MsfFile::of_bytes(bytes, &why);
  const std::string_view text = file->stream(0).bytes(&buffer);
  EXPECT_TRUE(text.data() >= bytes.data() && text.data() < bytes.data() + bytes.size());
  EXPECT_TRUE(buffer.empty());
}

TEST(MsfFile, OthersAreRefusedByName) {
  EXPECT_EQ(refusal_of(""), "not a PDB");
  EXPECT_EQ(refusal_of("MZ"), "not a PDB");
  EXPECT_EQ(refusal_of("BSJB and more"), "a portable PDB, which .NET has, and not one of native code");
  EXPECT_EQ(refusal_of("Microsoft MSFZ Container\r\n"), "a compressed PDB (MSFZ), which is not read");
  EXPECT_EQ(refusal_of("Microsoft C/C++ program database 2.00\r\n"),
            "a PDB of an older format than MSF 7.00");
}

TEST(MsfFile, WhatLiesOutsideIsRefused) {
  const std::string damaged = "a damaged PDB: its directory is not inside of the file";
  const std::string whole = msf_of({text_of(100), text_of(2000)});
  const auto with = [&](size_t at, uint32_t value) {
    std::string bytes = whole;
    return bytes.replace(at, 4, Bytes().u32(value).bytes());
  };
  EXPECT_EQ(refusal_of(whole), "");
  EXPECT_EQ(refusal_of(with(32, 0)), damaged);  // size of blocks
  EXPECT_EQ(refusal_of(with(32, 513)), damaged);
  EXPECT_EQ(refusal_of(with(32, 1u << 31)), damaged);
  EXPECT_EQ(refusal_of(with(44, 0)), damaged);  // of the directory
  EXPECT_EQ(refusal_of(with(44, UINT32_MAX)), damaged);
  EXPECT_EQ(refusal_of(with(52, 1u << 20)), damaged);  // its blocks
  EXPECT_EQ(refusal_of(whole.substr(0, whole.size() - 512)), damaged);
}

// Streams that share blocks could be of any size.
TEST(MsfFile, StreamsAreNoLargerThanTheFile) {
  Bytes directory;
  directory.u32(3).u32(1024).u32(1024).u32(1024);
  for (int i = 0; i < 6; ++i) directory.u32(0);
  std::string bytes(3 * 512, '\0');
  bytes.replace(0, 56,
                "Microsoft C/C++ MSF 7.00\r\n\x1a"
                "DS\0\0\0"s +
                    Bytes().u32(512).u32(1).u32(3).u32(40).u32(0).u32(2).bytes());
  bytes.replace(512, directory.size(), directory.bytes());
  bytes.replace(1024, 4, Bytes().u32(1).bytes());
  EXPECT_EQ(refusal_of(bytes), "a damaged PDB: its directory is not inside of the file");
  bytes.replace(512, 4, Bytes().u32(1).bytes());
  EXPECT_EQ(refusal_of(bytes), "");
}

TEST(MsfFile, BlocksOutsideOfTheFileAreNotThere) {
  std::string bytes = msf_of({text_of(1000)});
  const size_t list = bytes.find(Bytes().u32(1).u32(1000).bytes()) + 8;
  bytes.replace(list + 4, 4, Bytes().u32(1u << 30).bytes());
  std::string why;
  std::string buffer;
  const auto file = MsfFile::of_bytes(bytes, &why);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->stream(0).bytes(&buffer), "");
  EXPECT_EQ(file->stream(0).bytes(0, 512, &buffer), text_of(512));
}

}  // namespace
}  // namespace memprof::profile
