// SPDX-License-Identifier: Apache-2.0
#include "dump/raw_pprof.h"

#include "dump/raw_pprof_frames.h"
#include "dump/raw_pprof_tables.h"
#include "format/pprof/comments.h"
#include "format/pprof/pprof_schema.h"
#include "format/pprof/proto_encoder.h"
#include "format/pprof/sample_writer.h"

namespace memprof::profile {
namespace {

namespace field = schema::profile_field;

constexpr size_t kOutputBytes = size_t{64} << 10;
// The functions of frames that stand for others use their addresses as ids.
constexpr uint64_t kLastGapFunction = schema::kMaxGap;

class RawPprofWriter {
 public:
  RawPprofWriter(const RawProfile& profile, Scratch& scratch, const FrameTable::Counts& counts,
                 const Sink& sink)
      : profile_(profile),
        sample_capacity_(max_sample_bytes(counts.deepest)),
        sample_memory_(scratch.take<uint8_t>(sample_capacity_)),
        functions_(scratch, profile),
        output_(scratch.take<uint8_t>(kOutputBytes), kOutputBytes, sink),
        frames_(profile, scratch, counts) {}

  bool write() {
    if (!frames_.ok()) {  // taken last
      return false;
    }
    write_header();
    write_mappings();
    frames_.number_most_used();
    if (!write_samples()) {
      return false;
    }
    write_locations();
    write_comments();
    return output_.flush();
  }

 private:
  // Returns the string's index.
  uint32_t write_string(const char* text, size_t size) {
    output_.bytes_field(field::kStringTable, text, size);
    return next_string_++;
  }

  static void value_type(wire::Message& message, uint32_t type, uint32_t unit) {
    message.clear();
    message.field(schema::value_type_field::kType, type);
    message.field(schema::value_type_field::kUnit, unit);
  }

  void write_header() {
    for (const char* text : schema::kFixedStrings) {
      write_string(text, text_size(text));
    }
    uint8_t memory[64];
    wire::Message type(memory, sizeof(memory));
    constexpr uint32_t kTypes[schema::kValueCount][2] = {
        {schema::kAllocObjects, schema::kCount}, {schema::kAllocSpace, schema::kBytes},
        {schema::kInuseObjects, schema::kCount}, {schema::kInuseSpace, schema::kBytes},
        {schema::kPeakObjects, schema::kCount},  {schema::kPeakSpace, schema::kBytes}};
    for (const auto& pair : kTypes) {
      value_type(type, pair[0], pair[1]);
      output_.message_field(field::kSampleType, type);
    }
    for (size_t i = 0; i < profile_.mapped_count; ++i) {
      const uint32_t name = write_string(schema::kMappedNames[i], text_size(schema::kMappedNames[i]));
      value_type(type, name, i % 2 == 0 ? schema::kCount : schema::kBytes);
      output_.message_field(field::kSampleType, type);
    }
    for (size_t i = 0; i < schema::kResidentCount && profile_.has_resident; ++i) {
      const uint32_t name = write_string(schema::kResidentNames[i], text_size(schema::kResidentNames[i]));
      value_type(type, name, i % 2 == 0 ? schema::kCount : schema::kBytes);
      output_.message_field(field::kSampleType, type);
    }
    if (profile_.has_js) {
      value_type(type, write_string(schema::kJsName, text_size(schema::kJsName)), schema::kBytes);
      output_.message_field(field::kSampleType, type);
    }
    output_.field(field::kDropFrames, schema::kDropFrames);
    output_.field(field::kTimeNanos, profile_.time_unix_ns);
    output_.field(field::kDurationNanos, profile_.duration_ns);
    value_type(type, schema::kSpace, schema::kBytes);
    output_.message_field(field::kPeriodType, type);
    output_.field(field::kPeriod, profile_.rate_bytes);
    output_.field(field::kDefaultSampleType, profile_.has_ended ? schema::kPeakSpace : schema::kInuseSpace);
  }

  void write_mappings() {
    for (size_t i = 0; i < profile_.module_count; ++i) {
      const RawModule& module = profile_.modules[i];
      const uint32_t path = write_string(module.path, text_size(module.path));
      uint8_t memory[128];
      wire::Message mapping(memory, sizeof(memory));
      mapping.field(schema::mapping_field::kId, i + 1);
      mapping.field(schema::mapping_field::kStart, module.start);
      mapping.field(schema::mapping_field::kLimit, module.limit);
      mapping.field(schema::mapping_field::kFileOffset, module.file_offset);
      mapping.field(schema::mapping_field::kFilename, path);
      mapping.field(schema::mapping_field::kBuildId, write_build_id(module));
      output_.message_field(field::kMapping, mapping);
    }
  }

