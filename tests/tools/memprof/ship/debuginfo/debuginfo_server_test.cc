// SPDX-License-Identifier: Apache-2.0
// Real processes and clients: tests/e2e/ship_debuginfo_test.py.
#include "memprof/ship/debuginfo/debuginfo_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/memprof/process.h"
#include "tests/tools/memprof/serve/http_client.h"
#include "tests/tools/memprof/ship/debuginfo/elf_text.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_tools::HttpClient;
using testing_tools::request_of;

constexpr char kPath[] = "/buildid/0123456789abcdef/executable";
constexpr size_t kSize = size_t{40} << 20;  // more than sockets hold

class Site : public HttpSite {
 public:
  explicit Site(DebuginfoServer* files) : files_(*files) {}
  bool knows(const HttpRequest&) const override { return false; }
  bool takes_over(const HttpRequest& request, boost::beast::tcp_stream* stream) override {
    return files_.takes_over(request, stream);
  }
  void answer(const HttpRequest& request, const Send& send) override { send(files_.refuse(request)); }

 private:
  DebuginfoServer& files_;
};

// Of a program of 40 MB that this process has mapped.
class DebuginfoServerTest : public testing::Test {
 protected:
  DebuginfoServerTest() {
    testing_tools::ElfText elf;
    elf.id = "\x01\x23\x45\x67\x89\xab\xcd\xef";
    elf.more_bytes = kSize;
    bytes_ = elf.bytes();
    testing_tools::write_file(path_, bytes_);
    const profile::Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    pages_ = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
    server_.start();
    thread_ = std::thread([this] { context_.run(); });
    EXPECT_TRUE(files_.start());
    files_.watch({{static_cast<uint64_t>(getpid()), ""}});
  }
  ~DebuginfoServerTest() override {
    files_.stop();
    context_.stop();
    thread_.join();
    munmap(pages_, 4096);
  }

  std::string get(const std::string& target, const std::string& method = "GET") const {
    return testing_tools::answer_of(server_.port(), target, "127.0.0.1", method);
  }
  // Waits until the metrics have this line.
  void wait_for(const std::string& line) const {
    for (int i = 0; i < 3000 && files_.metrics().find("\n" + line + "\n") == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_THAT(files_.metrics(), HasSubstr("\n" + line + "\n"));
  }

  testing_tools::Folder folder_;
  const std::string path_ = folder_ / "shop\x01";
  std::string bytes_;
  void* pages_ = nullptr;
  boost::asio::io_context context_{1};
  DebuginfoServer files_{&context_, BuildFiles(folder_ / "debug")};
  Site site_{&files_};
  HttpServer server_{&context_, &site_, HttpAddress{}, "test", ""};
  std::thread thread_;
};

TEST_F(DebuginfoServerTest, ServesAFileWhole) {
  const std::string answer = get(kPath);
  EXPECT_THAT(answer.substr(0, 2000), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer.substr(0, 2000), HasSubstr("\r\nContent-Type: application/octet-stream\r\n"));
  EXPECT_THAT(answer.substr(0, 2000), HasSubstr("\r\nX-DEBUGINFOD-FILE: shop?\r\n"));
  EXPECT_THAT(answer.substr(0, 2000), HasSubstr("\r\nX-DEBUGINFOD-SIZE: " + std::to_string(bytes_.size())));
  EXPECT_TRUE(answer.substr(answer.find("\r\n\r\n") + 4) == bytes_);
  wait_for("memprof_ship_debuginfo_served_total 1");
  wait_for("memprof_ship_debuginfo_bytes_total " + std::to_string(bytes_.size()));
}

TEST_F(DebuginfoServerTest, HeadHasNoBody) {
  const std::string answer = get(kPath, "HEAD");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: " + std::to_string(bytes_.size())));
  EXPECT_EQ(answer.find("\r\n\r\n") + 4, answer.size());
  const std::string missing = get("/buildid/ffffffff/debuginfo", "HEAD");
  EXPECT_THAT(missing, StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(missing.find("\r\n\r\n") + 4, missing.size());
  EXPECT_THAT(files_.metrics(), HasSubstr("\nmemprof_ship_debuginfo_served_total 0\n"));
}

TEST_F(DebuginfoServerTest, WhatIsNotThereIsCounted) {
  EXPECT_THAT(get("/buildid/ffffffff/executable"), HasSubstr("no watched process has a file"));
  wait_for("memprof_ship_debuginfo_not_found_total 1");
  EXPECT_THAT(get("/buildid/../../etc/passwd"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(get("/buildid/0123456789abcdef/source/a.c"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get(kPath, "DELETE"), StartsWith("HTTP/1.1 405 "));
  wait_for("memprof_ship_debuginfo_refused_total 2");
  EXPECT_THAT(get(kPath, "HEAD"), StartsWith("HTTP/1.1 200 "));
  testing_tools::write_file(path_, std::string(5000, 'x'));
  EXPECT_THAT(get(kPath), HasSubstr("the file with this build id was replaced"));
  wait_for("memprof_ship_debuginfo_replaced_total 1");
}

TEST_F(DebuginfoServerTest, AFileThatIsCutEndsTheConnection) {
  const HttpClient client(server_.port());
  client.say(request_of("GET", kPath, "127.0.0.1"));
  client.hear("\r\n\r\n");
  std::filesystem::resize_file(path_, size_t{1} << 20);
  EXPECT_LT(client.hear().size(), kSize);
  wait_for("memprof_ship_debuginfo_broken_total 1");
  EXPECT_THAT(files_.metrics(), HasSubstr("\nmemprof_ship_debuginfo_served_total 0\n"));
}

TEST_F(DebuginfoServerTest, WhoGoesAwayOrDoesNotReadStopsNobody) {
  {
    const HttpClient client(server_.port());
    client.say(request_of("GET", kPath, "127.0.0.1"));
    client.hear("\r\n\r\n");
  }
  wait_for("memprof_ship_debuginfo_broken_total 1");
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (unsigned i = 0; i < kMaxDownloads; ++i) {
    slow.push_back(std::make_unique<HttpClient>(server_.port()));
    slow.back()->say(request_of("GET", kPath, "127.0.0.1"));
    slow.back()->hear("\r\n\r\n");
  }
  const std::string refused = get(kPath);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: 5\r\n"));
  slow.pop_back();
  wait_for("memprof_ship_debuginfo_broken_total 2");
  EXPECT_THAT(get(kPath).substr(0, 100), Not(HasSubstr("503")));
}  // and it ends while the others are on their way

}  // namespace
}  // namespace memprof::cli
