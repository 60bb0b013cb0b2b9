// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/page_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <list>
#include <memory>
#include <random>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "memprof/console/failure.h"
#include "memprof/serve/event_stream.h"
#include "memprof/serve/host_names.h"

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

// Connections that have not named the token yet, and those that have: a browser has up to six of these.  Of each kind the
// oldest makes room for a new one.
constexpr size_t kMaxStrangers = 64;
constexpr size_t kMaxKnown = 128;
constexpr size_t kMaxViewers = 16;
constexpr uint32_t kMaxHeaderBytes = 8192;
constexpr std::chrono::seconds kMaxStrangersWait(5);
constexpr std::chrono::seconds kMaxWait(30);
constexpr std::chrono::milliseconds kPauseOfAccept(50);  // after an error, such as too many open files
constexpr std::chrono::seconds kQuestions(15);           // whether a viewer is there still

std::string random_token() {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kTokenDigits = 32;
  std::random_device random;
  std::string token;
  for (size_t i = 0; i < kTokenDigits; ++i) token += kDigits[random() % 16];
  return token;
}

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

class Connection;

// What a server answers with.
struct Site {
  PageSource* source = nullptr;
  const SourceFiles* sources = nullptr;
  std::string path;  // of the page
  HostNames hosts;
  std::list<Connection*> strangers;  // the oldest first
  std::list<Connection*> known;      // those that named the token; the one that was idle for longest first
  std::vector<std::weak_ptr<EventStream>> viewers;
  std::function<void()> changed;  // the page was looked at, or viewers came or went
};

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

Response plain(const Request& request, http::status status, const std::string& text) {
  Response response(status, request.version());
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.body() = request.method() == http::verb::head ? "" : text + "\n";
  return response;
}

// Whether the request is for this server and names its token: all others get 404 at most.
bool names_token(const Site& site, const Request& request) {
  return site.hosts.are_named_by(std::string(request[http::field::host])) &&
         request.target().substr(0, site.path.size()) == site.path;
}

Response saved(const Request& request, const PageFile& file) {
  Response response(http::status::ok, request.version());
  response.set(http::field::content_type, file.type);
  response.set(http::field::content_disposition, "attachment; filename=\"" + file.name + "\"");
  if (request.method() != http::verb::head) response.body() = file.content;
  return response;
}

bool asks_for_events(const Site& site, const Request& request) {
  return site.source->is_live() && request.method() == http::verb::get && names_token(site, request) &&
         std::string(request.target()) == site.path + "events";
}

void set_common_fields(http::fields* fields) {
  fields->set(http::field::cache_control, "no-store");
  fields->set("X-Content-Type-Options", "nosniff");
  fields->set("Referrer-Policy", "no-referrer");
  fields->set("Cross-Origin-Resource-Policy", "same-origin");
}

Response answer(Site& site, const Request& request) {
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    Response response = plain(request, http::status::method_not_allowed, "only GET");
    response.set(http::field::allow, "GET, HEAD");
    return response;
  }
  const std::string target(request.target());
  const bool is_below = names_token(site, request);
  if (is_below && target != site.path) {
    const std::string name = target.substr(site.path.size());
    if (const auto file = site.source->file(name)) return saved(request, *file);
    if (site.sources != nullptr) {
      if (const auto file = site.sources->file(name)) return saved(request, *file);
    }
  }
  if (!is_below || target != site.path) {
    return plain(request, http::status::not_found, "no such page; memprof view prints its address");
  }
  Response response(http::status::ok, request.version());
  response.set(http::field::content_type, "text/html; charset=utf-8");
  // The rest of the policy is in the page.
  response.set("Content-Security-Policy", "frame-ancestors 'none'");
  if (request.method() != http::verb::head) {
    response.body() = site.source->page();
    site.changed();
  }
  return response;
}

