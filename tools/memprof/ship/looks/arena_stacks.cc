// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/arena_stacks.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "format/hash.h"
#include "format/pprof/comments.h"
#include "format/pprof/pprof_schema.h"
#include "format/pprof/sample_writer.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/symbolize/files/binary_values.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using profile::metric_index;
using profile::schema::is_gap;  // of frames that were left out

std::string_view build_id_of(const memprof_module& module) {
  return {reinterpret_cast<const char*>(module.build_id), module.build_id_size};
}

bool is_runtime_frame(uint64_t frame) {
  return (frame & MEMPROF_RUNTIME_FRAME) != 0;
}

constexpr int kModuleShift = 48;  // above any address

void add(Metric count, Metric bytes, double blocks, double sum, profile::MetricValues* values) {
  (*values)[metric_index(count)] += blocks;
  (*values)[metric_index(bytes)] += sum;
}

bool is_all_zero(const profile::MetricValues& values) {
  for (const double value : values) {
    if (value != 0) return false;
  }
  return true;
}

}  // namespace

ArenaStacks::ArenaStacks(const std::string& path) : snapshot_(open_arena(path)) {
  const memprof_snapshot* const s = snapshot_.get();
  memprof_snapshot_info info{};
  info.struct_size = sizeof(info);
  if (memprof_snapshot_get_info(s, &info) != MEMPROF_OK) throw profile::Error(path + ": it cannot be read");
  rate_bytes_ = info.rate_bytes;
  time_unix_ns_ = info.time_unix_ns;
  arena_stacks_.data = memprof_snapshot_stacks(s, &arena_stacks_.size);
  frames_.data = memprof_snapshot_frames(s, &frames_.size);
  frame_modules_.data = memprof_snapshot_frame_modules(s, &frame_modules_.size);
  if (frames_.data == nullptr || frame_modules_.data == nullptr) {
    throw profile::Error(path + ": " + memprof_strerror(MEMPROF_ERR_NO_MEMORY));
  }
  arena_modules_.data = memprof_snapshot_modules(s, &arena_modules_.size);
  runtime_frames_.data = memprof_snapshot_runtime_frames(s, &runtime_frames_.size);
  stack_heaps_.data = memprof_snapshot_stack_heaps(s, &stack_heaps_.size);
  heaps_.data = memprof_snapshot_heaps(s, &heaps_.size);
  strings_.data = memprof_snapshot_strings(s, &strings_.size);
  order_modules();
  read_values();
  round_values();
  add_keys();
}

void ArenaStacks::order_modules() {
  const char* const program = memprof_snapshot_program(snapshot_.get());
  uint32_t main = 0;
  for (uint32_t i = 0; i < arena_modules_.size; ++i) {
    if (std::strcmp(text(arena_modules_.data[i].path_offset), program) != 0) continue;
    main = i;
    break;
  }
  module_order_.resize(arena_modules_.size);
  const auto take = [this](uint32_t index) {
    const memprof_module& module = arena_modules_.data[index];
    module_order_[index] = static_cast<uint32_t>(modules_.size());
    modules_.push_back({module.start, module.limit, index});
  };
  if (main < arena_modules_.size) take(main);
  for (uint32_t i = 0; i < arena_modules_.size; ++i) {
    if (i != main) take(i);
  }
}

uint32_t ArenaStacks::module_of(uint64_t frame) const {
  const uint32_t module = frame_modules_.data[frame];
  return module < module_order_.size() ? module_order_[module] : profile::kNoMapping;
}

