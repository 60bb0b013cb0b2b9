// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/debuginfo_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/io/http/metric_text.h"
#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"

namespace memprof::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

constexpr size_t kPartBytes = size_t{256} << 10;
constexpr std::chrono::seconds kMaxPartWait(30);
constexpr std::chrono::seconds kLookAgain(30);
constexpr std::chrono::seconds kLookAgainForUnknown(2);

std::string_view target_of(const HttpRequest& request) {
  return {request.target().data(), request.target().size()};
}

// In a header no byte may end it.
std::string header_text(const std::string& name) {
  std::string text;
  for (const char c : name) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

}  // namespace

struct DebuginfoServer::State {
  State(asio::io_context* connections, BuildFiles files_there)
      : context(*connections), files(std::move(files_there)) {}

  // In the thread of `readers`.
  void look() {
    std::vector<WatchedProcess> now;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      now = processes;
    }
    files.look(now);
    known = files.size();
    looked = Clock::now();
  }

  asio::io_context& context;
  std::mutex mutex;
  std::vector<WatchedProcess> processes;
  Clock::time_point next_look{};
  // Of the thread of `readers`.
  BuildFiles files;
  Clock::time_point looked{};

  const std::shared_ptr<std::atomic<unsigned>> downloads = std::make_shared<std::atomic<unsigned>>(0);
  std::atomic<uint64_t> served{0}, missing{0}, replaced{0}, refused{0}, broken{0}, bytes{0}, known{0};
  asio::io_context readers{1};
  asio::executor_work_guard<asio::io_context::executor_type> stays{readers.get_executor()};
  RoomyThread reader;
};

// One request, and the connection's last.
class DebuginfoServer::Download : public std::enable_shared_from_this<Download> {
 public:
  Download(beast::tcp_stream stream, State* state, BuildRequest request, unsigned version, bool is_head)
      : stream_(std::move(stream)),
        state_(*state),
        request_(std::move(request)),
        version_(version),
        is_head_(is_head),
        downloads_(state->downloads) {
    ++*downloads_;
  }
  ~Download() { --*downloads_; }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  void begin() {
    stream_.expires_never();
    asio::post(state_.readers, [self = shared_from_this()]() mutable {
      self->find();
      asio::io_context& context = self->state_.context;
      asio::post(context, [self = std::move(self)] { self->send_header(); });
    });
  }

 private:
  // In the thread of readers, as read().
  void find() {
    if (!state_.files.has(request_.build_id) && Clock::now() >= state_.looked + kLookAgainForUnknown) {
      state_.look();
    }
    file_ = state_.files.open(request_, &is_replaced_);
  }

  void send_header() {
    http::response<http::empty_body> response(file_ != nullptr ? http::status::ok : http::status::not_found,
                                              version_);
    set_common_fields(&response);
    response.keep_alive(false);
    if (file_ != nullptr) {
      response.set(http::field::content_type, "application/octet-stream");
      response.set("X-DEBUGINFOD-SIZE", std::to_string(file_->size_bytes));
      response.set("X-DEBUGINFOD-FILE", header_text(file_->name));
      response.content_length(file_->size_bytes);
    } else {
      ++(is_replaced_ ? state_.replaced : state_.missing);
      text_ = is_replaced_
                  ? "the file with this build id was replaced\n"
                  : "no watched process has a file with this build id, or it is not there any more\n";
      response.set(http::field::content_type, "text/plain; charset=utf-8");
      response.content_length(text_.size());
      if (is_head_) text_.clear();
    }
    std::ostringstream header;
    header << response.base();
    text_.insert(0, header.str());
    write(asio::buffer(text_));
  }

  void write(asio::const_buffer bytes) {
    stream_.expires_after(kMaxPartWait);
    asio::async_write(stream_, bytes, [self = shared_from_this()](beast::error_code error, size_t) {
      self->on_written(!error);
    });
  }

  void on_written(bool is_well) {
    if (file_ == nullptr || is_head_) return close();
    if (!is_well) {
      ++state_.broken;
      return;
    }
    state_.bytes += part_.size();
    sent_ += part_.size();
    if (sent_ == file_->size_bytes) {
      ++state_.served;
      return close();
    }
    stream_.expires_never();
    asio::post(state_.readers, [self = shared_from_this()]() mutable {
      const bool is_read = self->read();
      asio::io_context& context = self->state_.context;
      asio::post(context, [self = std::move(self), is_read] { self->on_part(is_read); });
    });
  }

