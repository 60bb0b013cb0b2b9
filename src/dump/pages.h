// SPDX-License-Identifier: Apache-2.0
// Pages of the system that are released at the end of the scope.
//
// Failure: as<T>() is nullptr.
#pragma once

#include <cstddef>

#include "platform/memory.h"

namespace memprof {

class Pages {
 public:
  explicit Pages(size_t size_bytes) : size_bytes_(size_bytes), start_(platform::reserve_pages(size_bytes)) {}
  ~Pages() {
    if (start_ != nullptr) {
      platform::release_pages(start_, size_bytes_);
    }
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(start_);
  }
  size_t size_bytes() const { return size_bytes_; }

 private:
  size_t size_bytes_;
  void* start_;
};

}  // namespace memprof
