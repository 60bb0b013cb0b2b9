// SPDX-License-Identifier: Apache-2.0
// What calls of the public C API have in common.
//
// Threads: no state.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memprof.h"

namespace memprof {
class Snapshot;
}

namespace memprof::capi {

// What the handle of a snapshot points to.
inline const Snapshot* ours(const memprof_snapshot* snapshot) {
  return reinterpret_cast<const Snapshot*>(snapshot);
}

// Of a versioned struct: every caller has as much.
inline constexpr uint32_t kMinBytes = 8;

// errno as the caller left it, whatever the system calls of ours made of it.
class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

  // MEMPROF_ERR_SYSTEM: errno says why.
  int result(int error) {
    if (error == MEMPROF_ERR_SYSTEM) {
      saved_ = errno;
    }
    return error;
  }

 private:
  int saved_;
};

// Copies as much of a versioned struct as the caller has; its struct_size stays.
template <typename T>
int give(const T& from, T* to) {
  const uint32_t size = to->struct_size < sizeof(T) ? to->struct_size : static_cast<uint32_t>(sizeof(T));
  constexpr size_t kSkip = sizeof(to->struct_size);
  memcpy(reinterpret_cast<char*>(to) + kSkip, reinterpret_cast<const char*>(&from) + kSkip, size - kSkip);
  return MEMPROF_OK;
}

// As much of a versioned struct as its caller has, in the struct of today; the rest is 0.
template <typename To, typename From>
To take(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to{};
  memcpy(&to, &from, from.struct_size < sizeof(to) ? from.struct_size : sizeof(to));
  return to;
}

}  // namespace memprof::capi