// One of each of the arena's; ids follow.
void ArenaStacks::read_values() {
  const memprof_snapshot* const s = snapshot_.get();
  Span<memprof_record> records;
  records.data = memprof_snapshot_records(s, &records.size);
  Span<memprof_totals> peaks;
  peaks.data = memprof_snapshot_peaks(s, &peaks.size);
  Span<memprof_mapping> mappings;
  mappings.data = memprof_snapshot_mappings(s, &mappings.size);
  stacks_.resize(arena_stacks_.size);
  for (uint64_t i = 0; i < arena_stacks_.size; ++i) {
    const memprof_totals& allocated = arena_stacks_.data[i].allocated;
    add(Metric::kAllocObjects, Metric::kAllocSpace, allocated.weight_count, allocated.weight_bytes,
        &stacks_[i].values);
    if (i >= peaks.size) continue;
    add(Metric::kPeakObjects, Metric::kPeakSpace, peaks.data[i].weight_count, peaks.data[i].weight_bytes,
        &stacks_[i].values);
  }
  for (uint64_t i = 0; i < records.size; ++i) {
    const memprof_record& record = records.data[i];
    add(Metric::kInuseObjects, Metric::kInuseSpace, record.weight_count, record.weight_bytes,
        &stacks_[record.stack_id].values);
  }
  for (uint64_t i = 0; i < mappings.size; ++i) {
    const memprof_mapping& mapping = mappings.data[i];
    profile::MetricValues* const values = &stacks_[mapping.stack_id].values;
    add(Metric::kMappedObjects, Metric::kMappedSpace, 1, static_cast<double>(mapping.limit - mapping.start),
        values);
    if (mapping.resident_bytes == 0) continue;
    add(Metric::kMappedResidentObjects, Metric::kMappedResidentSpace, 1,
        static_cast<double>(mapping.resident_bytes), values);
  }
}

