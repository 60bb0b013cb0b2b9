// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(Console, WordsForAShell) {
  EXPECT_EQ(shell_word("memprof.ls.42.pb.gz"), "memprof.ls.42.pb.gz");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$HOME;rm"), "'$HOME;rm'");
}

TEST(Console, ErrorsAreTheEndOfALine) {
  EXPECT_EQ(error_text(ENOENT), "no such file or directory");
  EXPECT_EQ(error_text(EIO), "input/output error");
}

TEST(Console, AFullStandardOutputIsAFailure) {
  const auto result = testing_tools::run({"sh", "-c", std::string(MEMPROF_PROGRAM) + " --help >/dev/full"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "memprof: standard output: no space left on device\n");
}

TEST(Console, WhatIsSaidStaysOneLine) {
  testing::internal::CaptureStderr();
  complain("two\nlines\x1b[2J");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "memprof: two?lines?[2J\n");
  testing::internal::CaptureStderr();
  complain("grüße \xc2\x9b \xe2\x80\xae \xe2\x81\xa6 \xd8\x9c \x9b");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "memprof: grüße ?? ??? ??? ?? ?\n")
      << "nor does it control a terminal that knows more than ASCII, or turn the text round";
}

// Sets variables of the environment; they are what they were when it goes.
class Variables {
 public:
  explicit Variables(std::initializer_list<std::pair<std::string, const char*>> values) {
    for (const auto& [name, value] : values) {
      const char* before = std::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      set(name, value);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : before_) set(name, value ? value->c_str() : nullptr);
  }

 private:
  static void set(const std::string& name, const char* value) {
    if (value == nullptr) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value, 1);
    }
  }
  std::map<std::string, std::optional<std::string>> before_;
};

// Standard output is a terminal of 100 columns.
class Terminal {
 public:
  Terminal() : saved_(dup(STDOUT_FILENO)), master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    grantpt(master_);
    unlockpt(master_);
    const int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
    const winsize size = {50, 100, 0, 0};
    ioctl(slave, TIOCSWINSZ, &size);
    fflush(stdout);
    dup2(slave, STDOUT_FILENO);
    close(slave);
  }
  ~Terminal() {
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    close(master_);
  }

 private:
  int saved_;
  int master_;
};

TEST(Console, TheWidthIsTheTerminalsUnlessColumnsSaysAnother) {
  size_t plain = 0;
  size_t set = 0;
  size_t wrong = 0;
  {
    const Terminal terminal;
    {
      const Variables variables({{"COLUMNS", nullptr}});
      plain = terminal_width();
    }
    {
      const Variables variables({{"COLUMNS", "72"}});
      set = terminal_width();
    }
    {
      const Variables variables({{"COLUMNS", "72x"}});
      wrong = terminal_width();
    }
  }
  EXPECT_EQ(plain, 100u);
  EXPECT_EQ(set, 72u);
  EXPECT_EQ(wrong, 100u);
}

TEST(Console, AFileHasTheWidthThatColumnsSays) {
  testing::internal::CaptureStdout();  // a file
  size_t widths[3];
  {
    const Variables variables({{"COLUMNS", nullptr}});
    widths[0] = terminal_width();
  }
  {
    const Variables variables({{"COLUMNS", "72"}});
    widths[1] = terminal_width();
  }
  {
    const Variables variables({{"COLUMNS", "3"}});
    widths[2] = terminal_width();
  }
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(widths[0], 0u);
  EXPECT_EQ(widths[1], 72u);
  EXPECT_EQ(widths[2], 40u) << "less makes no sense";
}

TEST(Console, ColoursAreForTerminalsThatWantThem) {
  const auto colours = [](const char* terminal, const char* no_color) {
    const Variables variables({{"TERM", terminal}, {"NO_COLOR", no_color}});
    return wants_color();
  };
  bool plain = false;
  bool dumb = true;
  bool unknown = true;
  bool unwanted = true;
  bool empty = false;
  {
    const Terminal terminal;
    plain = colours("xterm", nullptr);
    dumb = colours("dumb", nullptr);
    unknown = colours(nullptr, nullptr);
    unwanted = colours("xterm", "1");
    empty = colours("xterm", "");
  }
  EXPECT_TRUE(plain);
  EXPECT_FALSE(dumb);
  EXPECT_FALSE(unknown);
  EXPECT_FALSE(unwanted);
  EXPECT_TRUE(empty) << "NO_COLOR counts when it is not empty";
}

TEST(Console, Utf8IsWhatTheFirstVariableOfTheLocaleSays) {
  const auto utf8 = [](const char* all, const char* type, const char* language) {
    const Variables variables({{"LC_ALL", all}, {"LC_CTYPE", type}, {"LANG", language}});
    return wants_utf8();
  };
  EXPECT_TRUE(utf8("C.UTF-8", nullptr, nullptr));
  EXPECT_TRUE(utf8(nullptr, nullptr, "de_DE.utf8"));
  EXPECT_TRUE(utf8("", "en_US.UTF-8", "C"));
  EXPECT_FALSE(utf8("C", "en_US.UTF-8", "en_US.UTF-8"));
  EXPECT_FALSE(utf8(nullptr, nullptr, "de_DE.ISO-8859-1"));
  EXPECT_FALSE(utf8(nullptr, nullptr, nullptr));
}

TEST(Console, AFileHasNoWidthAndNoColours) {
  const auto result = testing_tools::memprof({"--help"});
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
