// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/eh_frame.h"

namespace memprof::unwind {
namespace {

// Pointer encodings (DW_EH_PE_*).
enum : uint8_t {
  kFormat = 0x0f,
  kPointer = 0x00,
  kUleb = 0x01,
  kUdata2 = 0x02,
  kUdata4 = 0x03,
  kUdata8 = 0x04,
  kSleb = 0x09,
  kSdata2 = 0x0a,
  kSdata4 = 0x0b,
  kSdata8 = 0x0c,
  kRelativeTo = 0x70,
  kToPosition = 0x10,
  kToIndex = 0x30,
  kIndirect = 0x80,
  kOmitted = 0xff,
};

uint64_t read_pointer(Bytes& bytes, uint8_t encoding, uint64_t index) {
  const uint64_t position = bytes.position();
  uint64_t value = 0;
  switch (encoding & kFormat) {
    case kPointer:
    case kUdata8:
    case kSdata8:
      value = bytes.read<uint64_t>();
      break;
    case kUleb:
      value = bytes.read_uleb();
      break;
    case kUdata2:
      value = bytes.read<uint16_t>();
      break;
    case kUdata4:
      value = bytes.read<uint32_t>();
      break;
    case kSleb:
      value = static_cast<uint64_t>(bytes.read_sleb());
      break;
    case kSdata2:
      value = static_cast<uint64_t>(int64_t{bytes.read<int16_t>()});
      break;
    case kSdata4:
      value = static_cast<uint64_t>(int64_t{bytes.read<int32_t>()});
      break;
    default:
      bytes = Bytes::failed();
      return 0;
  }
  switch (encoding & kRelativeTo) {
    case 0:
      return value;
    case kToPosition:
      return value + position;
    case kToIndex:
      return value + index;
    default:
      bytes = Bytes::failed();
      return 0;
  }
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

struct Common {  // what a CIE says
  uint64_t code_alignment = 0;
  int64_t data_alignment = 0;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = kPointer;
  bool is_signal_frame = false;
  bool has_augmentation_data = false;
  Bytes program = Bytes::failed();
};

bool read_common(const Image& image, uint64_t at, Common* common) {
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
        read_pointer(data, encoding & static_cast<uint8_t>(~kIndirect), 0);
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
    read_pointer(bytes, frame_encoding, image.index);
  }
  const uint64_t count = read_pointer(bytes, count_encoding, image.index);
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

// The part of a row that DW_CFA_remember_state keeps.
struct State {
  Row::CfaKind cfa_kind;
  uint8_t cfa_register;
  int64_t cfa_offset;
  Expression cfa_expression;
  RegisterRule registers[kRegisters];
};

class Machine {
 public:
  Machine(const Common& common, uint64_t start, uint64_t address, uint64_t index)
      : common_(common), location_(start), address_(address), index_(index) {}

  // Runs a program up to the row of the address.  false: it is corrupt.
  bool run(Bytes program);
  void keep_as_initial() { initial_ = state_; }
  const State& state() const { return state_; }

 private:
  static constexpr int kMostRemembered = 4;  // compilers write one

  bool advance(uint64_t delta) {  // false: the next row begins above the address
    location_ += delta * common_.code_alignment;
    return location_ <= address_;
  }
  void set(uint64_t dwarf, RegisterRule rule) {
    const uint8_t r = to_register(dwarf);
    if (r != kRegisters) {
      state_.registers[r] = rule;
    }
  }
  static RegisterRule at_cfa(int64_t offset) { return {RegisterRule::kAtCfa, 0, 0, offset}; }
  void set_expression(uint64_t dwarf, RegisterRule::Kind kind, Bytes& program);

  const Common& common_;
  uint64_t location_;
  const uint64_t address_;
  const uint64_t index_;
  State state_{};
  State initial_{};
  State remembered_[kMostRemembered];
  int remembered_count_ = 0;
};

void Machine::set_expression(uint64_t dwarf, RegisterRule::Kind kind, Bytes& program) {
  const uint64_t length = program.read_uleb();
  const Bytes expression = program.take(length);
  if (length > UINT16_MAX) {
    program = Bytes::failed();
    return;
  }
  set(dwarf, {kind, static_cast<uint16_t>(length), 0, static_cast<int64_t>(expression.position())});
}

bool Machine::run(Bytes program) {
  const int64_t unit = common_.data_alignment;
  const auto scaled = [unit](uint64_t n) { return static_cast<int64_t>(n * static_cast<uint64_t>(unit)); };
  while (!program.empty()) {
    const uint8_t op = program.read<uint8_t>();
    const uint64_t low = op & 0x3f;
    switch (op >> 6) {
      case 1:  // advance_loc
        if (!advance(low)) {
          return program.ok();
        }
        continue;
      case 2:  // offset
        set(low, at_cfa(scaled(program.read_uleb())));
        continue;
      case 3: {  // restore
        const uint8_t r = to_register(low);
        if (r != kRegisters) {
          state_.registers[r] = initial_.registers[r];
        }
        continue;
      }
      default:
        break;
    }
    bool goes_on = true;
    switch (op) {
      case 0x00:  // nop
        break;
      case 0x01:  // set_loc
        location_ = read_pointer(program, common_.pointer_encoding, index_);
        goes_on = location_ <= address_;
        break;
      case 0x02:  // advance_loc1
        goes_on = advance(program.read<uint8_t>());
        break;
      case 0x03:  // advance_loc2
        goes_on = advance(program.read<uint16_t>());
        break;
      case 0x04:  // advance_loc4
        goes_on = advance(program.read<uint32_t>());
        break;
      case 0x05: {  // offset_extended
        const uint64_t r = program.read_uleb();
        set(r, at_cfa(scaled(program.read_uleb())));
        break;
      }
      case 0x06: {  // restore_extended
        const uint8_t r = to_register(program.read_uleb());
        if (r != kRegisters) {
          state_.registers[r] = initial_.registers[r];
        }
        break;
      }
      case 0x07:  // undefined
        set(program.read_uleb(), {RegisterRule::kUndefined, 0, 0, 0});
        break;
      case 0x08:  // same_value
        set(program.read_uleb(), {RegisterRule::kSame, 0, 0, 0});
        break;
      case 0x09: {  // register
        const uint64_t r = program.read_uleb();
        set(r, {RegisterRule::kInRegister, 0, to_register(program.read_uleb()), 0});
        break;
      }
      case 0x0a:  // remember_state
        if (remembered_count_ == kMostRemembered) {
          return false;
        }
        remembered_[remembered_count_++] = state_;
        break;
      case 0x0b:  // restore_state
        if (remembered_count_ == 0) {
          return false;
        }
        state_ = remembered_[--remembered_count_];
        break;
      case 0x0c:  // def_cfa
        state_.cfa_kind = Row::kCfaRegister;
        state_.cfa_register = to_register(program.read_uleb());
        state_.cfa_offset = static_cast<int64_t>(program.read_uleb());
        break;
      case 0x0d:  // def_cfa_register
        state_.cfa_kind = Row::kCfaRegister;
        state_.cfa_register = to_register(program.read_uleb());
        break;
      case 0x0e:  // def_cfa_offset
        state_.cfa_offset = static_cast<int64_t>(program.read_uleb());
        break;
      case 0x0f: {  // def_cfa_expression
        const Bytes expression = program.take(program.read_uleb());
        state_.cfa_kind = Row::kCfaExpression;
        state_.cfa_expression = {expression.position(), expression.end()};
        break;
      }
      case 0x10: {  // expression
        const uint64_t r = program.read_uleb();
        set_expression(r, RegisterRule::kAtExpression, program);
        break;
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t r = program.read_uleb();
        set(r, at_cfa(scaled(static_cast<uint64_t>(program.read_sleb()))));
        break;
      }
      case 0x12:  // def_cfa_sf
        state_.cfa_kind = Row::kCfaRegister;
        state_.cfa_register = to_register(program.read_uleb());
        state_.cfa_offset = scaled(static_cast<uint64_t>(program.read_sleb()));
        break;
      case 0x13:  // def_cfa_offset_sf
        state_.cfa_offset = scaled(static_cast<uint64_t>(program.read_sleb()));
        break;
      case 0x14: {  // val_offset
        const uint64_t r = program.read_uleb();
        set(r, {RegisterRule::kCfaPlus, 0, 0, scaled(program.read_uleb())});
        break;
      }
      case 0x15: {  // val_offset_sf
        const uint64_t r = program.read_uleb();
        set(r, {RegisterRule::kCfaPlus, 0, 0, scaled(static_cast<uint64_t>(program.read_sleb()))});
        break;
      }
      case 0x16: {  // val_expression
        const uint64_t r = program.read_uleb();
        set_expression(r, RegisterRule::kExpression, program);
        break;
      }
      case 0x2c:  // AARCH64_negate_ra_state_with_pc
      case 0x2d:  // AARCH64_negate_ra_state: from here on the return address is signed, or no more
        if (!kIsAarch64) {
          return false;
        }
        break;
      case 0x2e:  // GNU_args_size
        program.read_uleb();
        break;
      case 0x2f: {  // GNU_negative_offset_extended
        const uint64_t r = program.read_uleb();
        set(r, at_cfa(scaled(uint64_t{0} - program.read_uleb())));
        break;
      }
      default:
        return false;
    }
    if (!goes_on) {
      return program.ok();
    }
  }
  return program.ok();
}

}  // namespace

namespace {

// The entry that describes `address`, read up to its range.
Found find_entry(const Image& image, uint64_t address, Entry* entry, Common* common, FunctionRange* range) {
  const uint64_t at = search_index(image, address);
  if (at == 0) {
    return Found::kNo;
  }
  if (!read_entry(image, at, entry) || entry->id == 0 ||
      !read_common(image, entry->id_position - entry->id, common)) {
    return Found::kCorrupt;
  }
  Bytes& bytes = entry->content;
  range->start = read_pointer(bytes, common->pointer_encoding, image.index);
  const uint64_t size = read_pointer(bytes, common->pointer_encoding & kFormat, 0);
  range->limit = range->start + size;
  if (!bytes.ok()) {
    return Found::kCorrupt;
  }
  // Else in a gap between functions.
  return address >= range->start && address - range->start < size ? Found::kYes : Found::kNo;
}

}  // namespace

Found find_function(const Image& image, uint64_t address, FunctionRange* range) {
  Entry entry;
  Common common;
  return find_entry(image, address, &entry, &common, range);
}

Found find_row(const Image& image, uint64_t address, Row* row) {
  Entry entry;
  Common common;
  FunctionRange range;
  const Found found = find_entry(image, address, &entry, &common, &range);
  if (found != Found::kYes) {
    return found;
  }
  const uint64_t start = range.start;
  Bytes& bytes = entry.content;
  if (common.has_augmentation_data) {
    bytes.skip(bytes.read_uleb());
  }
  if (!bytes.ok() || common.return_register != kReturnColumn) {
    return Found::kCorrupt;
  }
  Machine machine(common, start, address, image.index);
  // The common program describes the state at the function's first instruction: it has no locations.
  if (!machine.run(common.program)) {
    return Found::kCorrupt;
  }
  machine.keep_as_initial();
  if (!machine.run(bytes)) {
    return Found::kCorrupt;
  }
  const State& state = machine.state();
  row->cfa_kind = state.cfa_kind;
  row->cfa_register = state.cfa_register;
  row->cfa_offset = state.cfa_offset;
  row->cfa_expression = state.cfa_expression;
  memcpy(row->registers, state.registers, sizeof(row->registers));
  row->is_signal_frame = common.is_signal_frame;
  return state.cfa_kind == Row::kCfaNone ? Found::kCorrupt : Found::kYes;
}

}  // namespace memprof::unwind
