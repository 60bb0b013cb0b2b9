// SPDX-License-Identifier: Apache-2.0
// A snapshot as a value of JavaScript: freed by dispose(), or when nothing refers to it any more.
#pragma once

#include <memory>

#include "frames.h"
#include "values.h"

namespace memprof::node {

class Snapshot {
 public:
  // Takes one, from any thread.  Throws Error.
  static std::unique_ptr<Snapshot> take();
  ~Snapshot() { dispose(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Frees the memory; what is asked of it later throws Error.
  void dispose();
  const memprof_snapshot* get() const;

  // Asks the system what the process has in memory now; a snapshot without it is one.
  void read_resident();
  // Another that has what this had; this is disposed of.
  std::unique_ptr<Snapshot> move_out();

  // Looks up names of native functions, once.  It may take long; from any thread, one at a time.
  void resolve();
  bool is_resolved() const { return is_resolved_; }
  Frames& frames();

  memprof_snapshot_info info() const;
  const memprof_record* records(uint64_t* count) const;
  uint64_t stack_count() const;
  // What V8 was not told yet of the memory behind the value; it is told now.
  int64_t change_of_told_bytes();

 private:
  explicit Snapshot(memprof_snapshot* snapshot) : snapshot_(snapshot) {}

  memprof_snapshot* snapshot_;
  std::unique_ptr<Frames> frames_;
  bool is_resolved_ = false;
  int64_t told_bytes_ = 0;
};

// Hands it over to a value that owns it.
napi_value give(const Js& js, std::unique_ptr<Snapshot> snapshot);
Snapshot& snapshot_at(const Call& call, size_t index);

// The functions that JavaScript calls.
napi_value get_info(const Call& call);
napi_value get_samples(const Call& call);
napi_value get_peak(const Call& call);
napi_value read_resident(const Call& call);
napi_value resolve(const Call& call);
napi_value dispose(const Call& call);
napi_value write_snapshot(const Call& call);

// {function, file, line, isJavaScript}
napi_value frame_value(const Js& js, const Frame& frame);

// Values of frames and stacks, each made once: all that refer to a stack share it.
class FrameValues {
 public:
  FrameValues(const Js& js, Snapshot* snapshot);
  napi_value frame(uint32_t index);
  napi_value stack(uint32_t stack_id);

 private:
  napi_value kept(napi_value from, uint32_t index) const;

  const Js& js_;
  Snapshot& snapshot_;
  napi_value frames_;  // arrays that keep them
  napi_value stacks_;
  std::vector<bool> has_frame_;
  std::vector<bool> has_stack_;
};

}  // namespace memprof::node
