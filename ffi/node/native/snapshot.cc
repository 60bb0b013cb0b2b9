// SPDX-License-Identifier: Apache-2.0
#include "snapshot.h"

#include <algorithm>

#include "library.h"

namespace memprof::node {
namespace {

constexpr double kNanosecondsInMillisecond = 1e6;

void free_snapshot(napi_env env, void* data, void* /*hint*/) {
  const Muted muted;
  const std::unique_ptr<Snapshot> snapshot(static_cast<Snapshot*>(data));
  snapshot->dispose();
  int64_t ignored = 0;
  napi_adjust_external_memory(env, snapshot->change_of_told_bytes(), &ignored);
}

// Times since 1970; the samples' clock is monotonic, and stood at info.time_ns when it was info.time_unix_ns.
double unix_ms(const memprof_snapshot_info& info, uint64_t time_ns) {
  const auto since = static_cast<int64_t>(time_ns - info.time_ns);
  return (static_cast<double>(info.time_unix_ns) + static_cast<double>(since)) / kNanosecondsInMillisecond;
}

}  // namespace

std::unique_ptr<Snapshot> Snapshot::take() {
  memprof_snapshot* taken = nullptr;
  const int result = library().memprof_get_snapshot(&taken);
  if (result == MEMPROF_ERR_STATE) {
    throw Error{result, "memprof.snapshot: there is nothing to show; call memprof.start() first"};
  }
  check(result, "memprof.snapshot");
  return std::unique_ptr<Snapshot>(new Snapshot(taken));
}

void Snapshot::dispose() {
  frames_.reset();
  library().memprof_free_snapshot(snapshot_);
  snapshot_ = nullptr;
}

const memprof_snapshot* Snapshot::get() const {
  if (snapshot_ == nullptr) {
    throw Error{MEMPROF_ERR_STATE, "memprof: the snapshot was disposed of"};
  }
  return snapshot_;
}

void Snapshot::read_resident() {
  if (info().end_begun_ns == 0) {  // else it was read then
    library().memprof_snapshot_read_resident(snapshot_, 0);
  }
}

std::unique_ptr<Snapshot> Snapshot::move_out() {
  get();
  std::unique_ptr<Snapshot> moved(new Snapshot(snapshot_));
  snapshot_ = nullptr;
  dispose();
  return moved;
}

void Snapshot::resolve() {
  get();
  if (!is_resolved_) {
    library().memprof_resolve_symbols(snapshot_);
    is_resolved_ = true;
    frames_.reset();  // the strings have moved
  }
}

Frames& Snapshot::frames() {
  if (frames_ == nullptr) {
    frames_ = std::make_unique<Frames>(get());
  }
  return *frames_;
}

memprof_snapshot_info Snapshot::info() const {
  memprof_snapshot_info info{};
  info.struct_size = sizeof(info);
  check(library().memprof_snapshot_get_info(get(), &info), "memprof.snapshot");
  return info;
}

const memprof_record* Snapshot::records(uint64_t* count) const {
  return library().memprof_snapshot_records(get(), count);
}

uint64_t Snapshot::stack_count() const {
  uint64_t count = 0;
  library().memprof_snapshot_stacks(get(), &count);
  return count;
}

int64_t Snapshot::change_of_told_bytes() {
  uint64_t bytes = 0;
  if (snapshot_ != nullptr) {
    uint64_t records_count = 0;
    uint64_t frames_count = 0;
    uint64_t strings_bytes = 0;
    records(&records_count);
    library().memprof_snapshot_frames(snapshot_, &frames_count);
    library().memprof_snapshot_strings(snapshot_, &strings_bytes);
    bytes = records_count * sizeof(memprof_record) + stack_count() * sizeof(memprof_stack) +
            frames_count * (sizeof(uint64_t) + sizeof(uint32_t)) + strings_bytes;
  }
  const int64_t before = told_bytes_;
  told_bytes_ = static_cast<int64_t>(bytes);
  return told_bytes_ - before;
}

// V8 is told of the memory behind the value, or it would see no reason to collect it.
napi_value give(const Js& js, std::unique_ptr<Snapshot> snapshot) {
  napi_value result = nullptr;
  js.ok(napi_create_external(js.env(), snapshot.get(), free_snapshot, nullptr, &result));
  int64_t ignored = 0;
  js.ok(napi_adjust_external_memory(js.env(), snapshot.release()->change_of_told_bytes(), &ignored));
  return result;
}

Snapshot& snapshot_at(const Call& call, size_t index) {
  void* data = nullptr;
  call.ok(napi_get_value_external(call.env(), call.at(index), &data));
  return *static_cast<Snapshot*>(data);
}

napi_value get_info(const Call& call) {
  const Snapshot& snapshot = snapshot_at(call, 0);
  const memprof_snapshot_info info = snapshot.info();
  memprof_stats stats{};
  stats.struct_size = sizeof(stats);
  check(library().memprof_snapshot_get_stats(snapshot.get(), &stats), "memprof.snapshot");
  uint64_t live = 0;
  snapshot.records(&live);
  napi_value result = call.object();
  call.set(result, "pid", info.pid);
  call.set(result, "rateBytes", static_cast<double>(info.rate_bytes));
  call.set(result, "timestampMs", static_cast<double>(info.time_unix_ns) / kNanosecondsInMillisecond);
  call.set(result, "totalSamples", static_cast<double>(stats.samples));
  call.set(result, "liveSamples", static_cast<double>(live));
  call.set(result, "droppedSamples", static_cast<double>(stats.dropped_samples));
  return result;
}

napi_value frame_value(const Js& js, const Frame& frame) {
  napi_value result = js.object();
  js.set(result, "function", js.text(frame.function));
  js.set(result, "file", js.text(frame.file));
  js.set(result, "line", frame.line);
  js.set(result, "isJavaScript", js.boolean(frame.is_javascript));
  return result;
}

FrameValues::FrameValues(const Js& js, Snapshot* snapshot)
    : js_(js), snapshot_(*snapshot), frames_(js.array(0)), stacks_(js.array(0)) {}

napi_value FrameValues::kept(napi_value from, uint32_t index) const {
  napi_value result = nullptr;
  js_.ok(napi_get_element(js_.env(), from, index, &result));
  return result;
}

napi_value FrameValues::frame(uint32_t index) {
  if (index < has_frame_.size() && has_frame_[index]) {
    return kept(frames_, index);
  }
  napi_value made = frame_value(js_, snapshot_.frames().at(index));
  js_.set(frames_, index, made);
  has_frame_.resize(std::max<size_t>(has_frame_.size(), index + size_t{1}));
  has_frame_[index] = true;
  return made;
}

napi_value FrameValues::stack(uint32_t stack_id) {
  if (stack_id < has_stack_.size() && has_stack_[stack_id]) {
    return kept(stacks_, stack_id);
  }
  const std::vector<uint32_t> indices = snapshot_.frames().stack(stack_id);
  napi_value made = js_.array(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    const Scope scope(js_);
    js_.set(made, i, frame(indices[i]));
  }
  js_.set(stacks_, stack_id, made);
  has_stack_.resize(std::max<size_t>(has_stack_.size(), stack_id + size_t{1}));
  has_stack_[stack_id] = true;
  return made;
}

napi_value get_samples(const Call& call) {
  Snapshot& snapshot = snapshot_at(call, 0);
  const memprof_snapshot_info info = snapshot.info();
  FrameValues values(call, &snapshot);
  uint64_t count = 0;
  const memprof_record* const records = snapshot.records(&count);
  napi_value result = call.array(count);
  for (uint64_t i = 0; i < count; ++i) {
    const Scope scope(call);
    const memprof_record& record = records[i];
    napi_value sample = call.object();
    call.set(sample, "address", static_cast<double>(record.address));
    call.set(sample, "sizeBytes", static_cast<double>(record.size_bytes));
    call.set(sample, "weightBytes", record.weight_bytes);
    call.set(sample, "weightBlocks", record.weight_count);
    call.set(sample, "rateBytes", static_cast<double>(record.rate_bytes));
    call.set(sample, "timestampMs", unix_ms(info, record.time_ns));
    call.set(sample, "threadId", record.thread_id);
    call.set(sample, "stack", values.stack(record.stack_id));
    call.set(result, i, sample);
  }
  return result;
}

napi_value get_peak(const Call& call) {
  const Snapshot& snapshot = snapshot_at(call, 0);
  const memprof_snapshot_info info = snapshot.info();
  uint64_t count = 0;
  const memprof_totals* const peaks = library().memprof_snapshot_peaks(snapshot.get(), &count);
  if (count == 0) {
    return call.null();
  }
  memprof_estimate bytes{};
  memprof_estimate blocks{};
  check(library().memprof_estimate_totals(peaks, count, &bytes, &blocks), "memprof.snapshot");
  napi_value result = call.object();
  call.set(result, "estimatedBytes", call.estimate(bytes));
  call.set(result, "estimatedBlocks", call.estimate(blocks));
  call.set(result, "timestampMs", unix_ms(info, info.peak_ns));
  call.set(result, "residentBytes",
           info.peak_resident_bytes != 0 ? call.number(static_cast<double>(info.peak_resident_bytes))
                                         : call.null());
  return result;
}

napi_value read_resident(const Call& call) {
  snapshot_at(call, 0).read_resident();
  return call.undefined();
}

napi_value resolve(const Call& call) {
  snapshot_at(call, 0).resolve();
  return call.undefined();
}

napi_value dispose(const Call& call) {
  Snapshot& snapshot = snapshot_at(call, 0);
  snapshot.dispose();
  int64_t ignored = 0;
  call.ok(napi_adjust_external_memory(call.env(), snapshot.change_of_told_bytes(), &ignored));
  return call.undefined();
}

napi_value write_snapshot(const Call& call) {
  check(library().memprof_snapshot_write_fd(snapshot_at(call, 0).get(), static_cast<int>(call.number_at(1))),
        "memprof.Snapshot.write");
  return call.undefined();
}

}  // namespace memprof::node
