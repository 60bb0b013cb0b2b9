// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/screen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace memprof::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

TEST(Screen, IsDrawnAndPutBack) {
  int status = 0;
  bool is_put_back = false;
  const std::string written = on_terminal(
      [] {
        if (!Screen::is_possible()) _exit(1);
        Screen screen;
        screen.draw("one\ntwo\nthree\nfour\nfive\nsix\n");
        while (screen.wait_for_key(5) != 'q') {
        }
      },
      "xq", &status, &is_put_back);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_put_back);
  EXPECT_THAT(written, HasSubstr("\x1b[?1049h"));
  EXPECT_THAT(written, HasSubstr("\x1b[Hone\x1b[K\r\ntwo\x1b[K\r\n"));
  EXPECT_THAT(written, HasSubstr("four"));
  EXPECT_THAT(written, Not(HasSubstr("five")));  // the screen would roll
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

TEST(Screen, NoKeyIsNothing) {
  int status = 0;
  bool is_put_back = false;
  on_terminal(
      [] {
        Screen screen;
        if (screen.wait_for_key(0.01) != 0 || screen.rows() != 5) _exit(1);
      },
      "", &status, &is_put_back);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace memprof::cli
