// SPDX-License-Identifier: Apache-2.0
#include "platform/messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "platform/process.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::messages_test {
namespace {

using testing_support::in_child;
using testing_support::read_file;
using testing_support::TemporaryFolder;

std::string message_of(const char* const* parts) {
  int ends[2];
  EXPECT_EQ(0, pipe(ends));
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  platform::remember_standard_error();
  errno = 77;
  platform::message(parts);
  EXPECT_EQ(77, errno);
  dup2(saved, STDERR_FILENO);
  platform::remember_standard_error();
  close(saved);
  close(ends[1]);
  char buffer[4096] = {};
  const ssize_t n = read(ends[0], buffer, sizeof(buffer));  // one write: one read
  close(ends[0]);
  return std::string(buffer, static_cast<size_t>(n < 0 ? 0 : n));
}

TEST(Messages, AMessageIsOneLineInOneWrite) {
  const char* const parts[] = {"the path ", "/tmp/x", ": is wrong", nullptr};
  EXPECT_EQ("memprof: the path /tmp/x: is wrong\n", message_of(parts));
  const char* const nothing[] = {nullptr};
  EXPECT_EQ("memprof: \n", message_of(nothing));
  const char* const hostile[] = {"a\x1b[2Jb\n", "\xe2\x80\xae", "\xc2\x9b", "\xff grüße", nullptr};
  EXPECT_EQ("memprof: a?[2Jb??????? grüße\n", message_of(hostile));
  const std::string controls(200, '\x1b');
  const char* const long_one[] = {controls.c_str(), nullptr};
  EXPECT_EQ("memprof: " + std::string(63, '?') + "\n", message_of(long_one));
  const char* many[20];
  std::fill(many, many + 20, "x");
  EXPECT_EQ("memprof: xxxxxxxxxxxxxxxx\n", message_of(many));  // the rest is left out, with or without an end
}

void say() {
  const char* const parts[] = {"a line", nullptr};
  platform::message(parts);
}

// The next descriptor that is free, as a program does it.
void open_as_2(const std::string& path) {
  close(STDERR_FILENO);
  ASSERT_EQ(STDERR_FILENO, open(path.c_str(), O_RDWR | O_CREAT, 0600));
}

TEST(Messages, NoneInAFileThatTheProgramOpenedAsDescriptor2) {
  const TemporaryFolder folder;
  const std::string before = folder.path("before");
  const std::string data = folder.path("data");
  in_child([&] {
    open_as_2(before);
    platform::remember_standard_error();
    say();
    open_as_2(data);
    say();
    int ends[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    dup2(ends[0], STDERR_FILENO);
    say();
    char byte;
    EXPECT_EQ(-1, recv(ends[1], &byte, 1, MSG_DONTWAIT));
    EXPECT_EQ(EAGAIN, errno);
    close(STDERR_FILENO);
    say();
    open_as_2(before);  // the same file again
    lseek(STDERR_FILENO, 0, SEEK_END);
    say();
  });
  EXPECT_EQ("", read_file(data));
  EXPECT_EQ("memprof: a line\nmemprof: a line\n", read_file(before));
}

TEST(Messages, NoneWhereThereWasNoStandardError) {
  const TemporaryFolder folder;
  const std::string data = folder.path("data");
  in_child([&] {
    close(STDERR_FILENO);
    platform::remember_standard_error();
    say();
    open_as_2(data);
    say();
  });
  EXPECT_EQ("", read_file(data));
}

TEST(Messages, OfALibraryThatCameLateOnlyWhereItIsCertain) {
  const TemporaryFolder folder;
  const std::string data = folder.path("data");
  const std::string log = folder.path("log");
  in_child([&] {
    open_as_2(data);
    platform::remember_standard_error();
    platform::doubt_standard_error();
    say();
    open_as_2(log);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    say();
  });
  EXPECT_EQ("", read_file(data));
  EXPECT_EQ("memprof: a line\n", read_file(log));
}

TEST(Messages, NoneInASandbox) {
  const TemporaryFolder folder;
  const std::string path = folder.path("error");
  in_child([&] {
    open_as_2(path);
    platform::remember_standard_error();
    platform::set_sandboxed(true);
    say();
    platform::set_sandboxed(false);
  });
  EXPECT_EQ("", read_file(path));
}

}  // namespace
}  // namespace memprof::messages_test
