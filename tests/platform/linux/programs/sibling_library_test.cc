// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/programs/sibling_library.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::sibling_library_test {
namespace {

using testing_support::in_child;
using testing_support::TemporaryFolder;

std::string sibling_of(const std::string& own) {
  platform::find_sibling_library(own.c_str());
  return platform::sibling_library();
}

TEST(SiblingLibrary, InTheFolderBesideOurs) {
  in_child([] {
    unsetenv("MEMPROF_MUSL_LIBRARY");
    const TemporaryFolder folder;
    EXPECT_EQ("", sibling_of(folder.path("libmemprof.so")));
    std::filesystem::create_directories(folder.path("memprof/musl"));
    EXPECT_EQ("", sibling_of(folder.path("libmemprof.so")));
    const std::string musl = folder.write("memprof/musl/libmemprof.so", "");
    errno = 77;
    EXPECT_EQ(musl, sibling_of(folder.path("libmemprof.so")));
    EXPECT_EQ(musl, sibling_of(folder.path("libmemprof.so.0")));
    EXPECT_EQ("", sibling_of(folder.path("elsewhere/libmemprof.so")));
    EXPECT_EQ(77, errno);
    EXPECT_EQ("", sibling_of("libmemprof.so"));
    EXPECT_EQ("", sibling_of(""));
    EXPECT_EQ("", sibling_of("/" + std::string(2000, 'x') + "/libmemprof.so"));
  });
}

TEST(SiblingLibrary, AsTheEnvironmentSays) {
  in_child([] {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.path("memprof/musl"));
    folder.write("memprof/musl/libmemprof.so", "");
    const std::string named = folder.write("named.so", "");
    setenv("MEMPROF_MUSL_LIBRARY", named.c_str(), 1);
    EXPECT_EQ(named, sibling_of(folder.path("libmemprof.so")));
    setenv("MEMPROF_MUSL_LIBRARY", folder.path("gone.so").c_str(), 1);
    EXPECT_EQ("", sibling_of(folder.path("libmemprof.so")));
    setenv("MEMPROF_MUSL_LIBRARY", std::string(5000, 'x').c_str(), 1);
    EXPECT_EQ("", sibling_of(folder.path("libmemprof.so")));
    setenv("MEMPROF_MUSL_LIBRARY", "", 1);
    EXPECT_EQ("", sibling_of(folder.path("libmemprof.so")));
    const std::string not_in_a_list = folder.write("a b.so", "");
    setenv("MEMPROF_MUSL_LIBRARY", not_in_a_list.c_str(), 1);
    EXPECT_EQ("", sibling_of(folder.path("libmemprof.so")));
  });
}

}  // namespace
}  // namespace memprof::sibling_library_test
