// SPDX-License-Identifier: Apache-2.0
// ELF files that tests look into.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli::testing_tools {

// What read(file) says of the file; where it cannot be opened the test fails, and this is empty.
template <typename Facts>
Facts facts_in(const std::string& path, Facts (*read)(const profile::ElfFile&)) {
  std::string why;
  const auto file = profile::ElfFile::open(path, &why);
  EXPECT_NE(file, nullptr) << path << ": " << why;
  return file != nullptr ? read(*file) : Facts();
}

}  // namespace memprof::cli::testing_tools
