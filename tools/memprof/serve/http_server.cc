// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/http_server.h"

#include <boost/asio/ip/host_name.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <utility>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr size_t kMaxStrangers = 64;
constexpr uint32_t kMaxHeaderBytes = 8192;
constexpr std::chrono::seconds kMaxStrangersWait(5);
constexpr std::chrono::seconds kMaxWait(30);
constexpr std::chrono::milliseconds kPauseOfAccept(50);  // after an error, such as too many open files

asio::ip::address parse_address(const std::string& text) {
  beast::error_code error;
  const asio::ip::address address = asio::ip::make_address(text, error);
  if (error) {
    throw Failure("--listen: '" + text + "' is not an IP address; 0.0.0.0 means all that this machine has");
  }
  return address;
}

std::string in_url(const asio::ip::address& address) {
  return address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
}

}  // namespace

HttpResponse text_response(const HttpRequest& request, http::status status, const std::string& text) {
  HttpResponse response(status, request.version());
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.body() = request.method() == http::verb::head ? "" : text + "\n";
  return response;
}

void set_common_fields(http::fields* fields) {
  fields->set(http::field::cache_control, "no-store");
  fields->set("X-Content-Type-Options", "nosniff");
  fields->set("Referrer-Policy", "no-referrer");
  fields->set("Cross-Origin-Resource-Policy", "same-origin");
}

struct HttpServer::Connections {
  size_t max_known = 0;
  std::list<Connection*> strangers;  // the oldest first
  std::list<Connection*> known;      // the one that was idle for longest first
};

// One request after the other, for as long as the site knows them.
class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, HttpSite* site, std::shared_ptr<Connections> all)
      : stream_(std::move(socket)), site_(*site), all_(std::move(all)) {
    put_into(&all_->strangers, kMaxStrangers);
  }
  ~Connection() { leave_list(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_ = std::make_unique<http::request_parser<http::empty_body>>();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(0);
    stream_.expires_after(list_ == &all_->strangers ? kMaxStrangersWait : kMaxWait);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
  }

 private:
  void leave_list() {
    if (list_ != nullptr) list_->erase(place_);
    list_ = nullptr;
  }

  // At the end of one of the lists.  The first of a full one is closed, and goes when what it waits for has failed.
  void put_into(std::list<Connection*>* list, size_t max) {
    leave_list();
    if (list->size() >= max) {
      Connection* const oldest = list->front();
      oldest->leave_list();
      oldest->stream_.close();
    }
    list_ = list;
    place_ = list->insert(list->end(), this);
  }

  void on_read(beast::error_code error) {
    if (error) return;  // ended, too large, too slow: the connection closes
    const HttpRequest& request = parser_->get();
    is_known_ = site_.knows(request);
    if (is_known_) put_into(&all_->known, all_->max_known);
    if (site_.takes_over(request, &stream_)) return;
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      HttpResponse response = text_response(request, http::status::method_not_allowed, "only GET");
      response.set(http::field::allow, "GET, HEAD");
      return send(std::move(response));
    }
    stream_.expires_never();  // the site takes its time
    site_.answer(request,
                 [self = shared_from_this()](HttpResponse response) { self->send(std::move(response)); });
  }

  void send(HttpResponse response) {
    const HttpRequest& request = parser_->get();
    response_ = std::move(response);
    set_common_fields(&response_);
    const bool is_last = response_[http::field::connection] == "close";
    response_.keep_alive(request.keep_alive() && is_known_ && !is_last);
    response_.prepare_payload();
    keeps_on_ = response_.keep_alive();
    stream_.expires_after(is_known_ ? kMaxWait : kMaxStrangersWait);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code failed, size_t) {
      self->response_ = {};
      if (!failed && self->keeps_on_) self->read();
    });
  }

  beast::tcp_stream stream_;
  HttpSite& site_;
  const std::shared_ptr<Connections> all_;
  std::list<Connection*>* list_ = nullptr;  // the one that it is in
  std::list<Connection*>::iterator place_;
  beast::flat_buffer buffer_{size_t{2} * kMaxHeaderBytes};
  std::unique_ptr<http::request_parser<http::empty_body>> parser_;  // of the request that is read
  bool is_known_ = false;
  bool keeps_on_ = false;
  HttpResponse response_;
};

HttpServer::HttpServer(asio::io_context* context, HttpSite* site, const HttpAddress& address,
                       const std::string& command, const std::string& hint, size_t max_known)
    : site_(*site), connections_(std::make_shared<Connections>()), pauses_(*context), acceptor_(*context) {
  connections_->max_known = max_known;
  const Tcp::endpoint wanted(parse_address(address.address), address.port);
  beast::error_code error;
  try {
    acceptor_.open(wanted.protocol());
    acceptor_.bind(wanted);
    acceptor_.listen();
  } catch (const beast::system_error& failed) {
    error = failed.code();
  }
  const Tcp::endpoint bound = error ? wanted : acceptor_.local_endpoint(error);
  if (error) {
    const bool is_any = address.port == 0;
    throw Failure(command + ": " + in_url(wanted.address()) +
                  (is_any ? "" : ":" + std::to_string(address.port)) +
                  ": cannot listen there: " + error.message() + (is_any || hint.empty() ? "" : "; " + hint));
  }
  beast::error_code unknown;
  hosts_ = HostNames(bound.address().to_string(), asio::ip::host_name(unknown));
  port_ = bound.port();
}

void HttpServer::accept() {
  acceptor_.async_accept([this](beast::error_code error, Tcp::socket socket) {
    if (error) return accept_later();
    std::make_shared<Connection>(std::move(socket), &site_, connections_)->read();
    accept();
  });
}

void HttpServer::accept_later() {
  pauses_.expires_after(kPauseOfAccept);
  pauses_.async_wait([this](beast::error_code error) {
    if (!error) accept();
  });
}

}  // namespace memprof::cli