  uint32_t write_build_id(const RawModule& module) {
    constexpr size_t kMaxBytes = 64;
    if (module.build_id_size == 0 || module.build_id_size > kMaxBytes) {
      return schema::kEmpty;
    }
    char hex[2 * kMaxBytes];
    for (size_t i = 0; i < module.build_id_size; ++i) {
      hex[2 * i] = "0123456789abcdef"[module.build_id[i] >> 4];
      hex[2 * i + 1] = "0123456789abcdef"[module.build_id[i] & 15];
    }
    return write_string(hex, size_t{2} * module.build_id_size);
  }

  bool write_samples() {
    SampleWriter samples(output_, sample_memory_, sample_capacity_, profile_.rate_bytes, true,
                         profile_.mapped_count, profile_.has_resident, profile_.has_js);
    const uint32_t first_heap = next_string_;
    for (size_t i = 0; i < profile_.heap_count; ++i) {
      write_string(profile_.heaps[i], text_size(profile_.heaps[i]));
    }
    size_t live = 0;
    for (size_t i = 0; i < profile_.stack_count && output_.ok(); ++i) {
      const RawStack& stack = profile_.stacks[i];
      const size_t first_live = live;
      while (live < profile_.live_count && profile_.live[live].stack == i) {
        ++live;
      }
      const bool is_mapped = profile_.mapped_count != 0 && stack.mapped[0] != 0;
      if (stack.allocated.samples == 0 && live == first_live && !is_mapped && stack.js_bytes == 0) {
        continue;
      }
      const size_t size = frames_.number(stack);
      if (size == FrameTable::kNoRoom) {
        return false;
      }
      samples.set_stack(frames_.ids(), size);
      samples.set_heap(*heap_of(stack) != '\0' ? first_heap + stack.heap : schema::kEmpty);
      if (stack.allocated.samples != 0 || (profile_.has_resident && stack.resident_bytes > 0)) {
        samples.running_totals(stack.allocated.weight_count, stack.allocated.weight_bytes,
                               stack.peak.weight_count, stack.peak.weight_bytes, stack.resident_count,
                               stack.resident_bytes);
      }
      if (is_mapped) {
        samples.mapped(stack.mapped);
      }
      if (stack.js_bytes != 0) {
        samples.js(stack.js_bytes);
      }
      for (size_t k = first_live; k < live; ++k) {
        const RawLive& group = profile_.live[k];
        samples.live(group.size_bytes, group.rate_bytes, group.samples, group.weight_count,
                     group.weight_bytes);
      }
    }
    return live == profile_.live_count;  // else it was not ordered by stack
  }

  const char* heap_of(const RawStack& stack) const {
    return stack.heap < profile_.heap_count ? profile_.heaps[stack.heap] : "";
  }

  void write_locations() {
    for (size_t i = 0; i < frames_.locations().size() && output_.ok(); ++i) {
      uint8_t memory[64];
      uint8_t line_memory[16];
      wire::Message location(memory, sizeof(memory));
      location.field(schema::location_field::kId, i + 1);
      const uint64_t key = frames_.locations().address(i);
      const size_t told = frames_.keys().mapping_id(key);
      const uint64_t address = frames_.keys().address(key);
      wire::Message line(line_memory, sizeof(line_memory));
      if (schema::is_gap(key + 1)) {
        const char* const text = schema::kGapNames[key + 1];
        const uint32_t name = write_string(text, text_size(text));
        write_function(key + 1, name, name, schema::kEmpty, 0);
        line.field(schema::line_field::kFunctionId, key + 1);
        location.message_field(schema::location_field::kLine, line);
      } else if (frames_.is_runtime_frame(key)) {
        const RawRuntimeFrame& frame = profile_.runtime_frames[key ^ kRuntimeFrame];
        line.field(schema::line_field::kFunctionId, function_id(frame));
        line.field(schema::line_field::kLine, frame.line);
        location.message_field(schema::location_field::kLine, line);
      } else {
        location.field(schema::location_field::kMappingId, told != 0 ? told : mapping_id(address));
        location.field(schema::location_field::kAddress, address);
      }
      output_.message_field(field::kLocation, location);
    }
  }

