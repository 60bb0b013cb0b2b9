// SPDX-License-Identifier: Apache-2.0
// Requests to a server: tests/e2e/ship_test.py.
#include "memprof/io/http/http.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace memprof::cli
