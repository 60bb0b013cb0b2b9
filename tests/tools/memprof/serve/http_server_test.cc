// SPDX-License-Identifier: Apache-2.0
// Limits of size and time, strangers, methods: page_server_test.cc.
#include "memprof/serve/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/serve/http_client.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_tools::answer_of;
using testing_tools::HttpClient;
using testing_tools::request_of;

// Answers "/now" and "/last" at once, and "/later" when "/now" is asked for.
class TwoPages : public HttpSite {
 public:
  bool knows(const HttpRequest& request) const override { return request.target() != "/unknown"; }
  void answer(const HttpRequest& request, const Send& send) override {
    const auto of = [&](const char* text) {
      return text_response(request, boost::beast::http::status::ok, text);
    };
    if (request.target() == "/later") {
      waiting_ = [send, response = of("later")] { send(response); };
      return;
    }
    HttpResponse response = of("now");
    if (request.target() == "/last") response.set(boost::beast::http::field::connection, "close");
    send(response);
    if (!waiting_) return;
    waiting_();
    waiting_ = {};
  }

 private:
  std::function<void()> waiting_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    server_.start();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~HttpServerTest() override {
    context_.stop();
    thread_.join();
  }

  boost::asio::io_context context_{1};
  TwoPages site_;  // may have the end of a connection, which needs the context
  HttpServer server_{&context_, &site_, {}, "test", "take another", 3};
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersNowAndLater) {
  const HttpClient later(server_.port());
  later.say(request_of("GET", "/later", "localhost"));
  const std::string now = answer_of(server_.port(), "/now");
  EXPECT_THAT(now, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(now, HasSubstr("Cache-Control: no-store"));
  EXPECT_THAT(now, HasSubstr("\r\n\r\nnow\n"));
  std::string heard;
  std::atomic<bool> is_heard{false};
  std::thread hearing([&] {
    heard = later.hear();
    is_heard = true;
  });
  while (!is_heard) answer_of(server_.port(), "/now");
  hearing.join();
  EXPECT_THAT(heard, HasSubstr("\r\n\r\nlater\n"));
}

TEST_F(HttpServerTest, OneThatIsKnownGoesOn) {
  const HttpClient client(server_.port());
  for (int i = 0; i < 3; ++i) {
    client.say(request_of("GET", "/now", "localhost", true));
    EXPECT_THAT(client.hear("now\n"), StartsWith("HTTP/1.1 200 "));
  }
  client.say(request_of("GET", "/unknown", "localhost", true));
  EXPECT_THAT(client.hear(), HasSubstr("now\n")) << "and then it ends";
}

TEST_F(HttpServerTest, TheSiteEndsAConnection) {
  const HttpClient client(server_.port());
  client.say(request_of("GET", "/last", "localhost", true));
  EXPECT_THAT(client.hear(), HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(HttpServerTest, ThereAreSoManyThatAreKnown) {
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server_.port()));
    clients.back()->say(request_of("GET", "/now", "localhost", true));
    clients.back()->hear("now\n");
  }
  EXPECT_EQ(clients[0]->hear(), "") << "it made room";
  for (int i = 1; i < 4; ++i) {
    clients[i]->say(request_of("GET", "/now", "localhost", true));
    EXPECT_THAT(clients[i]->hear("now\n"), HasSubstr("now\n")) << i;
  }
}

TEST_F(HttpServerTest, OneThatGoesBeforeItsAnswerDoesNoHarm) {
  {
    const HttpClient gone(server_.port());
    gone.say(request_of("GET", "/later", "localhost"));
  }
  EXPECT_THAT(answer_of(server_.port(), "/now"), HasSubstr("now\n"));
  EXPECT_THAT(answer_of(server_.port(), "/now"), HasSubstr("now\n"));
}

TEST_F(HttpServerTest, SaysWhereAndWhyItCannotListen) {
  EXPECT_EQ(server_.host(), "127.0.0.1:" + std::to_string(server_.port()));
  try {
    const HttpServer second(&context_, &site_, {"127.0.0.1", server_.port()}, "test", "take another");
    FAIL() << "two servers at one port";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), StartsWith("test: " + server_.host() + ": cannot listen there: "));
    EXPECT_THAT(failure.what(), HasSubstr("; take another"));
  }
}

TEST(HttpText, HasALineButForHead) {
  HttpRequest request(boost::beast::http::verb::get, "/", 11);
  EXPECT_EQ(text_response(request, boost::beast::http::status::ok, "a").body(), "a\n");
  request.method(boost::beast::http::verb::head);
  EXPECT_EQ(text_response(request, boost::beast::http::status::ok, "a").body(), "");
}

}  // namespace
}  // namespace memprof::cli
