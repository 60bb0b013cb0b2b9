// SPDX-License-Identifier: Apache-2.0
// Serves one page to a browser on this machine, until SIGINT or SIGTERM.
//
// Model: HTTP/1.1 on 127.0.0.1, one thread.  The page has an address with a random token; whoever does not
// know it gets 404.  GET and HEAD only, no folders, no files; requests are limited in size, time and number.
// The Host of a request must be this server's: a name that some web site resolves to 127.0.0.1 gets nothing.
//
// Threads: one object, one thread.
// Signals: while there is one, SIGINT and SIGTERM end its serve().
// Failure: throws Failure where no address can be had.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace memprof::cli {

class PageServer {
 public:
  // `page` is asked for the page at each request.  Port 0: any that is free.
  explicit PageServer(std::function<std::string()> page, uint16_t port = 0);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // "http://127.0.0.1:PORT/TOKEN/".  Connections are taken from now on, and answered in serve().
  const std::string& url() const;
  void serve();
  // Ends serve(), from another thread, too.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace memprof::cli