  void write_function(uint64_t id, uint32_t name, uint32_t system_name, uint32_t file, uint32_t line) {
    uint8_t memory[48];
    wire::Message function(memory, sizeof(memory));
    function.field(schema::function_field::kId, id);
    function.field(schema::function_field::kName, name);
    function.field(schema::function_field::kSystemName, system_name);
    function.field(schema::function_field::kFilename, file);
    function.field(schema::function_field::kStartLine, line);
    output_.message_field(field::kFunction, function);
  }

  // Written when it is first asked for.
  uint64_t function_id(const RawRuntimeFrame& frame) {
    const size_t size = functions_.size();
    const uint64_t id = kLastGapFunction + functions_.id(frame);
    if (functions_.size() != size) {
      const size_t name_size = text_size(frame.name);
      const uint32_t name = write_string(frame.name, name_size);
      write_function(id, name, schema::is_cut_by_pprof(frame.name, name_size) ? schema::kEmpty : name,
                     write_string(frame.file, text_size(frame.file)), frame.function_line);
    }
    return id;
  }

  // 0: no module has the address.
  size_t mapping_id(uint64_t address) {
    // Neighbouring frames are often in one module, so the last answer is tried first.
    for (size_t i = frames_.keys().overlap() ? 1 : 0; i <= profile_.module_count; ++i) {
      const size_t index = i == 0 ? last_module_ : i - 1;
      if (index < profile_.module_count && profile_.modules[index].start <= address &&
          address < profile_.modules[index].limit) {
        last_module_ = index;
        return index + 1;
      }
    }
    return 0;
  }

  void write_comments() {
    const uint32_t first = next_string_;
    {
      CommentText text;  // one at a time: a signal handler's stack may be small
      profile_comment(text, profile_.program, text_size(profile_.program), profile_);
      write_string(text.data(), text.size());
    }
    if (profile_.command_line[0] != '\0') {
      CommentText text;
      command_line_comment(text, {profile_.command_line, text_size(profile_.command_line)});
      write_string(text.data(), text.size());
    }
    if (profile_.rate_count > 1) {
      CommentText text;
      rates_comment(text, profile_.rates, profile_.rate_count);
      write_string(text.data(), text.size());
    }
    if (profile_.resident.is_known()) {
      CommentText text;
      resident_comment(text, profile_.resident);
      write_string(text.data(), text.size());
    }
    if (profile_.load.is_known()) {
      CommentText text;
      load_comment(text, profile_.load);
      write_string(text.data(), text.size());
    }
    if (profile_.note[0] != '\0') {
      write_string(profile_.note, text_size(profile_.note));
    }
    size_t live = 0;
    for (size_t i = 0; i < profile_.stack_count && output_.ok(); ++i) {
      const RawStack& stack = profile_.stacks[i];
      const size_t first_live = live;
      while (live < profile_.live_count && profile_.live[live].stack == i) {
        ++live;
      }
      if (stack.allocated.samples == 0 && live == first_live) {
        continue;
      }
      StackId id = frames_.id_of(stack);
      id.add_heap(heap_of(stack), text_size(heap_of(stack)));
      CommentText comment;
      stack_comment(comment, id.value(), stack);
      write_string(comment.data(), comment.size());
    }
    for (uint32_t index = first; index != next_string_; ++index) {
      output_.field(field::kComment, index);
    }
  }

  const RawProfile& profile_;
  size_t sample_capacity_;
  uint8_t* sample_memory_;
  FunctionTable functions_;
  wire::Output output_;
  FrameTable frames_;
  uint32_t next_string_ = 0;
  size_t last_module_ = 0;
};

}  // namespace

size_t raw_pprof_scratch_bytes(const RawProfile& profile) {
  const FrameTable::Counts counts = FrameTable::count(profile);
  return aligned(max_sample_bytes(counts.deepest)) + FunctionTable::scratch_bytes(profile) +
         aligned(kOutputBytes) + FrameTable::scratch_bytes(profile, counts);
}

bool write_raw_pprof(const RawProfile& profile, void* scratch, size_t scratch_bytes, const Sink& sink) {
  Scratch pieces(scratch, scratch_bytes);
  RawPprofWriter writer(profile, pieces, FrameTable::count(profile), sink);
  return writer.write();
}

}  // namespace memprof::profile
