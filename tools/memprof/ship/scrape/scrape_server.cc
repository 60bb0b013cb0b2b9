// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/scrape/scrape_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "memprof/console/failure.h"
#include "memprof/host/process/roomy_thread.h"
#include "memprof/io/http/metric_text.h"
#include "memprof/ship/debuginfo/build_request.h"
#include "memprof/ship/debuginfo/debuginfo_server.h"
#include "memprof/ship/scrape/scraped_heap.h"

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMaxWaiting = 16;  // profiles that are asked for and not made yet
constexpr size_t kMaxKnown = 32;      // so many profiles, of 3.5 MiB at most, may wait for slow readers
constexpr std::chrono::seconds kMaxRest(1);
constexpr char kPaths[] = "/debug/pprof/heap, /debug/pprof/allocs, /targets, /metrics, /healthz, /readyz";
constexpr char kBuildPaths[] = ", /buildid/ID/debuginfo, /buildid/ID/executable";

// What a profile, or the list of targets, is answered with.
struct Made {
  http::status status = http::status::ok;
  std::string type, body;
};

}  // namespace

class ScrapeServer::State : public HttpSite {
 public:
  State(const HttpAddress& address, const ScrapedShipper& shipper)
      : shipper_(shipper),
        server_(&context_, this, address, "ship", "end who listens there, or take another port", kMaxKnown) {
    if (shipper.serves_debuginfo) debuginfo_ = std::make_unique<DebuginfoServer>(&context_);
  }
  ~State() override {
    if (debuginfo_ != nullptr) debuginfo_->stop();
    makers_.stop();
    context_.stop();
    maker_.join();
    thread_.join();
  }

  void start() {
    server_.start();
    const bool are_there = (debuginfo_ == nullptr || debuginfo_->start()) &&
                           thread_.start([this] { context_.run(); }) &&
                           maker_.start([this] { makers_.run(); });
    if (!are_there) throw Failure("ship: the system gives no thread (ulimit -u, ulimit -v)", 1);
  }

  void watch(ShippedProcesses& processes) {
    if (debuginfo_ == nullptr) return;
    std::vector<WatchedProcess> watched;
    for (const auto& [arena, process] : processes.all()) {
      if (process.looks == nullptr) continue;
      watched.push_back({process.looks->process().pid, process.looks->process().root});
    }
    debuginfo_->watch(std::move(watched));
  }

  const HttpServer& server() const { return server_; }
  std::string metrics() const {
    std::string text;
    add_metric("ship_scrapes_total", "counter", "Profiles that scrapers got.", static_cast<double>(served_),
               &text);
    add_metric("ship_scrapes_failed_total", "counter",
               "Profiles and lists that scrapers asked for and did not get.", static_cast<double>(failed_),
               &text);
    return text + (debuginfo_ != nullptr ? debuginfo_->metrics() : "");
  }

  bool knows(const HttpRequest& request) const override {
    const std::string path(request.target().substr(0, request.target().find('?')));
    return is_for_us(request) &&
           (is_made(path) || path == "/metrics" || path == "/healthz" || path == "/readyz");
  }

  bool takes_over(const HttpRequest& request, boost::beast::tcp_stream* stream) override {
    return is_for_files(request) && is_for_us(request) && debuginfo_->takes_over(request, stream);
  }

  void answer(const HttpRequest& request, const Send& send) override {
    if (!is_for_us(request)) {
      return send(text_response(request, http::status::misdirected_request,
                                "this server is for this machine; ask for " + server_.host()));
    }
    if (is_for_files(request)) return send(debuginfo_->refuse(request));
    ScrapeQuery query;
    try {
      query = parse_scrape_query(std::string_view(request.target().data(), request.target().size()));
    } catch (const ScrapeRefusal& refusal) {
      if (knows(request)) ++failed_;
      return send(text_response(request, http::int_to_status(refusal.status()), refusal.what()));
    }
    if (is_made(query.path)) return make(request, std::move(query), send);
    if (query.path == "/healthz") return send(state_response(request, shipper_.health->not_well()));
    if (query.path == "/readyz") return send(state_response(request, shipper_.health->not_ready()));
    if (query.path != "/metrics") {
      return send(text_response(request, http::status::not_found,
                                std::string("there is no such page; there are: ") + kPaths +
                                    (debuginfo_ != nullptr ? kBuildPaths : "")));
    }
    HttpResponse response(http::status::ok, request.version());
    response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    if (request.method() != http::verb::head) response.body() = shipper_.metrics() + metrics();
    send(std::move(response));
  }

