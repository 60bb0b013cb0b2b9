// SPDX-License-Identifier: Apache-2.0
// Code in which a thread may hold a lock that loading a library takes as well: the loader, allocators, and what in
// the C library registers handlers, forks, or makes threads.  A thread that is stopped there must not be made to
// load one: it would wait for itself.
//
// Threads: no state that changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memprof/attach/linux/target/target_image.h"

namespace memprof::cli {

class UnsafeCode {
 public:
  void add(const CodeRange& range, const std::string& what);
  // All code of an image.
  void add_image(const TargetImage& image, const std::string& what);
  // Functions of such an image that hold nothing: a thread may wait in them.
  void except(const TargetImage& image, const std::string& function);
  // What is unsafe in the C library; its allocator is told by the exported functions around it.
  void add_c_library(const TargetImage& image);

  // What the code at this address is; nullptr: safe.
  const std::string* at(uint64_t address) const;

 private:
  struct Range {
    CodeRange code;
    std::string what;
  };
  std::vector<Range> ranges_;
  std::vector<CodeRange> safe_;
};

}  // namespace memprof::cli