  void on_part(bool is_read) {
    if (is_read) return write(asio::buffer(part_));
    ++state_.broken;  // the client sees less than the length that it was told
  }

  // false: the file was cut, or written to.
  bool read() {
    struct stat status{};
    const int fd = file_->descriptor.get();
    part_.resize(std::min<uint64_t>(kPartBytes, file_->size_bytes - sent_));
    if (!profile::read_at(fd, sent_, part_.data(), part_.size())) return false;
    return fstat(fd, &status) == 0 && static_cast<uint64_t>(status.st_size) == file_->size_bytes &&
           profile::written_unix_ns(status) == file_->written_unix_ns;
  }

  void close() {
    beast::error_code error;
    error = stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);  // it ends either way
  }

  beast::tcp_stream stream_;
  State& state_;
  const BuildRequest request_;
  const unsigned version_;
  const bool is_head_;
  const std::shared_ptr<std::atomic<unsigned>> downloads_;  // a download may go after the server
  std::unique_ptr<BuildFile> file_;
  bool is_replaced_ = false;
  std::string text_;        // header, and what there is to say
  std::vector<char> part_;  // of the file
  uint64_t sent_ = 0;
};

DebuginfoServer::DebuginfoServer(asio::io_context* context, BuildFiles files)
    : state_(std::make_unique<State>(context, std::move(files))) {}

DebuginfoServer::~DebuginfoServer() {
  stop();
}

bool DebuginfoServer::start() {
  return state_->reader.start([state = state_.get()] { state->readers.run(); });
}

void DebuginfoServer::stop() {
  state_->readers.stop();
  state_->reader.join();
}

void DebuginfoServer::watch(std::vector<WatchedProcess> processes) {
  const auto now = Clock::now();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (processes == state_->processes && now < state_->next_look) return;
  state_->processes = std::move(processes);
  state_->next_look = now + kLookAgain;
  asio::post(state_->readers, [state = state_.get()] { state->look(); });
}

bool DebuginfoServer::takes_over(const HttpRequest& request, beast::tcp_stream* stream) {
  BuildRequest wanted;
  unsigned status = 0;
  std::string why;
  const bool is_head = request.method() == http::verb::head;
  if ((!is_head && request.method() != http::verb::get) || *state_->downloads >= kMaxDownloads ||
      !parse_build_request(target_of(request), &wanted, &status, &why)) {
    return false;
  }
  std::make_shared<Download>(std::move(*stream), state_.get(), std::move(wanted), request.version(), is_head)
      ->begin();
  return true;
}

HttpResponse DebuginfoServer::refuse(const HttpRequest& request) {
  BuildRequest wanted;
  unsigned status = 0;
  std::string why;
  ++state_->refused;
  if (!parse_build_request(target_of(request), &wanted, &status, &why)) {
    return text_response(request, http::int_to_status(status), why);
  }
  HttpResponse response = text_response(request, http::status::service_unavailable,
                                        "too many files are on their way; come again");
  response.set(http::field::retry_after, "5");
  return response;
}

std::string DebuginfoServer::metrics() const {
  std::string text;
  const auto add = [&](const std::string& name, const char* kind, const char* help, uint64_t value) {
    add_metric("ship_debuginfo_" + name, kind, help, static_cast<double>(value), &text);
  };
  add("builds", "gauge", "Build ids that are known.", state_->known);
  add("served_total", "counter", "Files that were sent whole.", state_->served);
  add("bytes_total", "counter", "Bytes of files that were sent.", state_->bytes);
  add("not_found_total", "counter", "Requests for a build id that is not here.", state_->missing);
  add("replaced_total", "counter", "Requests for a build id whose file was replaced.", state_->replaced);
  add("refused_total", "counter", "Requests that were malformed, for what is not served, or too many.",
      state_->refused);
  add("broken_total", "counter", "Files whose client went away or was too slow, or that changed meanwhile.",
      state_->broken);
  return text;
}

}  // namespace memprof::cli
