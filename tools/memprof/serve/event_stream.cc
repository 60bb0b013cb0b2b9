// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/event_stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

constexpr std::chrono::seconds kMaxEventWait(30);

}  // namespace

EventStream::EventStream(beast::tcp_stream connection, PageSource* source, const ViewerPlace& place,
                         std::function<void()> closed)
    : connection_(std::move(connection)), source_(*source), place_(place), closed_(std::move(closed)) {}

void EventStream::begin(std::string header) {
  wait_for_end();
  send(std::move(header));
}

void EventStream::tell() {
  if (!is_open_ || !sending_.empty()) return;
  send(source_.event_after(&place_));
}

void EventStream::ask_whether_there() {
  if (is_open_ && sending_.empty()) send(":\n\n");
}

void EventStream::send(std::string text) {
  if (text.empty()) return;
  sending_ = std::move(text);
  connection_.expires_after(kMaxEventWait);  // of this; the wait for the end is under way
  asio::async_write(connection_, asio::buffer(sending_),
                    [self = shared_from_this()](beast::error_code error, size_t) {
                      self->sending_.clear();
                      if (error) return self->close();
                      self->tell();
                    });
}

// A viewer has nothing to say: what he sends is not looked at.
void EventStream::wait_for_end() {
  connection_.expires_never();
  connection_.async_read_some(asio::buffer(heard_),
                              [self = shared_from_this()](beast::error_code error, size_t) {
                                if (error || !self->is_open_) return self->close();
                                self->wait_for_end();
                              });
}

void EventStream::close() {
  if (!is_open_) return;
  is_open_ = false;
  connection_.close();
  closed_();
}

}  // namespace memprof::cli
