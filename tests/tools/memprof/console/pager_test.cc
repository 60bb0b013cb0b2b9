// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/pager.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;
using testing_tools::read_file;
using testing_tools::write_file;

// Sets a variable (nullptr: takes it away), and puts it back.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~Variable() {
    if (was_set_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  bool was_set_ = false;
  std::string before_;
};

TEST(Pager, TheEnvironmentChooses) {
  const Folder folder;
  const Variable path("PATH", (folder / "").c_str());
  {
    const Variable own("MEMPROF_PAGER", "more -s");
    const Variable usual("PAGER", "other");
    EXPECT_EQ(pager_command(), "more -s");
  }
  const Variable own("MEMPROF_PAGER", nullptr);
  {
    const Variable usual("PAGER", "other");
    EXPECT_EQ(pager_command(), "other");
  }
  for (const char* none : {"", "cat"}) {
    const Variable usual("PAGER", none);
    EXPECT_EQ(pager_command(), "") << none;
  }
  const Variable usual("PAGER", nullptr);
  EXPECT_EQ(pager_command(), "") << "less is not there";
  write_file(folder / "less", "#!/bin/sh\n");
  chmod((folder / "less").c_str(), 0700);
  EXPECT_EQ(pager_command(), "less -FRX");
}

TEST(Pager, GetsTheText) {
  const Folder folder;
  const Variable less("LESS", nullptr);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i) + "\n";
  EXPECT_TRUE(page(text, "cat >'" + (folder / "out") + "'; echo \"$LESS\" >'" + (folder / "less") + "'"));
  EXPECT_EQ(read_file(folder / "out"), text);
  EXPECT_EQ(read_file(folder / "less"), "FRX\n");
  const Variable own("LESS", "i");
  EXPECT_TRUE(page("x", "echo \"$LESS\" >'" + (folder / "less") + "'; cat >/dev/null"));
  EXPECT_EQ(read_file(folder / "less"), "i\n") << "the user's own";
}

TEST(Pager, ThatItIsClosedEarlyIsNoError) {
  const std::string text(size_t{1} << 20, 'x');  // more than a pipe holds
  EXPECT_TRUE(page(text, "head -c 1 >/dev/null"));
  EXPECT_TRUE(page(text, "exit 3"));
}

TEST(Pager, OneThatIsNotThereIsSaid) {
  EXPECT_FALSE(page("text", "/no/such/pager 2>/dev/null"));
}

TEST(Pager, WhatIsNoTerminalGetsTheTextItself) {
  const Variable own("MEMPROF_PAGER", "exit 1");
  ::testing::internal::CaptureStdout();
  print_paged("one\ntwo\n", true);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "one\ntwo\n");
}

}  // namespace
}  // namespace memprof::cli
