// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format, as far as pprof needs it: varints and bytes, messages put together in memory of
// the caller, and an output that hands them to a sink in large pieces.  What the fields mean is in
// pprof_schema.h.
//
// Format: https://protobuf.dev/programming-guides/encoding
// Allocates: never.  Depends on memcpy alone.
// Failure: sticky; a message that outgrows its memory, or a sink that refuses, makes ok() false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "format/sink.h"

namespace memprof::profile::wire {

inline constexpr size_t kMaxVarintBytes = 10;

inline size_t varint_bytes(uint64_t value) {
  size_t bytes = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

// The same of an id of 32 bits, without a loop.
inline size_t varint_bytes_of_id(uint32_t id) {
  return size_t{1} + (id >= 1u << 7) + (id >= 1u << 14) + (id >= 1u << 21) + (id >= 1u << 28);
}

// Writes at most kMaxVarintBytes and returns how many.
inline size_t put_varint(uint8_t* to, uint64_t value) {
  size_t bytes = 0;
  while (value >= 0x80) {
    to[bytes++] = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  to[bytes++] = static_cast<uint8_t>(value);
  return bytes;
}

enum : uint32_t { kVarintType = 0, kBytesType = 2 };

// One message, put together field by field.
class Message {
 public:
  Message(uint8_t* memory, size_t capacity) : memory_(memory), capacity_(capacity) {}

  void clear() { size_ = 0; }
  const uint8_t* data() const { return memory_; }
  size_t size() const { return size_; }
  bool ok() const { return ok_; }

  // As proto3 has it, a zero is not written.
  void field(uint32_t number, uint64_t value) {
    if (value != 0) {
      tag(number, kVarintType);
      varint(value);
    }
  }

  void message_field(uint32_t number, const Message& message) {
    begin_bytes(number, message.size());
    raw(message.data(), message.size());
    ok_ = ok_ && message.ok();
  }

  // Begins a field of `size` bytes (packed integers too), which the caller then appends.
  void begin_bytes(uint32_t number, size_t size) {
    tag(number, kBytesType);
    varint(size);
  }

  void varint(uint64_t value) {
    if (reserve(kMaxVarintBytes)) {
      size_ += put_varint(memory_ + size_, value);
    }
  }

  // Varints one after the other, which take so many bytes.
  void ids(const uint32_t* ids, size_t count, size_t bytes) {
    if (!reserve(bytes)) {
      return;
    }
    uint8_t* to = memory_ + size_;
    for (size_t i = 0; i < count; ++i) {
      to += put_varint(to, ids[i]);
    }
    size_ += bytes;
  }

  // Takes back what was appended behind the first `size` bytes.
  void cut(size_t size) { size_ = size < size_ ? size : size_; }

  void raw(const void* data, size_t size) {
    if (size != 0 && reserve(size)) {
      std::memcpy(memory_ + size_, data, size);
      size_ += size;
    }
  }

 private:
  void tag(uint32_t number, uint32_t type) { varint(number << 3 | type); }

  bool reserve(size_t size) {
    ok_ = ok_ && size <= capacity_ - size_;
    return ok_;
  }

  uint8_t* memory_;
  size_t capacity_;
  size_t size_ = 0;
  bool ok_ = true;
};

// The outermost message: gathers bytes in a buffer of the caller and passes them on when it is full.
class Output {
 public:
  Output(uint8_t* buffer, size_t capacity, const Sink& sink)
      : buffer_(buffer), capacity_(capacity), sink_(sink) {}

  bool ok() const { return ok_; }

  void field(uint32_t number, uint64_t value) {
    if (value != 0) {
      varint(number << 3 | kVarintType);
      varint(value);
    }
  }

  void bytes_field(uint32_t number, const void* data, size_t size) {
    begin_bytes(number, size);
    raw(data, size);
  }

  void message_field(uint32_t number, const Message& message) {
    ok_ = ok_ && message.ok();
    bytes_field(number, message.data(), message.size());
  }

  void begin_bytes(uint32_t number, size_t size) {
    varint(number << 3 | kBytesType);
    varint(size);
  }

  void varint(uint64_t value) {
    uint8_t bytes[kMaxVarintBytes];
    raw(bytes, put_varint(bytes, value));
  }

  void raw(const void* data, size_t size) {
    const auto* from = static_cast<const uint8_t*>(data);
    while (ok_ && size != 0) {
      if (size_ == capacity_) {
        flush();
        continue;
      }
      const size_t room = capacity_ - size_;
      const size_t now = size < room ? size : room;
      std::memcpy(buffer_ + size_, from, now);
      size_ += now;
      from += now;
      size -= now;
    }
  }

  // Passes on what is left.  Returns whether everything arrived.
  bool flush() {
    if (ok_ && size_ != 0) {
      ok_ = sink_.write(sink_.context, buffer_, size_);
      size_ = 0;
    }
    return ok_;
  }

 private:
  uint8_t* buffer_;
  size_t capacity_;
  size_t size_ = 0;
  Sink sink_;
  bool ok_ = true;
};

}  // namespace memprof::profile::wire
