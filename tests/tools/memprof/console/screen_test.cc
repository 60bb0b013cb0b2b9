// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/screen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace memprof::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// Runs `body` in a child whose standard streams are a terminal of 5 rows; returns what it wrote there.
template <typename Body>
std::string on_terminal(const Body& body, const std::string& keys, int* status, bool* is_put_back) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  grantpt(terminal);
  unlockpt(terminal);
  const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  const winsize size{5, 80, 0, 0};
  ioctl(end, TIOCSWINSZ, &size);
  termios before{};
  tcgetattr(end, &before);
  const pid_t child = fork();
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    dup2(end, STDIN_FILENO);
    dup2(end, STDOUT_FILENO);
    body();
    _exit(0);
  }
  EXPECT_EQ(static_cast<ssize_t>(keys.size()), write(terminal, keys.data(), keys.size()));
  waitpid(child, status, 0);
  termios after{};
  tcgetattr(end, &after);
  *is_put_back = before.c_lflag == after.c_lflag;
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  std::string written;
  char part[4096];
  for (ssize_t got = 0; (got = read(terminal, part, sizeof(part))) > 0;) {
    written.append(part, static_cast<size_t>(got));
  }
  close(end);
  close(terminal);
  return written;
}

profile::Cells two_rows(const std::string& first, const std::string& second) {
  profile::Cells cells(20, 2);
  cells.put(0, 0, first, {profile::Color::kRed, false, false, false});
  cells.put(1, 0, second);
  return cells;
}

TEST(Screen, IsDrawnAndPutBack) {
  int status = 0;
  bool is_put_back = false;
  const std::string written = on_terminal(
      [] {
        if (!Screen::is_possible()) _exit(1);
        Screen screen;
        if (screen.rows() != 5 || screen.columns() != 80) _exit(2);
        screen.draw(two_rows("one", "two"), true);
        screen.draw(two_rows("one", "three"), true);
        std::string keys;
        while (keys.find('q') == std::string::npos) {
          for (const profile::LiveKey& key : screen.wait_for_keys(5)) keys += key.text;
        }
        if (keys != "xq") _exit(3);
      },
      "xq", &status, &is_put_back);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_put_back);
  EXPECT_THAT(written, HasSubstr("\x1b[?1049h"));
  EXPECT_THAT(written,
              HasSubstr("\x1b[2J\x1b[1;1H\x1b[0;31mone\x1b[0m\x1b[K\x1b[2;1Htwo\x1b[K\x1b[2;1Hthree\x1b[K"))
      << "the second time only the row that changed";
  EXPECT_THAT(written, EndsWith("\x1b[?25h\x1b[?1049l"));
}

TEST(Screen, ASignalPutsItBackAndEndsTheProgram) {
  int status = 0;
  bool is_put_back = false;
  const std::string written = on_terminal(
      [] {
        Screen screen;
        raise(SIGTERM);
      },
      "", &status, &is_put_back);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(is_put_back);
  EXPECT_THAT(written, EndsWith("\x1b[?1049l"));
}

TEST(Screen, ACrashPutsItBack) {
  for (const int signal : {SIGABRT, SIGHUP, SIGINT}) {
    int status = 0;
    bool is_put_back = false;
    const std::string written = on_terminal(
        [signal] {
          Screen screen;
          raise(signal);
        },
        "", &status, &is_put_back);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(is_put_back);
    EXPECT_THAT(written, EndsWith("\x1b[?1049l"));
  }
}

TEST(Screen, WhatIsIgnoredStaysIgnored) {
  int status = 0;
  bool is_put_back = false;
  on_terminal(
      [] {
        signal(SIGHUP, SIG_IGN);
        {
          Screen screen;
          raise(SIGHUP);
        }
        _exit(signal(SIGHUP, SIG_DFL) == SIG_IGN ? 7 : 1);
      },
      "", &status, &is_put_back);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Screen, AnotherSizeEndsTheWait) {
  int status = 0;
  bool is_put_back = false;
  on_terminal(
      [] {
        Screen screen;
        raise(SIGWINCH);  // before the wait begins, and it is not lost
        if (!screen.wait_for_keys(-1).empty()) _exit(1);
      },
      "", &status, &is_put_back);
  EXPECT_EQ(status, 0);
}

TEST(Screen, NoKeyIsNothing) {
  int status = 0;
  bool is_put_back = false;
  on_terminal(
      [] {
        Screen screen;
        if (!screen.wait_for_keys(0.01).empty() || screen.is_closed()) _exit(1);
      },
      "", &status, &is_put_back);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace memprof::cli
