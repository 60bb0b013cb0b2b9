// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/profile_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "profile/files/gzip.h"
#include "profile/foreign/foreign_profile.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kMaxForeignBytes = uint64_t{1} << 30;

// What a file that is no profile looks like, to help whoever gave the wrong one.
const char* other_kind(std::string_view data) {
  const auto begins = [data](std::string_view prefix) { return data.substr(0, prefix.size()) == prefix; };
  if (begins("heap profile:") || begins("heap_v2/") || begins("--- heap")) {
    return " (it looks like a heap profile of an allocator as text, which has no sample types)";
  }
  if (begins("{") || begins("[")) {
    return " (it looks like JSON)";
  }
  if (begins("\x7f"
             "ELF")) {
    return " (it is a program or library)";
  }
  return "";
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Error no_profile(const std::string& name, std::string_view begin) {
  return Error(fmt::format("{}: not a pprof profile, or a truncated one{}", name, other_kind(begin)));
}

void ByteCheck::decide() {
  is_decided_ = true;
  if (is_foreign(begin_)) {
    if (accept_ == Accept::kPprof) throw no_profile(name_, begin_);
    form_ = Form::kForeign;
  }
  look(begin_);
}

void ByteCheck::look(std::string_view piece) {
  if (form_ == Form::kPprof) {
    if (!outline_.take(piece)) throw no_profile(name_, begin_);
    return;
  }
  foreign_bytes_ += piece.size();
  if (foreign_bytes_ > kMaxForeignBytes) {
    throw Error(fmt::format("{}: larger than {} bytes", name_, kMaxForeignBytes));
  }
}

void ByteCheck::take(std::string_view piece) {
  if (is_decided_) {
    look(piece);
    return;
  }
  const size_t missing = kForeignBeginning - begin_.size();
  begin_ += piece.substr(0, missing);
  if (begin_.size() < kForeignBeginning) return;
  decide();
  look(piece.substr(std::min(missing, piece.size())));
}

Form ByteCheck::end() {
  if (!is_decided_) decide();
  return form_;
}

ProfileBytes unpack_profile(std::string data, const std::string& name, const ReadOptions& options,
                            Accept accept) {
  ProfileBytes bytes;
  bytes.stored_bytes = data.size();
  if (data.empty()) throw Error(name + ": the file is empty");
  if (is_gzip(data)) {
    const uint64_t max_bytes = unpacked_limit(options, data.size());
    ByteCheck check(name, max_bytes, accept);
    bytes.data = gunzip(data, name, max_bytes, [&](std::string_view piece) { check.take(piece); });
    bytes.form = check.end();
    if (bytes.data.empty()) throw Error(name + ": the file is empty inside its gzip");
  } else {
    ByteCheck check(name, options.max_decompressed_bytes, accept);
    check.take(std::string_view(data).substr(0, kForeignBeginning));
    bytes.form = check.end();
    bytes.data = std::move(data);
  }
  return bytes;
}

ProfileBytes read_profile_bytes(int fd, const std::string& name, const ReadOptions& options, Accept accept) {
  std::string data;
  std::string buffer(size_t{1} << 18, '\0');
  // Also of a file that is not packed the first wrong byte is the last that is read: /dev/zero has no end.
  ByteCheck check(name, options.max_decompressed_bytes, accept);
  size_t looked_at = 0;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw Error(fmt::format("{}: cannot read it: {}", name, std::strerror(errno)));
    }
    if (got == 0) {
      break;
    }
    data.append(buffer, 0, static_cast<size_t>(got));
    if (data.size() > options.max_decompressed_bytes) {
      throw Error(fmt::format("{}: larger than {} bytes", name, options.max_decompressed_bytes));
    }
    constexpr size_t kMarkBytes = 2;  // which tell gzip
    if (data.size() < kMarkBytes || is_gzip(data)) {
      continue;
    }
    check.take(std::string_view(data).substr(looked_at));
    looked_at = data.size();
  }
  return unpack_profile(std::move(data), name, options, accept);
}

ProfileBytes read_profile_bytes(const std::string& path, const ReadOptions& options, Accept accept) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) {
    throw Error(fmt::format("{}: cannot read it: {}", path, std::strerror(errno)));
  }
  return read_profile_bytes(file.number(), path, options, accept);
}

}  // namespace memprof::profile