 private:
  static bool is_made(const std::string& path) {
    return path == kHeapPath || path == kAllocsPath || path == "/targets";
  }

  bool is_for_files(const HttpRequest& request) const {
    return debuginfo_ != nullptr && is_build_path({request.target().data(), request.target().size()});
  }

  // Elsewhere a machine has names that it does not know of.
  bool is_for_us(const HttpRequest& request) const {
    return !server_.hosts().are_local() ||
           server_.hosts().are_named_by(std::string(request[http::field::host]));
  }

  static HttpResponse state_response(const HttpRequest& request, const std::string& problem) {
    return text_response(request, problem.empty() ? http::status::ok : http::status::service_unavailable,
                         problem.empty() ? "ok" : problem);
  }

  void make(const HttpRequest& request, ScrapeQuery query, const Send& send) {
    if (waiting_ >= kMaxWaiting) {
      ++failed_;
      HttpResponse response = text_response(request, http::status::service_unavailable,
                                            "too many profiles are asked for; come again");
      response.set(http::field::retry_after, "1");
      return send(std::move(response));
    }
    ++waiting_;
    std::string host(request[http::field::host]);
    if (host.empty()) host = server_.host();
    asio::post(makers_, [this, send, query = std::move(query), host = std::move(host),
                         version = request.version(), is_head = request.method() == http::verb::head] {
      Made made = make_now(query, host);
      HttpResponse response(made.status, version);
      response.set(http::field::content_type, made.type);
      if (!is_head) response.body() = std::move(made.body);
      asio::post(context_, [this, send, answer = std::move(response)]() mutable {
        --waiting_;
        send(std::move(answer));
      });
    });
  }

  // In the thread of makers_.
  Made make_now(const ScrapeQuery& query, const std::string& host) {
    std::this_thread::sleep_until(rested_);
    Made made;
    const auto start = Clock::now();
    try {
      const std::lock_guard<std::mutex> lock(*shipper_.processes_mutex);
      if (query.path == "/targets") {
        if (!query.parameters.empty()) throw ScrapeRefusal(kHttpBadRequest, "/targets has no parameters");
        made = {http::status::ok, "application/json", scrape_targets(*shipper_.processes, host)};
      } else {
        const auto metric =
            query.path == kAllocsPath ? profile::Metric::kAllocSpace : profile::Metric::kInuseSpace;
        made = {http::status::ok, "application/octet-stream",
                scraped_heap(*shipper_.processes, query, metric)};
        ++served_;
      }
    } catch (const ScrapeRefusal& refusal) {
      ++failed_;
      made = {http::int_to_status(refusal.status()), "text/plain; charset=utf-8",
              std::string(refusal.what()) + "\n"};
    } catch (const std::exception& error) {
      ++failed_;
      made = {http::status::internal_server_error, "text/plain; charset=utf-8",
              std::string(error.what()) + "\n"};
    }
    const auto now = Clock::now();
    rested_ = now + std::min<Clock::duration>(now - start, kMaxRest);
    return made;
  }

  const ScrapedShipper shipper_;
  std::atomic<uint64_t> served_{0};
  std::atomic<uint64_t> failed_{0};
  asio::io_context context_{1};
  unsigned waiting_ = 0;        // of the thread of context_
  Clock::time_point rested_{};  // of the other
  asio::io_context makers_{1};  // after context_, whose connections wait in it
  asio::executor_work_guard<asio::io_context::executor_type> stays_{makers_.get_executor()};
  HttpServer server_;
  std::unique_ptr<DebuginfoServer> debuginfo_;  // nullptr: no files are served
  RoomyThread thread_;
  RoomyThread maker_;
};

ScrapeServer::ScrapeServer(const HttpAddress& address, const ScrapedShipper& shipper)
    : state_(std::make_unique<State>(address, shipper)) {}

ScrapeServer::~ScrapeServer() = default;

void ScrapeServer::start() {
  state_->start();
}

std::string ScrapeServer::host() const {
  return state_->server().host();
}

bool ScrapeServer::is_local() const {
  return state_->server().hosts().are_local();
}

void ScrapeServer::watch(ShippedProcesses& processes) {
  state_->watch(processes);
}

std::string ScrapeServer::metrics() const {
  return state_->metrics();
}

}  // namespace memprof::cli
