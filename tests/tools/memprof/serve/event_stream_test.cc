// SPDX-License-Identifier: Apache-2.0
// With HTTP around it: page_server_test.cc.
#include "memprof/serve/event_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

// Numbers up to `max`, an event each.
class Numbers : public PageSource {
 public:
  std::string page() override { return {}; }
  std::string event_after(ViewerPlace* place) override {
    return place->look == max ? std::string() : "[" + std::to_string(++place->look) + "]";
  }
  uint64_t max = 3;
};

class EventStreamTest : public ::testing::Test {
 protected:
  EventStreamTest() : viewer_(context_) {
    Tcp::acceptor acceptor(context_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    viewer_.connect(acceptor.local_endpoint());
    stream_ = std::make_shared<EventStream>(boost::beast::tcp_stream(acceptor.accept()), &numbers_,
                                            ViewerPlace{1, 0}, [this] { ++closed_; });
  }

  std::string heard(size_t size) {
    std::string text(size, ' ');
    bool is_read = false;
    asio::async_read(viewer_, asio::buffer(text), [&](boost::system::error_code error, size_t) {
      EXPECT_FALSE(error);
      is_read = true;
    });
    while (!is_read) context_.run_one();
    return text;
  }

  asio::io_context context_;
  Numbers numbers_;
  Tcp::socket viewer_;
  std::shared_ptr<EventStream> stream_;
  int closed_ = 0;
};

TEST_F(EventStreamTest, SendsWhatIsNewSinceThePlace) {
  stream_->begin("header ");
  EXPECT_EQ(heard(13), "header [2][3]");
  numbers_.max = 5;
  stream_->tell();
  EXPECT_EQ(heard(6), "[4][5]");
  stream_->ask_whether_there();
  EXPECT_EQ(heard(3), ":\n\n");
  EXPECT_EQ(closed_, 0);
}

TEST_F(EventStreamTest, WhatAViewerSaysIsNotLookedAt) {
  stream_->begin("header ");
  asio::write(viewer_, asio::buffer(std::string(1000, 'x')));
  EXPECT_EQ(heard(13), "header [2][3]");
  EXPECT_TRUE(stream_->is_open());
}

TEST_F(EventStreamTest, EndsWhenTheViewerGoes) {
  stream_->begin("header ");
  EXPECT_EQ(heard(13), "header [2][3]");
  viewer_.close();
  while (stream_->is_open()) context_.run_one();
  EXPECT_EQ(closed_, 1);
  numbers_.max = 9;
  stream_->tell();  // to nobody
  stream_->ask_whether_there();
  const std::weak_ptr<EventStream> gone = stream_;
  stream_.reset();
  context_.poll();
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(closed_, 1);
}

}  // namespace
}  // namespace memprof::cli
