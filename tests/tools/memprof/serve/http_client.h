// SPDX-License-Identifier: Apache-2.0
// A client of bytes, for tests of servers on this machine.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace memprof::cli::testing_tools {

class HttpClient {
 public:
  explicit HttpClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  ~HttpClient() { close(fd_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void say(const std::string& bytes) const {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Until `last` was read; "" until the server closes the connection.
  std::string hear(const std::string& last = "") const {
    std::string all;
    char buffer[4096];
    while (last.empty() || all.find(last) == std::string::npos) {
      const ssize_t size = recv(fd_, buffer, sizeof(buffer), 0);
      if (size <= 0) break;
      all.append(buffer, static_cast<size_t>(size));
    }
    return all;
  }

 private:
  const int fd_;
};

inline std::string request_of(const std::string& method, const std::string& target, const std::string& host,
                              bool keeps_on = false) {
  return method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" +
         (keeps_on ? "" : "Connection: close\r\n") + "\r\n";
}

// What the server answers, until it closes the connection.
inline std::string answer_of(uint16_t port, const std::string& target, const std::string& host = "127.0.0.1",
                             const std::string& method = "GET") {
  const HttpClient client(port);
  client.say(request_of(method, target, host));
  return client.hear();
}

}  // namespace memprof::cli::testing_tools
