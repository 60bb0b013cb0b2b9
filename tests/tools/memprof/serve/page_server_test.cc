// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/page_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <regex>
#include <string>
#include <thread>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PageServerTest : public ::testing::Test {
 protected:
  PageServerTest() : server_([this] { return "page " + std::to_string(++asked_); }) {
    std::smatch match;
    const std::string url = server_.url();
    EXPECT_TRUE(std::regex_match(url, match, std::regex("http://(127\\.0\\.0\\.1:(\\d+))(/[0-9a-f]{32}/)")))
        << url;
    host_ = match[1];
    port_ = static_cast<uint16_t>(std::stoi(match[2]));
    path_ = match[3];
    thread_ = std::thread([this] { server_.serve(); });
  }
  ~PageServerTest() override {
    server_.stop();
    thread_.join();
  }

  int connect_to(const char* address) const {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    inet_pton(AF_INET, address, &to.sin_addr);
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) return fd;
    close(fd);
    return -1;
  }

  // What the server says to these bytes, until it closes the connection.
  std::string said_to(const std::string& bytes) const {
    const int fd = connect_to("127.0.0.1");
    EXPECT_GE(fd, 0);
    EXPECT_GT(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    std::string all;
    char buffer[4096];
    for (ssize_t size = 1; size > 0;) {
      size = recv(fd, buffer, sizeof(buffer), 0);
      if (size > 0) all.append(buffer, static_cast<size_t>(size));
    }
    close(fd);
    return all;
  }
  std::string get(const std::string& method, const std::string& path, const std::string& host,
                  const std::string& more = "") const {
    return said_to(method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + more +
                   "\r\n");
  }

  int asked_ = 0;
  PageServer server_;
  std::string host_;
  std::string path_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(PageServerTest, GivesThePageToWhoKnowsItsAddress) {
  const std::string answer = get("GET", path_, host_);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\npage 1"));
  for (const char* header :
       {"Content-Type: text/html", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "frame-ancestors 'none'", "Referrer-Policy: no-referrer"}) {
    EXPECT_THAT(answer, HasSubstr(header));
  }
  EXPECT_THAT(get("GET", path_, "localhost:" + std::to_string(port_)), HasSubstr("page 2"));
}

TEST_F(PageServerTest, GivesNothingWithoutTheToken) {
  const std::string wrong_token = "/" + std::string(path_.size() - 2, '0') + "/";
  for (const std::string& path :
       {std::string("/"), wrong_token, path_.substr(0, path_.size() - 1), path_ + "x", path_ + "../",
        std::string("/../../etc/passwd"), std::string("/favicon.ico")}) {
    const std::string answer = get("GET", path, host_);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, Not(HasSubstr(path_))) << path;
  }
  EXPECT_EQ(asked_, 0);
}

TEST_F(PageServerTest, GivesNothingUnderAnotherName) {
  EXPECT_THAT(get("GET", path_, "rebound.example:" + std::to_string(port_)), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("GET", path_, ""), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(asked_, 0);
}

TEST_F(PageServerTest, TakesGetAndHeadOnly) {
  EXPECT_THAT(get("DELETE", path_, host_), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(get("POST", path_, host_, "Content-Length: 0\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(asked_, 0);
  const std::string head = get("HEAD", path_, host_);
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head, Not(HasSubstr("page")));
}

TEST_F(PageServerTest, EndsAConnectionThatAsksTooMuch) {
  EXPECT_EQ(get("GET", path_, host_, "X: " + std::string(20'000, 'a') + "\r\n"), "");
  EXPECT_THAT(get("POST", path_, host_, "Content-Length: 1000\r\n"), Not(HasSubstr("200 OK")));
  EXPECT_EQ(said_to("\x16\x03\x01 not HTTP\r\n\r\n"), "");
  EXPECT_THAT(get("GET", path_, host_), HasSubstr("page"));  // and goes on
}

TEST_F(PageServerTest, ListensOnLoopbackOnly) {
  // All of 127/8 is this machine's: a server on any address would answer here, too.
  EXPECT_LT(connect_to("127.0.0.2"), 0);
}

TEST_F(PageServerTest, SaysWhichPortIsTaken) {
  try {
    const PageServer second([] { return std::string(); }, port_);
    FAIL() << "two servers at one port";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("127.0.0.1:" + std::to_string(port_) + ": cannot listen there"));
  }
}

}  // namespace
}  // namespace memprof::cli
