// SPDX-License-Identifier: Apache-2.0
// Real processes: tests/e2e/ship_listen_test.py.
#include "memprof/ship/scrape/scrape_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"
#include "tests/tools/memprof/serve/http_client.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_tools::HttpClient;
using testing_tools::request_of;

// Of a machine without processes.
class ScrapeServerTest : public testing::Test {
 protected:
  ScrapeServerTest() {
    setenv("MEMPROF_ARENA_DIR", folder_.path().c_str(), 1);
    processes_ = std::make_unique<ShippedProcesses>(LabelRules{}, std::vector<RunningProcess>{});
    server_ = make({"127.0.0.1", 0});
    server_->start();
    const std::string host = server_->host();
    port_ = static_cast<uint16_t>(std::stoi(host.substr(host.rfind(':') + 1)));
  }
  ~ScrapeServerTest() override {
    server_.reset();
    unsetenv("MEMPROF_ARENA_DIR");
  }

  std::unique_ptr<ScrapeServer> make(const HttpAddress& address) {
    ScrapedShipper shipper;
    shipper.processes = processes_.get();
    shipper.processes_mutex = &mutex_;
    shipper.health = &health_;
    shipper.metrics = [] { return std::string("own 1\n"); };
    return std::make_unique<ScrapeServer>(address, shipper);
  }
  std::string get(const std::string& target, const std::string& host = "127.0.0.1",
                  const std::string& method = "GET") const {
    return testing_tools::answer_of(port_, target, host, method);
  }

  testing_tools::Folder folder_;
  std::unique_ptr<ShippedProcesses> processes_;
  std::mutex mutex_;
  ShipHealth health_;
  std::unique_ptr<ScrapeServer> server_;
  uint16_t port_ = 0;
};

TEST_F(ScrapeServerTest, SaysHowTheShipperIs) {
  EXPECT_THAT(get("/healthz"), HasSubstr("200 OK"));
  EXPECT_THAT(get("/readyz"), HasSubstr("503 Service Unavailable"));
  EXPECT_THAT(get("/readyz"), HasSubstr("the first look is not done yet\n"));
  health_.begun();
  EXPECT_THAT(get("/readyz"), HasSubstr("200 OK"));
  EXPECT_EQ(health_.not_well(), "");
  EXPECT_EQ(health_.not_well(ShipHealth::Clock::now() + std::chrono::seconds(200)).substr(0, 27),
            "no look for processes since");
}

TEST_F(ScrapeServerTest, HasMetricsAndTargets) {
  EXPECT_THAT(get("/targets"), HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(get("/targets"), HasSubstr("\r\n\r\n[]\n"));
  EXPECT_THAT(get("/targets?a=1"), StartsWith("HTTP/1.1 400 "));
  const std::string metrics = get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(metrics, HasSubstr("\r\n\r\nown 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\nmemprof_ship_scrapes_total 0\n"));
  EXPECT_THAT(metrics, HasSubstr("\nmemprof_ship_scrapes_failed_total 1\n"));
  EXPECT_THAT(server_->metrics(), HasSubstr("\nmemprof_ship_scrapes_failed_total 1\n"));
}

TEST_F(ScrapeServerTest, WhatIsNotThereIsSaid) {
  EXPECT_THAT(get("/debug/pprof/heap"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/debug/pprof/allocs"), HasSubstr("no process that has memprof in it"));
  EXPECT_THAT(get("/debug/pprof/heap?a=%"), StartsWith("HTTP/1.1 400 "));
  for (const char* path : {"/", "/debug/pprof/profile", "/debug/pprof/heap/", "/metrics/"}) {
    const std::string answer = get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, HasSubstr("there are: /debug/pprof/heap, ")) << path;
  }
  EXPECT_THAT(get("/metrics", "127.0.0.1", "DELETE"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(ScrapeServerTest, AWebSiteThatNamesThisMachineGetsNothing) {
  for (const char* path : {"/debug/pprof/heap", "/targets", "/metrics", "/healthz"}) {
    const std::string answer = get(path, "rebound.example:" + std::to_string(port_));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 421 ")) << path;
    EXPECT_THAT(answer, HasSubstr(server_->host())) << path;
  }
  EXPECT_THAT(get("/healthz", "localhost:80"), HasSubstr("200 OK"));
}

TEST_F(ScrapeServerTest, TheOthersAreAnsweredWhileALookIsTaken) {
  std::unique_lock<std::mutex> look(mutex_);
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 16; ++i) {
    waiting.push_back(std::make_unique<HttpClient>(port_));
    waiting.back()->say(request_of("GET", "/targets", "localhost"));
  }
  EXPECT_THAT(get("/healthz"), HasSubstr("200 OK"));
  EXPECT_THAT(get("/metrics"), HasSubstr("own 1"));
  // They were read before these.
  const std::string refused = get("/targets");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1"));
  look.unlock();
  for (int i = 0; i < 16; ++i) EXPECT_THAT(waiting[i]->hear(), HasSubstr("[]\n")) << i;
}

TEST_F(ScrapeServerTest, ItEndsWithThoseThatWait) {
  const HttpClient half(port_), waiting(port_);
  half.say("GET /tar");
  std::unique_lock<std::mutex> look(mutex_);
  waiting.say(request_of("GET", "/targets", "localhost"));
  std::thread end([this] { server_.reset(); });
  look.unlock();
  end.join();
  waiting.hear();
  EXPECT_EQ(half.hear(), "");
}

TEST_F(ScrapeServerTest, SaysWhoReachesIt) {
  EXPECT_TRUE(server_->is_local());
  EXPECT_FALSE(make({"0.0.0.0", 0})->is_local());
  EXPECT_THROW(make({"127.0.0.1", port_}), Failure);
  EXPECT_THROW(make({"a.example", 0}), Failure);
}

}  // namespace
}  // namespace memprof::cli
