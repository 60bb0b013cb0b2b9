// SPDX-License-Identifier: Apache-2.0
// Serves one page to browsers until SIGINT or SIGTERM; of a page that is live also what changes in it.
//
// Model: HTTP/1.1, one thread; on 127.0.0.1, unless another address is asked for.  The page has an address with
// a random token; whoever does not know it gets 404.  Beside it there are its files and, of a live page, its
// events, all below that address.  GET and HEAD only; requests are limited in size, time and number.  The Host
// of a request must be this server's: a name that some web site resolves to 127.0.0.1 gets nothing.
//
// Threads: one object, one thread.
// Signals: while there is one, SIGINT and SIGTERM end its serve().
// Failure: throws Failure where no address can be had.
#pragma once

#include <memory>
#include <string>

#include "memprof/serve/http_server.h"
#include "memprof/serve/page_source.h"
#include "memprof/serve/source_files.h"

namespace memprof::cli {

using PageAddress = HttpAddress;

class PageServer {
 public:
  // `source`, and `sources` where the page asks for source text, must outlive it.
  explicit PageServer(PageSource* source, const PageAddress& address = {},
                      const SourceFiles* sources = nullptr);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // "http://127.0.0.1:PORT/TOKEN/".  Connections are taken from now on, and answered in serve().
  const std::string& url() const;
  // Whether nobody but this machine can reach it.
  bool is_local() const;
  void serve();
  // Ends serve(), from another thread, too.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace memprof::cli
