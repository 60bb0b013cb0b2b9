// SPDX-License-Identifier: Apache-2.0
// Requests to a server: tests/e2e/ship_test.py.
#include "memprof/io/http/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(Http, WhereNobodyAnswersNothingWasSent) {
  Http http;
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";  // nobody listens there
  request.seconds = 5;
  const HttpAnswer answer = http.post(request);
  EXPECT_EQ(answer.status, 0);
  EXPECT_FALSE(answer.error.empty());
  EXPECT_FALSE(answer.was_sent);
}

TEST(Http, OtherProtocolsAreRefused) {
  Http http;
  HttpRequest request;
  request.url = "file:///etc/passwd";
  const HttpAnswer answer = http.post(request);
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(answer.body.empty());
}

TEST(Http, AQuestionThatNobodyAnswersIsAnError) {
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";
  request.seconds = 5;
  const HttpAnswer answer = Http().get(request);
  EXPECT_EQ(answer.status, 0);
  EXPECT_FALSE(answer.error.empty());
}

TEST(Http, IsGivenUpWhenItsTimeIsOver) {
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  // It takes connections, and never answers.
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::atomic<int64_t> end_ns{0};
  HttpRequest request;
  request.url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  request.seconds = 600;
  request.end_ns = &end_ns;
  Http http;
  EXPECT_EQ(http.post(request).error, "no answer until the end");
  close(listener);
}

TEST(Http, SecretsArePutIntoARequest) {
  const testing_tools::Folder folder;
  HttpAccess access;
  access.token_file = folder / "token";
  access.ca_file = "c";
  testing_tools::write_file(access.token_file, "abc\nmore\n");
  HttpRequest request;
  add_http_access(access, &request);
  EXPECT_EQ(request.headers, std::vector<std::string>{"Authorization: Bearer abc"});
  EXPECT_EQ(request.ca_file, "c");
  testing_tools::write_file(access.token_file, "new\n");
  add_http_access(access, &request);
  EXPECT_EQ(request.headers.back(), "Authorization: Bearer new") << "it is read again";
  add_http_access({}, &request);
  EXPECT_EQ(request.ca_file, "c") << "what is not given is left alone";
}

}  // namespace
}  // namespace memprof::cli