// One connection: a request after the other, for as long as they name the token.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Site* site) : stream_(std::move(socket)), site_(*site) {
    put_into(&site_.strangers, kMaxStrangers);
  }
  ~Connection() { leave_list(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_ = std::make_unique<http::request_parser<http::empty_body>>();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(0);
    stream_.expires_after(list_ == &site_.strangers ? kMaxStrangersWait : kMaxWait);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
  }

 private:
  void leave_list() {
    if (list_ != nullptr) list_->erase(place_);
    list_ = nullptr;
  }

  // At the end of one of the site's lists.  The first of a full one is closed, and goes when its reading has failed.
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
    const Request& request = parser_->get();
    const bool is_known = names_token(site_, request);
    if (is_known) put_into(&site_.known, kMaxKnown);
    if (asks_for_events(site_, request)) return begin_events(request);
    response_ = answer(site_, request);
    set_common_fields(&response_);
    response_.keep_alive(request.keep_alive() && is_known);
    response_.prepare_payload();
    stream_.expires_after(is_known ? kMaxWait : kMaxStrangersWait);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code failed, size_t) {
      if (!failed && self->response_.keep_alive()) self->read();
    });
  }

  void begin_events(const Request& request) {
    size_t viewers = 0;
    for (const auto& viewer : site_.viewers) viewers += viewer.expired() ? 0 : 1;
    if (viewers >= kMaxViewers) {
      response_ = plain(request, http::status::service_unavailable, "too many viewers");
      response_.keep_alive(false);
      response_.prepare_payload();
      http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, size_t) {});
      return;
    }
    // No length: it ends when the connection does.
    http::response<http::empty_body> response(http::status::ok, request.version());
    response.set(http::field::content_type, "text/event-stream");
    set_common_fields(&response);
    response.keep_alive(false);
    std::ostringstream header;
    header << response.base();
    const ViewerPlace place = site_.source->place_after(std::string(request["Last-Event-ID"]));
    const auto viewer = std::make_shared<EventStream>(std::move(stream_), site_.source, place, site_.changed);
    site_.viewers.push_back(viewer);
    viewer->begin(header.str());
    site_.changed();
  }

  beast::tcp_stream stream_;
  Site& site_;
  std::list<Connection*>* list_ = nullptr;  // of the site's, the one that it is in
  std::list<Connection*>::iterator place_;
  beast::flat_buffer buffer_{size_t{2} * kMaxHeaderBytes};
  std::unique_ptr<http::request_parser<http::empty_body>> parser_;  // of the request that is read
  Response response_;
};

}  // namespace

class PageServer::State {
 public:
  State(PageSource* source, const PageAddress& address, const SourceFiles* sources) : acceptor_(context_) {
    site_.source = source;
    site_.sources = sources;
    site_.path = "/" + random_token() + "/";
    site_.changed = [this] { look_when_wanted(); };
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
    const std::string end = ":" + std::to_string(bound.port());
    if (error) {
      throw Failure("view: " + in_url(wanted.address()) + (address.port == 0 ? "" : end) +
                    ": cannot listen there: " + error.message() +
                    (address.port == 0 ? "" : "; without --port any that is free is taken"));
    }
    beast::error_code unknown;
    site_.hosts = HostNames(bound.address().to_string(), asio::ip::host_name(unknown));
    url_ = "http://" + site_.hosts.shown() + end + site_.path;
    // From here on: who has the address may end the server.
    signals_.async_wait([this](beast::error_code failed, int) {
      if (!failed) context_.stop();
    });
  }

  const std::string& url() const { return url_; }

  bool is_local() const { return site_.hosts.are_local(); }

  void serve() {
    accept();
    ask_viewers();
    look_when_wanted();
    context_.run();
  }

  void stop() { context_.stop(); }

 private:
  bool has_viewers() {
    auto& viewers = site_.viewers;
    viewers.erase(std::remove_if(viewers.begin(), viewers.end(),
                                 [](const std::weak_ptr<EventStream>& viewer) {
                                   const auto known = viewer.lock();
                                   return known == nullptr || !known->is_open();
                                 }),
                  viewers.end());
    return !viewers.empty();
  }

  void for_each_viewer(void (EventStream::*act)()) {
    // One that closes changes the list.
    const std::vector<std::weak_ptr<EventStream>> viewers = site_.viewers;
    for (const auto& viewer : viewers) {
      if (const auto known = viewer.lock()) (known.get()->*act)();
    }
  }

  void look_when_wanted() {
    for_each_viewer(&EventStream::tell);
    const auto next = site_.source->next_look(has_viewers());
    if (!next) {
      looks_.cancel();
      return;
    }
    looks_.expires_at(*next);
    looks_.async_wait([this](beast::error_code changed) {
      if (changed) return;
      const auto now_wanted = site_.source->next_look(has_viewers());
      if (now_wanted && *now_wanted <= PageSource::Clock::now()) site_.source->look();
      look_when_wanted();
    });
  }

  void ask_viewers() {
    questions_.expires_after(kQuestions);
    questions_.async_wait([this](beast::error_code error) {
      if (error) return;
      for_each_viewer(&EventStream::ask_whether_there);
      ask_viewers();
    });
  }

  void accept() {
    acceptor_.async_accept([this](beast::error_code error, Tcp::socket socket) {
      if (error) return accept_later();
      std::make_shared<Connection>(std::move(socket), &site_)->read();
      accept();
    });
  }

  void accept_later() {
    pauses_.expires_after(kPauseOfAccept);
    pauses_.async_wait([this](beast::error_code error) {
      if (!error) accept();
    });
  }

  Site site_;  // before the context, whose connections name it
  asio::io_context context_{1};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  asio::steady_timer looks_{context_};
  asio::steady_timer questions_{context_};
  asio::steady_timer pauses_{context_};
  Tcp::acceptor acceptor_;
  std::string url_;
};

PageServer::PageServer(PageSource* source, const PageAddress& address, const SourceFiles* sources)
    : state_(std::make_unique<State>(source, address, sources)) {}

PageServer::~PageServer() = default;

const std::string& PageServer::url() const {
  return state_->url();
}

bool PageServer::is_local() const {
  return state_->is_local();
}

void PageServer::serve() {
  state_->serve();
}

void PageServer::stop() {
  state_->stop();
}

}  // namespace memprof::cli
