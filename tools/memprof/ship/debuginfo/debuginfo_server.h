// SPDX-License-Identifier: Apache-2.0
// Answers clients of debuginfod with the files of watched processes: /buildid/ID/debuginfo and /buildid/ID/executable.
//
// Model: connections stay in their server's thread, which never waits; files are found and read by another thread, a part
// at a time, so a file of any size takes a part's memory.  There are so many downloads at most; more are told to come
// again, and who takes a part too slowly is cut off.
//
// Threads: those of the connections' context and one of its own; watch() and metrics(): any.
#pragma once

#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <string>
#include <vector>

#include "memprof/serve/http_server.h"
#include "memprof/ship/debuginfo/build_files.h"

namespace memprof::cli {

inline constexpr unsigned kMaxDownloads = 8;

class DebuginfoServer {
 public:
  // `context`: of the connections; must outlive it.
  explicit DebuginfoServer(boost::asio::io_context* context, BuildFiles files = BuildFiles());
  ~DebuginfoServer();
  DebuginfoServer(const DebuginfoServer&) = delete;
  DebuginfoServer& operator=(const DebuginfoServer&) = delete;

  // false: the system gives no thread.
  bool start();
  // No file is read from now on.  Before the context's thread ends.
  void stop();

  // The processes that there are now.  New ones are looked at soon, all of them every 30 s, and when something is asked for
  // that nobody knows.
  void watch(std::vector<WatchedProcess> processes);

  // In the context's thread.  true: the connection is a download from now on.
  bool takes_over(const HttpRequest& request, boost::beast::tcp_stream* stream);
  // What there is to say to what it does not take over.
  HttpResponse refuse(const HttpRequest& request);

  // In the text form of Prometheus.
  std::string metrics() const;

 private:
  class Download;
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace memprof::cli
