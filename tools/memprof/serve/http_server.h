// SPDX-License-Identifier: Apache-2.0
// The connections of an HTTP/1.1 server: GET and HEAD, with limits of size, time and number.  What it answers is a site's.
//
// Model: a connection is a stranger's until it asks for something that the site knows.  Of strangers and of known ones
// there are so many at most; the oldest of a kind makes room for a new one.  So who only connects, or is slow, takes no
// place of one that the site knows.
//
// Threads: that which runs the context.
// Failure: throws Failure where no address can be had.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "memprof/serve/host_names.h"

namespace memprof::cli {

using HttpRequest = boost::beast::http::request<boost::beast::http::empty_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

struct HttpAddress {
  std::string address = "127.0.0.1";  // IPv4 or IPv6
  uint16_t port = 0;                  // 0: any that is free
};

inline constexpr size_t kMaxKnownConnections = 128;  // a browser has up to six

class HttpSite {
 public:
  using Send = std::function<void(HttpResponse)>;

  HttpSite() = default;
  virtual ~HttpSite() = default;
  HttpSite(const HttpSite&) = delete;
  HttpSite& operator=(const HttpSite&) = delete;

  // Whether the one that asks this may go on on his connection.
  virtual bool knows(const HttpRequest& request) const = 0;
  // Of GET and HEAD.  `send`: to be called once, in the server's thread, now or later.  With "Connection: close" it is the
  // connection's last.
  virtual void answer(const HttpRequest& request, const Send& send) = 0;
  // true: the connection is the site's from now on.
  virtual bool takes_over(const HttpRequest& /*request*/, boost::beast::tcp_stream* /*stream*/) {
    return false;
  }
};

// One line of text; of a HEAD none.
HttpResponse text_response(const HttpRequest& request, boost::beast::http::status status,
                           const std::string& text);
void set_common_fields(boost::beast::http::fields* fields);

class HttpServer {
 public:
  // `context` and `site` must outlive it; connections end with the context.  `command` and `hint` (may be empty, else
  // of a port that was asked for) stand in messages.  `max_known`: connections of those that the site knows; one that
  // reads slowly has its answer in memory meanwhile.
  HttpServer(boost::asio::io_context* context, HttpSite* site, const HttpAddress& address,
             const std::string& command, const std::string& hint, size_t max_known = kMaxKnownConnections);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Takes connections, which were waiting since it was made.
  void start() { accept(); }

  const HostNames& hosts() const { return hosts_; }
  uint16_t port() const { return port_; }
  // "127.0.0.1:4041"
  std::string host() const { return hosts_.shown() + ":" + std::to_string(port_); }

 private:
  class Connection;
  struct Connections;

  void accept();
  void accept_later();

  HttpSite& site_;
  const std::shared_ptr<Connections> connections_;
  HostNames hosts_;
  uint16_t port_ = 0;
  boost::asio::steady_timer pauses_;
  boost::asio::ip::tcp::acceptor acceptor_;
};

}  // namespace memprof::cli
