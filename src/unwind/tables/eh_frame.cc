// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/eh_frame.h"

#include "unwind/tables/cfa_machine.h"
#include "unwind/tables/eh_pointer.h"

namespace memprof::unwind {
namespace {

Bases bases_of(const Image& image) {
  return {image.shift, image.index};
}

struct Entry {  // a CIE or an FDE: its content after the length
  Bytes content = Bytes::failed();
  uint64_t id = 0;  // 0: CIE; else the distance from `id_position` back to the CIE
  uint64_t id_position = 0;
};

bool read_entry(const Image& image, uint64_t at, Entry* entry) {
  if (at < image.readable_low || at >= image.readable_high) {
    return false;
  }
  Bytes bytes(at, image.readable_high);
  uint64_t length = bytes.read<uint32_t>();
  if (length == 0xffffffffu) {
    length = bytes.read<uint64_t>();
  }
  if (!bytes.ok() || length < 4) {
    return false;
  }
  entry->content = bytes.take(length);
  entry->id_position = entry->content.position();
  entry->id = entry->content.read<uint32_t>();
  return entry->content.ok();
}

bool read_common(const Image& image, uint64_t at, CommonPart* common) {
  Entry entry;
  if (!read_entry(image, at, &entry) || entry.id != 0) {
    return false;
  }
  Bytes bytes = entry.content;
  const uint8_t version = bytes.read<uint8_t>();
  if (version != 1 && version != 3) {
    return false;
  }
  Bytes augmentation = bytes;
  while (bytes.read<char>() != '\0') {
    if (!bytes.ok()) {
      return false;
    }
  }
  common->code_alignment = bytes.read_uleb();
  common->data_alignment = bytes.read_sleb();
  common->return_register = version == 1 ? bytes.read<uint8_t>() : bytes.read_uleb();
  char letter = augmentation.read<char>();
  if (letter == 'z') {
    common->has_augmentation_data = true;
    Bytes data = bytes.take(bytes.read_uleb());
    for (letter = augmentation.read<char>(); letter != '\0'; letter = augmentation.read<char>()) {
      if (letter == 'R') {
        common->pointer_encoding = data.read<uint8_t>();
      } else if (letter == 'P') {
        const uint8_t encoding = data.read<uint8_t>();
        read_pointer(data, encoding & static_cast<uint8_t>(~kIndirect), {});
      } else if (letter == 'L') {
        data.skip(1);
      } else if (letter == 'S') {
        common->is_signal_frame = true;
      } else if (letter == 'B' || letter == 'G') {
        // aarch64: which key signs return addresses, memory tags; nothing that a walk must know
      } else {
        break;  // what is unknown comes last; 'z' says how long it is
      }
      if (!data.ok()) {
        return false;
      }
    }
  } else if (letter != '\0') {
    return false;
  }
  common->program = bytes;
  return bytes.ok();
}

// The entry of .eh_frame_hdr that `address` falls into; 0: none.
uint64_t search_index(const Image& image, uint64_t address) {
  if (image.index < image.readable_low || image.index >= image.readable_high) {
    return 0;
  }
  Bytes bytes(image.index, image.readable_high);
  const uint8_t version = bytes.read<uint8_t>();
  const uint8_t frame_encoding = bytes.read<uint8_t>();
  const uint8_t count_encoding = bytes.read<uint8_t>();
  const uint8_t table_encoding = bytes.read<uint8_t>();
  constexpr uint8_t kTable = kToIndex | kSdata4;
  // Every linker writes this form; an index of another form could not be searched by halves.
  if (!bytes.ok() || version != 1 || count_encoding == kOmitted || table_encoding != kTable) {
    return 0;
  }
  if (frame_encoding != kOmitted) {
    read_pointer(bytes, frame_encoding, bases_of(image));
  }
  const uint64_t count = read_pointer(bytes, count_encoding, bases_of(image));
  constexpr uint64_t kEntryBytes = 8;
  if (!bytes.ok() || count == 0 || count > (bytes.end() - bytes.position()) / kEntryBytes) {
    return 0;
  }
  const uint64_t table = bytes.position();
  const auto field = [&](uint64_t i, uint64_t offset) {
    int32_t value;
    memcpy(&value, reinterpret_cast<const void*>(table + i * kEntryBytes + offset), sizeof(value));
    return image.index + static_cast<uint64_t>(int64_t{value});
  };
  uint64_t low = 0;
  uint64_t high = count;  // the first entry whose start is above the address
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (field(middle, 0) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : field(low - 1, 4);
}

// The frame description at `at`, read up to its range.
bool read_description(const Image& image, uint64_t at, Entry* entry, CommonPart* common,
                      FunctionRange* range) {
  if (!read_entry(image, at, entry) || entry->id == 0 ||
      !read_common(image, entry->id_position - entry->id, common)) {
    return false;
  }
  Bytes& bytes = entry->content;
  range->start = read_pointer(bytes, common->pointer_encoding, bases_of(image));
  range->limit = range->start + read_pointer(bytes, common->pointer_encoding & kFormat, {});
  return bytes.ok();
}

// The one that describes `address`.
Found find_description(const Image& image, uint64_t address, Entry* entry, CommonPart* common,
                       FunctionRange* range) {
  const uint64_t at = search_index(image, address);
  if (at == 0) {
    return Found::kNo;
  }
  if (!read_description(image, at, entry, common, range)) {
    return Found::kCorrupt;
  }
  // Else in a gap between functions.
  return address >= range->start && address - range->start < range->limit - range->start ? Found::kYes
                                                                                         : Found::kNo;
}

// Of a description that was read up to its range.  Inlined: a walk has little stack.
[[gnu::always_inline]] inline Found run_description(const Image& image, const CommonPart& common, Bytes bytes,
                                                    uint64_t start, uint64_t address, Row* row) {
  if (common.has_augmentation_data) {
    bytes.skip(bytes.read_uleb());
  }
  if (!bytes.ok() || common.return_register != kReturnColumn) {
    return Found::kCorrupt;
  }
  CfaMachine machine(common, start, address, bases_of(image));
  // The common program describes the state at the function's first instruction: it has no locations.
  if (!machine.run(common.program)) {
    return Found::kCorrupt;
  }
  machine.keep_as_initial();
  if (!machine.run(bytes)) {
    return Found::kCorrupt;
  }
  const CfaState& state = machine.state();
  row->cfa_kind = state.cfa_kind;
  row->cfa_register = state.cfa_register;
  row->cfa_offset = state.cfa_offset;
  row->cfa_expression = state.cfa_expression;
  memcpy(row->registers, state.registers, sizeof(row->registers));
  row->is_signal_frame = common.is_signal_frame;
  return state.cfa_kind == Row::kCfaNone ? Found::kCorrupt : Found::kYes;
}

}  // namespace

Found find_function(const Image& image, uint64_t address, FunctionRange* range) {
  Entry entry;
  CommonPart common;
  return find_description(image, address, &entry, &common, range);
}

Found find_row(const Image& image, uint64_t address, Row* row) {
  Entry entry;
  CommonPart common;
  FunctionRange range;
  const Found found = find_description(image, address, &entry, &common, &range);
  return found == Found::kYes ? run_description(image, common, entry.content, range.start, address, row)
                              : found;
}

Found find_row_in(const Image& image, uint64_t description, uint64_t address, Row* row) {
  Entry entry;
  CommonPart common;
  FunctionRange range;
  return read_description(image, description, &entry, &common, &range)
             ? run_description(image, common, entry.content, range.start, address, row)
             : Found::kCorrupt;
}

bool read_range(const Image& image, uint64_t description, FunctionRange* range) {
  Entry entry;
  CommonPart common;
  // What is relative to anything but its own place cannot be known here.
  return read_description(image, description, &entry, &common, range) &&
         (common.pointer_encoding & (kRelativeTo | kIndirect) & ~kToPosition) == 0;
}

}  // namespace memprof::unwind
