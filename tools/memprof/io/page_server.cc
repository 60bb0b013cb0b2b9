// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/page_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <random>
#include <utility>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr size_t kMostConnections = 32;
constexpr uint32_t kMostHeaderBytes = 8192;
constexpr std::chrono::seconds kMostWait(30);

std::string random_token() {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kTokenDigits = 32;
  std::random_device random;
  std::string token;
  for (size_t i = 0; i < kTokenDigits; ++i) token += kDigits[random() % 16];
  return token;
}

// What a server answers with.
struct Site {
  std::function<std::string()> page;
  std::string path;  // of the page
  std::string host;  // "127.0.0.1:PORT"
  std::string local_host;
  size_t connections = 0;
};

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

Response plain(const Request& request, http::status status, const std::string& text) {
  Response response(status, request.version());
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.body() = request.method() == http::verb::head ? "" : text + "\n";
  return response;
}

Response answer(Site& site, const Request& request) {
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    Response response = plain(request, http::status::method_not_allowed, "only GET");
    response.set(http::field::allow, "GET, HEAD");
    return response;
  }
  const std::string host(request[http::field::host]);
  if ((host != site.host && host != site.local_host) || std::string(request.target()) != site.path) {
    return plain(request, http::status::not_found, "no such page; memprof view prints its address");
  }
  Response response(http::status::ok, request.version());
  response.set(http::field::content_type, "text/html; charset=utf-8");
  // The rest of the policy is in the page.
  response.set("Content-Security-Policy", "frame-ancestors 'none'");
  if (request.method() != http::verb::head) response.body() = site.page();
  return response;
}

// One connection: a request after the other.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Site* site) : stream_(std::move(socket)), site_(*site) {
    ++site_.connections;
  }
  ~Connection() { --site_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(0);
    stream_.expires_after(kMostWait);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
  }

 private:
  void on_read(beast::error_code error) {
    if (error) return;  // ended, too large, too slow: the connection closes
    const Request& request = parser_->get();
    response_ = answer(site_, request);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Referrer-Policy", "no-referrer");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    response_.keep_alive(request.keep_alive());
    response_.prepare_payload();
    stream_.expires_after(kMostWait);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code failed, size_t) {
      if (!failed && self->response_.keep_alive()) self->read();
    });
  }

  beast::tcp_stream stream_;
  Site& site_;
  beast::flat_buffer buffer_{size_t{2} * kMostHeaderBytes};
  std::optional<http::request_parser<http::empty_body>> parser_;
  Response response_;
};

}  // namespace

class PageServer::State {
 public:
  State(std::function<std::string()> page, uint16_t port) : acceptor_(context_) {
    site_.page = std::move(page);
    site_.path = "/" + random_token() + "/";
    const Tcp::endpoint wanted(asio::ip::address_v4::loopback(), port);
    beast::error_code error;
    acceptor_.open(wanted.protocol(), error);
    if (!error) acceptor_.bind(wanted, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    const Tcp::endpoint bound = error ? wanted : acceptor_.local_endpoint(error);
    if (error) {
      throw Failure("view: 127.0.0.1" + (port == 0 ? "" : ":" + std::to_string(port)) +
                    ": cannot listen there: " + error.message() +
                    (port == 0 ? "" : "; without --port any that is free is taken"));
    }
    site_.host = "127.0.0.1:" + std::to_string(bound.port());
    site_.local_host = "localhost:" + std::to_string(bound.port());
    url_ = "http://" + site_.host + site_.path;
    // From here on: who has the address may end the server.
    signals_.async_wait([this](beast::error_code failed, int) {
      if (!failed) context_.stop();
    });
  }

  const std::string& url() const { return url_; }

  void serve() {
    accept();
    context_.run();
  }

  void stop() { context_.stop(); }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, Tcp::socket socket) {
      if (!error && site_.connections < kMostConnections) {
        std::make_shared<Connection>(std::move(socket), &site_)->read();
      }
      accept();
    });
  }

  Site site_;  // before the context, whose connections name it
  asio::io_context context_{1};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  Tcp::acceptor acceptor_;
  std::string url_;
};

PageServer::PageServer(std::function<std::string()> page, uint16_t port)
    : state_(std::make_unique<State>(std::move(page), port)) {}

PageServer::~PageServer() = default;

const std::string& PageServer::url() const {
  return state_->url();
}

void PageServer::serve() {
  state_->serve();
}

void PageServer::stop() {
  state_->stop();
}

}  // namespace memprof::cli
