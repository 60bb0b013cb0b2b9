// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/page_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "memprof/serve/event_stream.h"
#include "memprof/serve/host_names.h"
#include "memprof/serve/http_server.h"

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr size_t kMaxViewers = 16;
constexpr std::chrono::seconds kQuestions(15);  // whether a viewer is there still

std::string random_token() {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kTokenDigits = 32;
  std::random_device random;
  std::string token;
  for (size_t i = 0; i < kTokenDigits; ++i) token += kDigits[random() % 16];
  return token;
}

HttpResponse saved(const HttpRequest& request, const PageFile& file) {
  HttpResponse response(http::status::ok, request.version());
  response.set(http::field::content_type, file.type);
  response.set(http::field::content_disposition, "attachment; filename=\"" + file.name + "\"");
  if (request.method() != http::verb::head) response.body() = file.content;
  return response;
}

// What a server answers with.
class Site : public HttpSite {
 public:
  PageSource* source = nullptr;
  const SourceFiles* sources = nullptr;
  std::string path;  // of the page
  const HostNames* hosts = nullptr;
  std::vector<std::weak_ptr<EventStream>> viewers;
  std::function<void()> changed;  // the page was looked at, or viewers came or went

  // Whether the request is for this server and names its token: all others get 404 at most.
  bool knows(const HttpRequest& request) const override {
    return hosts->are_named_by(std::string(request[http::field::host])) &&
           request.target().substr(0, path.size()) == path;
  }
  void answer(const HttpRequest& request, const Send& send) override { send(answer_to(request)); }
  bool takes_over(const HttpRequest& request, beast::tcp_stream* stream) override {
    if (!asks_for_events(request) || is_full()) return false;
    // No length: it ends when the connection does.
    http::response<http::empty_body> response(http::status::ok, request.version());
    response.set(http::field::content_type, "text/event-stream");
    set_common_fields(&response);
    response.keep_alive(false);
    std::ostringstream header;
    header << response.base();
    const ViewerPlace place = source->place_after(std::string(request["Last-Event-ID"]));
    const auto viewer = std::make_shared<EventStream>(std::move(*stream), source, place, changed);
    viewers.push_back(viewer);
    viewer->begin(header.str());
    changed();
    return true;
  }

 private:
  bool asks_for_events(const HttpRequest& request) const {
    return source->is_live() && request.method() == http::verb::get && knows(request) &&
           std::string(request.target()) == path + "events";
  }
  bool is_full() const {
    size_t count = 0;
    for (const auto& viewer : viewers) count += viewer.expired() ? 0 : 1;
    return count >= kMaxViewers;
  }

  HttpResponse answer_to(const HttpRequest& request) {
    if (asks_for_events(request)) {
      HttpResponse response = text_response(request, http::status::service_unavailable, "too many viewers");
      response.set(http::field::connection, "close");
      return response;
    }
    const std::string target(request.target());
    const bool is_below = knows(request);
    if (is_below && target != path) {
      const std::string name = target.substr(path.size());
      if (const auto file = source->file(name)) return saved(request, *file);
      if (sources != nullptr) {
        if (const auto file = sources->file(name)) return saved(request, *file);
      }
    }
    if (!is_below || target != path) {
      return text_response(request, http::status::not_found, "no such page; memprof view prints its address");
    }
    HttpResponse response(http::status::ok, request.version());
    response.set(http::field::content_type, "text/html; charset=utf-8");
    // The rest of the policy is in the page.
    response.set("Content-Security-Policy", "frame-ancestors 'none'");
    if (request.method() != http::verb::head) {
      response.body() = source->page();
      changed();
    }
    return response;
  }
};

}  // namespace

class PageServer::State {
 public:
  State(PageSource* source, const PageAddress& address, const SourceFiles* sources)
      : server_(&context_, &site_, address, "view", "without --port any that is free is taken") {
    site_.source = source;
    site_.sources = sources;
    site_.path = "/" + random_token() + "/";
    site_.hosts = &server_.hosts();
    site_.changed = [this] { look_when_wanted(); };
    url_ = "http://" + server_.host() + site_.path;
    // From here on: who has the address may end the server.
    signals_.async_wait([this](beast::error_code failed, int) {
      if (!failed) context_.stop();
    });
  }

  const std::string& url() const { return url_; }

  bool is_local() const { return server_.hosts().are_local(); }

  void serve() {
    server_.start();
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

  Site site_;  // before the context, whose connections name it
  asio::io_context context_{1};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  asio::steady_timer looks_{context_};
  asio::steady_timer questions_{context_};
  HttpServer server_;
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
