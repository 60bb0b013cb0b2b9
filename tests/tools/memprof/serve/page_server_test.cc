// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/page_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A page that counts, with events and a file.
class Counted : public PageSource {
 public:
  std::string page() override { return "page " + std::to_string(++asked); }
  bool is_live() const override { return is_live_; }
  std::optional<Clock::time_point> next_look(bool has_viewers) const override {
    if (!has_viewers || looks_ == 3) return std::nullopt;
    return Clock::now();
  }
  void look() override { ++looks_; }
  std::string event_after(ViewerPlace* place) override {
    if (place->look == looks_) return {};
    place->look = looks_;
    return "data: " + std::to_string(looks_) + "\n\n";
  }
  ViewerPlace place_after(const std::string& event) const override {
    ViewerPlace place;
    place.look = event == "3" ? 3 : 0;
    return place;
  }
  std::optional<PageFile> file(const std::string& name) override {
    if (name != "a.gz") return std::nullopt;
    return PageFile{"application/gzip", "b.gz", "packed"};
  }

  int asked = 0;
  bool is_live_ = true;

 private:
  uint64_t looks_ = 1;
};

class PageServerTest : public ::testing::Test {
 protected:
  PageServerTest() : server_(&page_) {
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

  // The beginning of an answer that has no end.
  std::string begin_of(const std::string& request, const std::string& last) const {
    const int fd = connect_to("127.0.0.1");
    EXPECT_GT(send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
    std::string all;
    char buffer[4096];
    for (ssize_t size = 1; size > 0 && all.find(last) == std::string::npos;) {
      size = recv(fd, buffer, sizeof(buffer), 0);
      if (size > 0) all.append(buffer, static_cast<size_t>(size));
    }
    close(fd);
    return all;
  }
  std::string events(const std::string& path, const std::string& host, const std::string& more = "") const {
    return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n";
  }

  Counted page_;
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
  EXPECT_EQ(page_.asked, 0);
}

TEST_F(PageServerTest, GivesNothingUnderAnotherName) {
  EXPECT_THAT(get("GET", path_, "rebound.example:" + std::to_string(port_)), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("GET", path_, ""), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(page_.asked, 0);
}

// The rules of names: host_names_test.cc.
TEST_F(PageServerTest, TheHostMayHaveAnotherPortOrNone) {
  for (const char* host : {"127.0.0.1", "localhost", "LocalHost:80", "127.0.0.1:9000"}) {
    EXPECT_THAT(get("GET", path_, host), StartsWith("HTTP/1.1 200 ")) << host;
  }
}

TEST_F(PageServerTest, StrangersDoNotTakeThePlacesOfOthers) {
  // One that has named the token keeps its connection.
  const int known = connect_to("127.0.0.1");
  const std::string request = "GET " + path_ + " HTTP/1.1\r\nHost: " + host_ + "\r\n\r\n";
  char buffer[4096];
  ASSERT_GT(send(known, request.data(), request.size(), MSG_NOSIGNAL), 0);
  ASSERT_GT(recv(known, buffer, sizeof(buffer), 0), 0);
  // Those that say nothing, half a request, and the beginning of a body.
  std::vector<int> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(connect_to("127.0.0.1"));
    ASSERT_GE(strangers.back(), 0);
    const std::string half = i % 3 == 0   ? ""
                             : i % 3 == 1 ? "GET / HT"
                                          : "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n";
    if (!half.empty()) {
      ASSERT_GT(send(strangers.back(), half.data(), half.size(), MSG_NOSIGNAL), 0);
    }
  }
  EXPECT_THAT(get("GET", path_, host_), StartsWith("HTTP/1.1 200 "));
  ASSERT_GT(send(known, request.data(), request.size(), MSG_NOSIGNAL), 0);
  EXPECT_GT(recv(known, buffer, sizeof(buffer), 0), 0);
  // The oldest were closed, and no more are open than there are places.
  EXPECT_EQ(recv(strangers.front(), buffer, sizeof(buffer), 0), 0);
  close(known);
  for (const int fd : strangers) close(fd);
}

TEST_F(PageServerTest, AStrangerHasOneRequest) {
  // Without "Connection: close" the server ends it.
  EXPECT_THAT(said_to("GET / HTTP/1.1\r\nHost: " + host_ + "\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(PageServerTest, TakesGetAndHeadOnly) {
  EXPECT_THAT(get("DELETE", path_, host_), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(get("POST", path_, host_, "Content-Length: 0\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(page_.asked, 0);
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

TEST_F(PageServerTest, TellsEventsToWhoKnowsTheToken) {
  const std::string answer = begin_of(events(path_ + "events", host_), "data: 3\n\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store"));
  EXPECT_THAT(answer, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\ndata: 1\n\n"));
  for (const auto& [path, host] : {std::pair(std::string("/events"), host_),
                                   std::pair("/" + std::string(path_.size() - 2, '0') + "/events", host_),
                                   std::pair(path_ + "events/", host_), std::pair(path_ + "eventsx", host_),
                                   std::pair(path_ + "events", std::string("rebound.example:80"))}) {
    EXPECT_THAT(get("GET", path, host), StartsWith("HTTP/1.1 404 ")) << path << " " << host;
  }
  EXPECT_THAT(get("POST", path_ + "events", host_), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(get("HEAD", path_ + "events", host_), StartsWith("HTTP/1.1 404 "));
}

TEST_F(PageServerTest, AViewerGoesOnFromHisLastEvent) {
  // The looks are made while the first one watches.
  begin_of(events(path_ + "events", host_), "data: 3\n\n");
  EXPECT_THAT(begin_of(events(path_ + "events", host_), "data"), HasSubstr("data: 3"));
  const int fd = connect_to("127.0.0.1");
  const std::string request = events(path_ + "events", host_, "Last-Event-ID: 3\r\n");
  ASSERT_GT(send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
  char buffer[4096];
  const ssize_t size = recv(fd, buffer, sizeof(buffer), 0);
  ASSERT_GT(size, 0);
  EXPECT_THAT(std::string(buffer, static_cast<size_t>(size)), Not(HasSubstr("data")));
  close(fd);
}

TEST_F(PageServerTest, HasAPlaceForSixteenViewers) {
  std::vector<int> viewers;
  const std::string request = events(path_ + "events", host_);
  for (int i = 0; i < 16; ++i) {
    viewers.push_back(connect_to("127.0.0.1"));
    ASSERT_GT(send(viewers.back(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    char letter = 0;
    ASSERT_EQ(recv(viewers.back(), &letter, 1, 0), 1);
  }
  EXPECT_THAT(said_to(request), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(get("GET", path_, host_), HasSubstr("page 1")) << "the page itself is there for others";
  for (const int fd : viewers) close(fd);
}

TEST_F(PageServerTest, GivesFilesToBeSaved) {
  const std::string answer = get("GET", path_ + "a.gz", host_);
  EXPECT_THAT(answer, HasSubstr("Content-Disposition: attachment; filename=\"b.gz\""));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\npacked"));
  EXPECT_THAT(get("HEAD", path_ + "a.gz", host_), Not(HasSubstr("packed")));
  EXPECT_THAT(get("GET", "/a.gz", host_), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("GET", path_ + "a.gz", "rebound.example:80"), StartsWith("HTTP/1.1 404 "));
}

TEST(PageServer, APageThatStaysHasNoEvents) {
  StillPage page("still");
  PageServer server(&page);
  EXPECT_TRUE(server.is_local());
  EXPECT_FALSE(page.is_live());
  EXPECT_FALSE(page.next_look(true));
}

TEST(PageServer, AnotherAddressIsNotLocal) {
  StillPage page("still");
  const PageServer all(&page, {"0.0.0.0", 0});
  EXPECT_FALSE(all.is_local());
  EXPECT_THAT(all.url(), Not(HasSubstr("0.0.0.0")));
  EXPECT_TRUE(PageServer(&page, {"127.0.0.2", 0}).is_local());
  for (const char* address : {"localhost", "", "127.0.0.1:80", "300.0.0.1"}) {
    EXPECT_THROW(PageServer(&page, {address, 0}), Failure) << address;
  }
}

TEST_F(PageServerTest, ListensOnLoopbackOnly) {
  // All of 127/8 is this machine's: a server on any address would answer here, too.
  EXPECT_LT(connect_to("127.0.0.2"), 0);
}

TEST_F(PageServerTest, SaysWhichPortIsTaken) {
  try {
    StillPage page("");
    const PageServer second(&page, {"127.0.0.1", port_});
    FAIL() << "two servers at one port";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("127.0.0.1:" + std::to_string(port_) + ": cannot listen there"));
  }
}

}  // namespace
}  // namespace memprof::cli
