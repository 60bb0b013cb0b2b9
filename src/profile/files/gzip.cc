// SPDX-License-Identifier: Apache-2.0
#include "profile/files/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace memprof::profile {
namespace {

constexpr int kGzipFormat = 16;  // added to the window bits: gzip instead of zlib
constexpr size_t kPieceBytes = size_t{1} << 18;
// What is larger than this is packed faster from there on: such data are rows of stacks that repeat each other, which
// take less than half the time and hardly more room then.
constexpr uint64_t kThoroughBytes = uint64_t{1} << 20;
constexpr int kFastLevel = 3;

// zlib counts in unsigned int; data may be larger.
uInt piece(size_t bytes) {
  return static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max() / 2));
}

// zlib's input is not const in its interface, but it is not written to.
Bytef* input_of(std::string_view data) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream, MAX_WBITS + kGzipFormat) != Z_OK) {
      throw Error("zlib: no memory");
    }
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

}  // namespace

Sink sink_to(std::string& text) {
  return {[](void* context, const void* data, size_t size) {
            static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
            return true;
          },
          &text};
}

bool is_gzip(std::string_view data) {
  return data.substr(0, 2) == "\x1f\x8b";
}

namespace {

// What a gzip file says of its size, as far as that is likely: its last four bytes, which may be anything where the file
// is damaged.
uint64_t expected_size(std::string_view data, uint64_t max_bytes) {
  constexpr size_t kSizeBytes = 4;
  constexpr uint64_t kUsualRatio = 16;
  if (data.size() < kSizeBytes) return 0;
  uint64_t size = 0;
  for (size_t i = 0; i < kSizeBytes; ++i) {
    size |= uint64_t{static_cast<unsigned char>(data[data.size() - kSizeBytes + i])} << (8 * i);
  }
  return std::min({size, max_bytes, kUsualRatio * data.size()});
}

}  // namespace

std::string gunzip(std::string_view data, const std::string& name, uint64_t max_bytes,
                   const std::function<void(std::string_view)>& look) {
  const auto refuse_size = [&] {
    throw Error(
        fmt::format("{}: unpacks to more than {} bytes, which no profile of its size does; if you trust it, "
                    "unpack it first: gzip -dc FILE > FILE.pb",
                    name, max_bytes));
  };
  std::string out;
  out.reserve(expected_size(data, max_bytes));
  std::string buffer(kPieceBytes, '\0');
  Inflater inflater;
  z_stream& stream = inflater.stream;
  while (true) {
    stream.next_in = input_of(data);
    const uInt given = piece(data.size());
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    const size_t made = buffer.size() - stream.avail_out;
    data.remove_prefix(given - stream.avail_in);
    if (made > max_bytes - out.size()) refuse_size();
    if (look) look(std::string_view(buffer).substr(0, made));
    out.append(buffer, 0, made);
    if (status == Z_STREAM_END) {
      const size_t next = data.find_first_not_of('\0');  // padding may follow
      if (next == std::string_view::npos) {
        return out;
      }
      data.remove_prefix(next);
      if (!is_gzip(data)) {
        throw Error(name + ": damaged: other bytes follow the gzip data");
      }
      inflateReset(&stream);
    } else if (status == Z_MEM_ERROR) {
      throw Error(name + ": no memory to unpack it");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw Error(
          fmt::format("{}: damaged gzip data ({})", name, stream.msg != nullptr ? stream.msg : "zlib"));
    } else if (data.empty() && made == 0) {
      throw Error(name + ": truncated: its gzip data end too early");
    }
  }
}

struct GzipPacker::Stream {
  explicit Stream(GzipEffort effort) : is_fast(effort == GzipEffort::kQuick) {
    constexpr int kMemoryLevel = 8;  // zlib's default
    if (deflateInit2(&zlib, is_fast ? kFastLevel : Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipFormat,
                     kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error("zlib: no memory");
    }
  }
  ~Stream() { deflateEnd(&zlib); }

  // From here on.  What was given is packed first: as much as there is room for.  false: call again.
  bool become_fast() {
    if (deflateParams(&zlib, kFastLevel, Z_DEFAULT_STRATEGY) == Z_BUF_ERROR) return false;
    is_fast = true;
    return true;
  }

  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream zlib{};
  bool is_fast;
  std::string buffer = std::string(kPieceBytes, '\0');
};

GzipPacker::GzipPacker(const Sink& to, GzipEffort effort)
    : stream_(std::make_unique<Stream>(effort)), to_(to) {}

GzipPacker::~GzipPacker() = default;

bool GzipPacker::write(void* context, const void* data, size_t size) {
  return static_cast<GzipPacker*>(context)->put({static_cast<const char*>(data), size}, false);
}

bool GzipPacker::finish() {
  return put({}, true);
}

bool GzipPacker::put(std::string_view data, bool is_last) {
  z_stream& zlib = stream_->zlib;
  std::string& buffer = stream_->buffer;
  int status = Z_OK;
  do {
    // Wherever pieces end, the levels change at the same byte.
    const size_t left = kThoroughBytes > zlib.total_in ? kThoroughBytes - zlib.total_in : 0;
    const bool is_cut = !stream_->is_fast && left < data.size();
    zlib.next_in = input_of(data);
    const uInt given = is_cut ? static_cast<uInt>(left) : piece(data.size());
    zlib.avail_in = given;
    zlib.next_out = reinterpret_cast<Bytef*>(buffer.data());
    zlib.avail_out = static_cast<uInt>(buffer.size());
    if (is_cut && given == 0) {
      stream_->become_fast();
    } else {
      status = deflate(&zlib, is_last && given == data.size() ? Z_FINISH : Z_NO_FLUSH);
    }
    data.remove_prefix(given - zlib.avail_in);
    const size_t made = buffer.size() - zlib.avail_out;
    if (made != 0 && !to_.write(to_.context, buffer.data(), made)) return false;
  } while (is_last ? status != Z_STREAM_END : !data.empty() || zlib.avail_out == 0);
  return true;
}

std::string gzip(std::string_view data, GzipEffort effort) {
  std::string out;
  GzipPacker packer(sink_to(out), effort);
  const Sink sink = packer.sink();
  static_cast<void>(sink.write(sink.context, data.data(), data.size()));
  static_cast<void>(packer.finish());
  return out;
}

}  // namespace memprof::profile