// As the profile's writer rounds, in the same order: what a whole look said of a stack is not more or less by the next one.
void ArenaStacks::round_values() {
  profile::MetricValues sums{};
  profile::CarriedRounding roundings[profile::kMetricCount];
  for (Stack& stack : stacks_) {
    for (size_t i = 0; i < sums.size(); ++i) {
      if (stack.values[i] == 0) continue;
      sums[i] += stack.values[i];
      stack.values[i] = static_cast<double>(roundings[i].round(stack.values[i]));
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) sums_[i] = std::llround(sums[i]);
}

void ArenaStacks::add_keys() {
  std::vector<uint64_t> runtime_keys;
  runtime_keys.reserve(runtime_frames_.size);
  const std::hash<std::string_view> hash;
  for (uint64_t i = 0; i < runtime_frames_.size; ++i) {
    const memprof_runtime_frame& frame = runtime_frames_.data[i];
    runtime_keys.push_back(
        hash_with(hash_with(hash(text(frame.name_offset)), hash(text(frame.file_offset))), frame.line));
  }
  std::vector<uint64_t> heap_keys;
  for (uint64_t i = 0; i < heaps_.size; ++i) heap_keys.push_back(hash(text(heaps_.data[i].name_offset)));
  std::vector<uint32_t> used;
  used.reserve(stacks_.size());
  for (uint32_t i = 0; i < stacks_.size(); ++i) {
    if (is_all_zero(stacks_[i].values)) continue;
    used.push_back(i);
    const memprof_stack& stack = arena_stacks_.data[i];
    uint64_t key = heap_keys[stack_heaps_.data[i]];
    for (uint64_t k = stack.first_frame; k < stack.first_frame + stack.frame_count; ++k) {
      const uint64_t frame = frames_.data[k];
      if (is_runtime_frame(frame)) {
        key = hash_with(key, runtime_keys[frame ^ MEMPROF_RUNTIME_FRAME]);
        continue;
      }
      const uint32_t module = frame_modules_.data[k];
      has_lasting_keys_ = has_lasting_keys_ && (module < arena_modules_.size || is_gap(frame));
      key = hash_with(key, frame ^ uint64_t{module} << kModuleShift);
    }
    stacks_[i].key = key;
  }
  unite(used);
}

// Those of one key, in the order of the first of them.
void ArenaStacks::unite(const std::vector<uint32_t>& used) {
  std::vector<Stack> united;
  united.reserve(used.size());
  arena_index_.reserve(used.size());
  std::unordered_map<uint64_t, uint32_t> by_key;
  by_key.reserve(used.size());
  for (const uint32_t index : used) {
    const Stack& stack = stacks_[index];
    const auto [known, is_new] = by_key.emplace(stack.key, static_cast<uint32_t>(united.size()));
    if (is_new) {
      united.push_back(stack);
      arena_index_.push_back(index);
      continue;
    }
    profile::MetricValues& sum = united[known->second].values;
    for (size_t m = 0; m < sum.size(); ++m) sum[m] += stack.values[m];
  }
  stacks_ = std::move(united);
}

// The same as StackId of the profile's writer, of the same frames (dump/raw_pprof_frames.h).
std::vector<uint64_t> ArenaStacks::ids_of(const std::vector<uint32_t>& stacks) const {
  const profile::LocationKeys<Module> keys(modules_.data(), modules_.size());
  const auto key_of = [&](uint64_t i) {
    const uint64_t frame = frames_.data[i];
    if (!is_runtime_frame(frame)) return keys.key(frame - 1, module_of(i));
    const memprof_runtime_frame& own = runtime_frames_.data[frame ^ MEMPROF_RUNTIME_FRAME];
    const std::string_view name = text(own.name_offset);
    const std::string_view file = text(own.file_offset);
    return profile::source_key(name.data(), name.size(), file.data(), file.size(), own.line);
  };
  std::vector<uint64_t> ids;
  ids.reserve(stacks.size());
  for (const uint32_t index : stacks) {
    const uint32_t in_arena = arena_index_[index];
    const memprof_stack& stack = arena_stacks_.data[in_arena];
    profile::StackId id;
    for (uint64_t k = 0; k < stack.frame_count; ++k) id.add(key_of(stack.first_frame + k));
    const std::string_view heap = text(heaps_.data[stack_heaps_.data[in_arena]].name_offset);
    id.add_heap(heap.data(), heap.size());
    ids.push_back(id.value());
  }
  return ids;
}

uint64_t ArenaStacks::modules_hash(size_t count) const {
  Fnv1a hash;
  for (size_t i = 0; i < count && i < arena_modules_.size; ++i) {
    const memprof_module& module = arena_modules_.data[i];
    hash.word(module.start);
    hash.word(module.file_offset);
    const std::string_view path = text(module.path_offset);
    hash.bytes(path.data(), path.size());
    const std::string_view build_id = build_id_of(module);
    hash.bytes(build_id.data(), build_id.size());
  }
  return hash.value();
}

profile::Profile ArenaStacks::places_of(const std::vector<uint32_t>& stacks) const {
  profile::Profile profile;
  profile.from_memprof = true;
  profile.time_unix_ns = time_unix_ns_;
  for (const Module& own : modules_) {
    const memprof_module& module = arena_modules_.data[own.index];
    profile::Mapping mapping;
    mapping.start = module.start;
    mapping.limit = module.limit;
    mapping.file_offset = module.file_offset;
    mapping.path = text(module.path_offset);
    mapping.build_id = profile::hex_of(build_id_of(module));
    profile.mappings.push_back(std::move(mapping));
  }
  std::map<std::tuple<uint64_t, uint32_t>, uint32_t> locations;  // by frame and module
  const auto location_of = [&](uint64_t i) {
    const uint64_t frame = frames_.data[i];
    const uint32_t module = is_runtime_frame(frame) || is_gap(frame) ? profile::kNoMapping : module_of(i);
    const auto [known, is_new] =
        locations.emplace(std::tuple(frame, module), static_cast<uint32_t>(profile.locations.size()));
    if (!is_new) return known->second;
    profile::Location location;
    location.mapping = module;
    const auto function = static_cast<uint32_t>(profile.functions.size());
    if (is_runtime_frame(frame)) {
      const memprof_runtime_frame& own = runtime_frames_.data[frame ^ MEMPROF_RUNTIME_FRAME];
      const std::string name = text(own.name_offset);
      profile.functions.push_back({name, name, text(own.file_offset), own.function_line});
      location.lines = {{function, own.line}};
    } else if (is_gap(frame)) {
      const std::string name = profile::schema::kGapNames[frame];
      profile.functions.push_back({name, name, "", 0});
      location.lines = {{function, 0}};
    } else {
      location.address = frame - 1;
    }
    profile.locations.push_back(std::move(location));
    return known->second;
  };
  for (const uint32_t index : stacks) {
    const uint32_t in_arena = arena_index_[index];
    const memprof_stack& frames = arena_stacks_.data[in_arena];
    profile::Stack stack;
    for (uint64_t k = 0; k < frames.frame_count; ++k) {
      stack.locations.push_back(location_of(frames.first_frame + k));
    }
    stack.heap = text(heaps_.data[stack_heaps_.data[in_arena]].name_offset);
    profile.stacks.push_back(std::move(stack));
  }
  return profile;
}

}  // namespace memprof::cli
