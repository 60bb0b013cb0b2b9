// SPDX-License-Identifier: Apache-2.0
// One viewer of a live page: a connection that stays open, and on which he is told what changes (server-sent
// events).
//
// Model: there is one event under way at most.  Who reads slowly gets fewer and larger ones, never a queue.
// Who has gone is noticed when he closes, or does not take what is sent within half a minute.
//
// Threads: the server's.
// Owns: itself, while something is under way on the connection.
#pragma once

#include <boost/beast/core/tcp_stream.hpp>
#include <functional>
#include <memory>
#include <string>

#include "memprof/serve/page_source.h"

namespace memprof::cli {

class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  // `source` must outlive it.  `closed` is called once, when the viewer has gone.
  EventStream(boost::beast::tcp_stream connection, PageSource* source, const ViewerPlace& place,
              std::function<void()> closed);
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // `header`: of the answer, as it is to be sent.
  void begin(std::string header);
  // There may be something new.
  void tell();
  // Sends what means nothing, to see whether the viewer is there still.
  void ask_whether_there();
  bool is_open() const { return is_open_; }

 private:
  void send(std::string text);
  void wait_for_end();
  void close();

  boost::beast::tcp_stream connection_;
  PageSource& source_;
  ViewerPlace place_;
  std::function<void()> closed_;
  std::string sending_;  // empty: nothing is under way
  char heard_[64] = {};
  bool is_open_ = true;
};

}  // namespace memprof::cli
