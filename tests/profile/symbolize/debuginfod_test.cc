// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/debuginfod.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "profile/symbolize/symbolizer.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

using std::chrono::milliseconds;

// A server on this machine that answers as it is told to, or never.
class Server {
 public:
  enum class Answer { kNever, kNotFound, kFile, kHalfAFile };

  explicit Server(Answer answer, std::string body = "") : answer_(answer), body_(std::move(body)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
    setenv("DEBUGINFOD_URLS", url_.c_str(), 1);
    setenv("DEBUGINFOD_CACHE_PATH", (cache_ / "cache").c_str(), 1);
  }
  ~Server() {
    is_over_ = true;
    thread_.join();
    for (const int client : clients_) close(client);
    close(listener_);
    unsetenv("DEBUGINFOD_URLS");
    unsetenv("DEBUGINFOD_CACHE_PATH");
  }

  const std::string& url() const { return url_; }
  int requests() const { return requests_; }
  const std::string& path() const { return path_; }

 private:
  void serve() {
    while (!is_over_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (poll(&waiting, 1, 20) <= 0) continue;
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      clients_.push_back(client);
      ++requests_;
      if (answer_ == Answer::kNever) continue;
      std::string request(4096, '\0');
      request.resize(static_cast<size_t>(std::max<ssize_t>(read(client, request.data(), request.size()), 0)));
      path_ = request.substr(0, request.find(" HTTP"));
      if (answer_ == Answer::kNotFound) {
        send_text(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      } else {
        send_text(client, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
                              std::to_string(body_.size()) + "\r\nConnection: close\r\n\r\n");
        send_text(client, answer_ == Answer::kFile ? body_ : body_.substr(0, body_.size() / 2));
      }
    }
  }

  static void send_text(int client, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }

  const Answer answer_;
  const std::string body_;
  const fixture::Folder cache_;
  int listener_ = -1;
  std::string url_;
  std::string path_;
  std::atomic<bool> is_over_{false};
  std::atomic<int> requests_{0};
  std::vector<int> clients_;
  std::thread thread_;
};

DebuginfodOptions impatient() {
  DebuginfodOptions options;
  options.max_silence = milliseconds(1500);
  return options;
}

std::string debug_file() {
  return fixture::read_file(fixture::path("linked/pie.debug"));
}

TEST(Debuginfod, NobodyIsAskedWithoutTheVariable) {
  unsetenv("DEBUGINFOD_URLS");
  Debuginfod debuginfod(impatient());
  EXPECT_EQ(debuginfod.find(fixture::kBuildId, "program"), "");
  setenv("DEBUGINFOD_URLS", " ", 1);
  EXPECT_EQ(debuginfod.find(fixture::kBuildId, "program"), "");
  unsetenv("DEBUGINFOD_URLS");
  EXPECT_EQ(debuginfod.warning(), "");
}

TEST(Debuginfod, NamesAStrippedProgram) {
  const Server server(Server::Answer::kFile, debug_file());
  const auto running = fixture::run(fixture::path("stripped"), fixture::kBuildId);
  Profile profile = fixture::profile_of(running);
  Debuginfod debuginfod(impatient());
  SymbolizeOptions options;
  options.debuginfod = &debuginfod;
  Symbolizer().symbolize(profile, options);
  EXPECT_EQ(fixture::names(profile), fixture::expected_names(running));
  EXPECT_EQ(server.path(), "GET /buildid/" + std::string(fixture::kBuildId) + "/debuginfo");
  EXPECT_EQ(debuginfod.warning(), "");
}

TEST(Debuginfod, NamesAProgramThatIsGone) {
  const Server server(Server::Answer::kFile, fixture::read_file(fixture::path("pie")));
  const auto running = fixture::run(fixture::path("pie"), fixture::kBuildId);
  Profile profile = fixture::profile_of(running);
  profile.mappings[0].path = "/nowhere/pie";
  SymbolizeOptions options;
  EXPECT_EQ(Symbolizer().symbolize(profile, options).named, 0U);
  EXPECT_EQ(server.requests(), 0);
  Debuginfod debuginfod(impatient());
  options.debuginfod = &debuginfod;
  const SymbolizeSummary summary = Symbolizer().symbolize(profile, options);
  EXPECT_EQ(fixture::names(profile), fixture::expected_names(running));
  // The program first, and since it has no debug info, its debug file.
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(server.path(), "GET /buildid/" + std::string(fixture::kBuildId) + "/debuginfo");
  EXPECT_TRUE(summary.warnings.empty());
}

TEST(Debuginfod, AProgramThatIsNowhereHasNoNames) {
  const Server server(Server::Answer::kNotFound);
  Profile profile = fixture::profile_of(fixture::run(fixture::path("pie"), fixture::kBuildId));
  profile.mappings[0].path = "/nowhere/pie";
  Debuginfod debuginfod(impatient());
  SymbolizeOptions options;
  options.debuginfod = &debuginfod;
  const SymbolizeSummary summary = Symbolizer().symbolize(profile, options);
  EXPECT_EQ(summary.named, 0U);
  EXPECT_EQ(summary.warnings.size(), 1U);
  EXPECT_EQ(server.requests(), 1);
}

TEST(Debuginfod, WhatIsThereIsNotAskedFor) {
  const Server server(Server::Answer::kNotFound);
  Debuginfod debuginfod(impatient());
  SymbolizeOptions options;
  options.debuginfod = &debuginfod;
  Profile profile = fixture::profile_of(fixture::run(fixture::path("linked/pie"), fixture::kBuildId));
  Symbolizer().symbolize(profile, options);
  EXPECT_EQ(server.requests(), 0);
}

TEST(Debuginfod, ServersThatDoNotHaveItAreNoFault) {
  const Server server(Server::Answer::kNotFound);
  Debuginfod debuginfod(impatient());
  EXPECT_EQ(debuginfod.find(fixture::kBuildId, "program"), "");
  EXPECT_EQ(debuginfod.warning(), "");
  EXPECT_GE(server.requests(), 1);
}

TEST(Debuginfod, AFileOfAnotherBuildIsNotTaken) {
  const Server server(Server::Answer::kFile, fixture::read_file(fixture::path("other")));
  Profile profile = fixture::profile_of(fixture::run(fixture::path("stripped"), fixture::kBuildId));
  Debuginfod debuginfod(impatient());
  SymbolizeOptions options;
  options.debuginfod = &debuginfod;
  const SymbolizeSummary summary = Symbolizer().symbolize(profile, options);
  EXPECT_GE(server.requests(), 1);
  EXPECT_EQ(summary.named, 0u);
}

class SilentServer : public ::testing::TestWithParam<Server::Answer> {};

TEST_P(SilentServer, IsGivenUpInTimeAndNotAskedAgain) {
  const Server server(GetParam(), std::string(1 << 20, 'x'));
  int shown = 0;
  bool was_over = false;
  DebuginfodOptions options = impatient();
  options.progress = [&](const std::string& path, uint64_t, uint64_t, bool is_over) {
    EXPECT_EQ(path, "program");
    EXPECT_FALSE(was_over);
    was_over = is_over;
    ++shown;
  };
  Debuginfod debuginfod(options);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(debuginfod.find(fixture::kBuildId, "program"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(10'000));
  EXPECT_GE(shown, 2);
  EXPECT_TRUE(was_over);
  EXPECT_EQ(debuginfod.warning(), "debuginfod (" + server.url() +
                                      ") does not answer in time; names and lines without it "
                                      "(--no-debuginfod does not ask)");
  const int requests = server.requests();
  EXPECT_EQ(debuginfod.find("00" + std::string(fixture::kBuildId).substr(2), "other"), "");
  EXPECT_EQ(server.requests(), requests);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SilentServer,
                         ::testing::Values(Server::Answer::kNever, Server::Answer::kHalfAFile));

TEST(Debuginfod, AServerThatIsNotThereIsSaid) {
  const fixture::Folder cache;
  setenv("DEBUGINFOD_CACHE_PATH", cache.path().c_str(), 1);
  setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
  Debuginfod debuginfod(impatient());
  EXPECT_EQ(debuginfod.find(fixture::kBuildId, "program"), "");
  EXPECT_THAT(debuginfod.warning(), ::testing::HasSubstr("http://127.0.0.1:1"));
  unsetenv("DEBUGINFOD_URLS");
  unsetenv("DEBUGINFOD_CACHE_PATH");
}

}  // namespace
}  // namespace memprof::profile
