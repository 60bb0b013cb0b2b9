// SPDX-License-Identifier: Apache-2.0
// A growing array of plain values, for code that is also in libmemprof, where there is no C++ runtime.
//
// Threads: a plain value.
// Allocates: by malloc; so it must not be used in a hook.
// Failure: what found no memory is left out, and has_failed() stays true, of copies, too.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace memprof {

template <typename T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  Array(const Array& other) { *this = other; }
  Array(Array&& other) noexcept { swap(other); }
  ~Array() { std::free(data_); }
  Array& operator=(const Array& other) {
    if (this != &other) {
      size_ = 0;
      has_failed_ = other.has_failed_;
      append(other);
    }
    return *this;
  }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }

  bool has_failed() const { return has_failed_; }
  void note_failure() { has_failed_ = true; }  // of what this is made of
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }

  // false: there is no memory for so many.
  bool reserve(size_t count) {
    if (count <= capacity_) {
      return true;
    }
    void* const grown = std::realloc(static_cast<void*>(data_), count * sizeof(T));
    if (grown == nullptr) {
      has_failed_ = true;
      return false;
    }
    data_ = static_cast<T*>(grown);
    capacity_ = count;
    return true;
  }
  void push_back(const T& value) {
    const T copy = value;  // it may lie in this array
    if (size_ < capacity_ || reserve(capacity_ < 4 ? 4 : 2 * capacity_)) {
      data_[size_++] = copy;
    }
  }
  void append(const Array& other) {
    has_failed_ = has_failed_ || other.has_failed_;
    if (!other.empty() && reserve(size_ + other.size_)) {
      std::memcpy(static_cast<void*>(data_ + size_), other.data_, other.size_ * sizeof(T));
      size_ += other.size_;
    }
  }
  // Keeps the first `count`, which are there.
  void truncate(size_t count) { size_ = count; }

 private:
  void swap(Array& other) noexcept {
    T* const data = data_;
    const size_t size = size_;
    const size_t capacity = capacity_;
    const bool has_failed = has_failed_;
    data_ = other.data_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    has_failed_ = other.has_failed_;
    other.data_ = data;
    other.size_ = size;
    other.capacity_ = capacity;
    other.has_failed_ = has_failed;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  bool has_failed_ = false;
};

}  // namespace memprof
