// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/object_formats.h"

#include <gtest/gtest.h>

#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

using std::string_literals::operator""s;

// What is said of a file with these bytes; empty: it is an object file.
std::string refusal_of(const std::string& bytes) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", bytes);
  std::string why;
  return open_object_file(folder / "file", "", &why) != nullptr ? "" : why;
}

TEST(ObjectFormats, FilesOfLinuxAreOpened) {
  std::string why;
  const auto file = open_object_file(fixture::path("pie"), "", &why);
  ASSERT_NE(file, nullptr) << why;
  EXPECT_EQ(file->build_id(), fixture::kBuildId);
}

// A Mach-O file of no load commands, for x86-64 and for PowerPC.
TEST(ObjectFormats, FirstBytesTellTheFormat) {
  const std::string rest(24, '\0');
  EXPECT_EQ(refusal_of("\xcf\xfa\xed\xfe\x07\0\0\1"s + rest), "");
  EXPECT_EQ(refusal_of("\xcf\xfa\xed\xfe\x12\0\0\1"s + rest),
            "not a file of a macOS program for x86-64 or arm64");
  EXPECT_EQ(refusal_of("\xca\xfe\xba\xbe"s + rest), "not a file of a macOS program for x86-64 or arm64");
  EXPECT_EQ(refusal_of("MZ and no more"), "not a file of a Windows program for x86-64");
  EXPECT_EQ(refusal_of("\177ELF"), "not an ELF file");
}

TEST(ObjectFormats, OthersAreRefused) {
  for (const char* bytes : {"", "M", "#!/bin/sh", "\177EL", "PE"}) {
    EXPECT_EQ(refusal_of(bytes), "not an ELF, Mach-O or PE file") << bytes;
  }
  std::string why;
  EXPECT_EQ(open_object_file("/nowhere", "", &why), nullptr);
  EXPECT_EQ(why, "no such file or directory");
  EXPECT_EQ(open_object_file("/dev/null", "", &why), nullptr);
  EXPECT_EQ(why, "not a regular file");
}

}  // namespace
}  // namespace memprof::profile
