// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/inlining.h"

#include "platform/memory.h"

namespace memprof::v8 {
namespace {

constexpr uint32_t kMaxPositions = 1u << 14;
constexpr int32_t kSelf = -1;  // for the index of a function: the one that is compiled

// A signed number, 7 bits to a byte, its sign in the lowest bit.
bool take_number(Bytes* table, int64_t* number) {
  uint64_t bits = 0;
  for (uint32_t shift = 0; shift < 64 && table->size_bytes != 0; shift += 7) {
    const uint8_t byte = *table->data++;
    --table->size_bytes;
    bits |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      *number = static_cast<int64_t>(bits >> 1 ^ (0 - (bits & 1)));
      return true;
    }
  }
  return false;
}

// A source position: 1 bit for code of others, 30 bits of position and 16 of the inlined call, both plus one.
constexpr uint64_t kPositionMask = (uint64_t{1} << 30) - 1;
constexpr uint64_t kCallMask = (uint64_t{1} << 16) - 1;

bool split(uint64_t raw, uint32_t* position, int32_t* call) {
  *position = static_cast<uint32_t>(raw >> 1 & kPositionMask) - 1;
  *call = static_cast<int32_t>(raw >> 31 & kCallMask) - 1;
  return (raw & 1) == 0 && *position != UINT32_MAX && raw >> 47 == 0;
}

// What is known of a position of a function; nullptr: its bytecode has no such position.
const PositionLine* find_position(const Codes& codes, uint32_t record, uint32_t position) {
  uint32_t count = 0;
  const PositionLine* const own = codes.own_lines(record, &count);
  for (uint32_t i = 0; i < count; ++i) {
    if (own[i].position == position) {
      return &own[i];
    }
  }
  return nullptr;
}

// 0: not known.
uint32_t line_in(const Codes& codes, uint32_t record, uint32_t position) {
  const PositionLine* const own = find_position(codes, record, position);
  return own != nullptr ? own->line : 0;
}

// Is it a position of the function: of its bytecode, or the one where the function itself begins?  Only the
// latter is in no bytecode; `*entry` is what it was taken to be before, 0: nothing yet.
bool is_position_of(const Codes& codes, uint32_t record, uint32_t position, uint32_t* entry) {
  if (find_position(codes, record, position) != nullptr) {
    return true;
  }
  const bool fits = *entry == 0 || *entry == position + 1;
  *entry = position + 1;
  return fits;
}

// The bytecode of a function, from the object that describes it: it points there, or to something that does.
uint32_t find_bytecode(const Codes& codes, uint64_t object, uint32_t header, uint32_t depth) {
  constexpr uint32_t kWords = 8;
  uint64_t next = 0;
  for (uint32_t i = 1; i <= kWords; ++i) {
    if (!CodeObjects::read_object(object + kWord * i, &next)) {
      continue;
    }
    const uint32_t record = codes.bytecode_at(next + header);
    if (record != Codes::kNone) {
      return record;
    }
    const uint32_t inner = depth != 0 ? find_bytecode(codes, next, header, depth - 1) : Codes::kNone;
    if (inner != Codes::kNone) {
      return inner;
    }
  }
  return Codes::kNone;
}

// V8 14 keeps a list of bytecodes beside the list of functions, in another order.  It would fit too where each function
// has one position only, which is_position_of() takes for the one where the function begins.
bool is_bytecode(const Codes& codes, uint64_t object, uint32_t header) {
  return codes.bytecode_at(object + header) != Codes::kNone;
}

// Leaves of places that follow each other and are the same the first; returns how many are left.
uint32_t without_repetitions(PositionLine* lines, uint32_t count) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (used == 0 || lines[used - 1].position != lines[i].position || lines[used - 1].line != lines[i].line) {
      lines[used++] = lines[i];
    }
  }
  return used;
}

}  // namespace

uint32_t decode_positions(const Bytes& table, const TableForm& form, uint32_t code_bytes,
                          TablePosition* positions, uint32_t max) {
  Bytes left = table;
  int64_t offset = 0;
  int64_t raw = 0;
  uint32_t count = 0;
  while (left.size_bytes != 0) {
    int64_t step = 0;
    int64_t change = 0;
    if (!take_number(&left, &step) || !take_number(&left, &change) || count == max) {
      return 0;
    }
    offset += form.marks_statements_below ? step >> 1 : step >= 0 ? step : -(step + 1);
    raw = static_cast<int64_t>(static_cast<uint64_t>(raw) + static_cast<uint64_t>(change));
    TablePosition& to = positions[count++];
    if (offset < 0 || offset > code_bytes || !split(static_cast<uint64_t>(raw), &to.position, &to.call)) {
      return 0;
    }
    to.offset = static_cast<uint32_t>(offset);
  }
  return count;
}

// Finds the bytecode of what is called: of a literal, or of the function itself, which V8 does not list.  false: it is
// no list of functions.
bool Inlining::find_function(const Codes& codes, const Code& code, uint64_t literals,
                             uint32_t bytecode_header, Call* call) {
  if (call->function == kSelf) {
    Code bytecode{};
    call->record = codes.own_bytecode(code.record, &bytecode) ? bytecode.record : Codes::kNone;
    return true;
  }
  uint64_t function = 0;
  if (call->function < 0 ||
      !CodeObjects::read_object(literals + kWord * (2 + static_cast<uint32_t>(call->function)), &function) ||
      is_bytecode(codes, function, bytecode_header)) {
    return false;
  }
  call->record = find_bytecode(codes, function, bytecode_header, 1);
  return true;
}

bool Inlining::find_functions(const Codes& codes, const Code& code, uint64_t deopt_data,
                              uint32_t bytecode_header, const TablePosition* positions, uint32_t count) {
  constexpr uint32_t kElements = 16;
  uint64_t literals = 0;
  for (uint32_t element = 1; element < kElements; ++element) {
    if (!CodeObjects::read_object(deopt_data + kWord * element, &literals)) {
      continue;
    }
    bool fits = true;
    uint32_t listed = 0;
    uint32_t known = 0;  // of those; the others were compiled before V8 told us of code
    for (uint32_t i = 0; i < calls_count_ && fits; ++i) {
      fits = find_function(codes, code, literals, bytecode_header, &calls_[i]);
      calls_[i].entry = 0;
      listed += calls_[i].function != kSelf ? 1 : 0;
      known += calls_[i].function != kSelf && calls_[i].record != Codes::kNone ? 1 : 0;
    }
    for (uint32_t i = 0; i < count && fits; ++i) {
      const int32_t call = positions[i].call;
      fits = call < 0 || calls_[call].record == Codes::kNone || codes.is_internal(calls_[call].record) ||
             is_position_of(codes, calls_[call].record, positions[i].position, &calls_[call].entry);
    }
    if (fits && (known != 0 || listed == 0)) {
      return true;
    }
  }
  return false;
}

bool Inlining::find_calls(const Codes& codes, const Code& code, uint32_t bytecode_header,
                          const TablePosition* positions, uint32_t count, uint32_t max_call) {
  constexpr uint32_t kCallBytes = 16;
  if (max_call >= kMaxCalls) {
    return false;
  }
  return call_lists_.find_list(code.start, [&](uint64_t owner, uint64_t start, uint32_t bytes) {
    if (bytes % kCallBytes != 0 || bytes / kCallBytes <= max_call || bytes / kCallBytes > kMaxCalls) {
      return false;
    }
    calls_count_ = bytes / kCallBytes;
    for (uint32_t i = 0; i < calls_count_; ++i) {
      uint64_t words[2];
      Call& call = calls_[i];
      if (!platform::read_memory(start + uint64_t{i} * kCallBytes, words, sizeof(words)) ||
          !split(words[0], &call.position, &call.parent) || call.parent >= static_cast<int32_t>(i)) {
        return false;
      }
      call.function = static_cast<int32_t>(words[1]);
    }
    return find_functions(codes, code, owner, bytecode_header, positions, count);
  });
}

// Returns the chain of inlined frames, and the line of the function itself.
uint32_t Inlining::add_frames(Codes* codes, uint32_t record, const TablePosition& at, uint32_t* line) const {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t position = at.position;
  for (int32_t call = at.call; call >= 0; call = calls_[call].parent) {
    const uint32_t of = calls_[call].record;
    const uint32_t frame =
        codes->add_inlined(of, of != Codes::kNone ? line_in(*codes, of, position) : 0, last);
    first = first == 0 ? frame : first;
    last = frame;
    position = calls_[call].position;
  }
  *line = line_in(*codes, record, position);
  return first;
}

// Functions that were compiled before V8 told us of code have no positions to check by.  Their tables are where those of
// others were, and are taken with the list of calls only, whose functions are known.
bool Inlining::add_lines(Codes* codes, uint32_t record, const Code& code, const TableForm& form,
                         uint8_t* scratch) {
  uint32_t own_count = 0;
  const bool has_own = codes->own_lines(record, &own_count) != nullptr && own_count != 0;
  codes->set_lacks_inlined(record, !has_own);
  if (!has_own && (!tables_.is_found() || !call_lists_.is_found())) {
    return false;
  }
  auto* const positions = reinterpret_cast<TablePosition*>(scratch);
  auto* const lines = reinterpret_cast<PositionLine*>(positions + kMaxPositions);
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(lines + kMaxPositions);
  constexpr uint32_t kMaxBytes =
      kScratchBytes - kMaxPositions * (sizeof(TablePosition) + sizeof(PositionLine));
  uint32_t count = 0;
  const auto is_table = [&](uint64_t start, uint32_t size) {
    if (size > kMaxBytes || !platform::read_memory(start, bytes, size)) {
      return false;
    }
    count = decode_positions({bytes, size}, form, code.size_bytes, positions, kMaxPositions);
    uint32_t entry = 0;
    bool fits = count != 0;
    bool has_line = false;
    for (uint32_t i = 0; i < count && fits && has_own; ++i) {
      if (positions[i].call < 0) {
        fits = is_position_of(*codes, record, positions[i].position, &entry);
        has_line = has_line || entry != positions[i].position + 1;
      }
    }
    return fits && (has_line || !has_own);
  };
  if (!tables_.find_table(code.start, is_table)) {
    return false;
  }
  int32_t max_call = -1;
  for (uint32_t i = 0; i < count; ++i) {
    max_call = positions[i].call > max_call ? positions[i].call : max_call;
  }
  const bool has_calls = max_call >= 0 && find_calls(*codes, code, form.bytecode_header, positions, count,
                                                     static_cast<uint32_t>(max_call));
  if (!has_own && !has_calls) {
    return false;
  }
  bool lacks = max_call >= 0 && !has_calls;
  for (uint32_t i = 0; has_calls && i < calls_count_; ++i) {
    lacks = lacks || calls_[i].record == Codes::kNone;
  }
  codes->set_lacks_inlined(record, lacks);
  for (uint32_t i = 0; i < count; ++i) {
    lines[i] = {positions[i].offset, 0, 0};
    if (positions[i].call < 0) {
      lines[i].line = line_in(*codes, record, positions[i].position);
    } else if (i != 0 && positions[i].call == positions[i - 1].call &&
               positions[i].position == positions[i - 1].position) {
      lines[i] = {positions[i].offset, lines[i - 1].position, lines[i - 1].line};
    } else if (has_calls) {
      lines[i].position = add_frames(codes, record, positions[i], &lines[i].line);
    } else {
      lines[i].line = i != 0 ? lines[i - 1].line : 0;
    }
  }
  codes->set_lines(record, lines, without_repetitions(lines, count));
  return true;
}

void Inlining::try_again() {
  tables_.try_again();
  call_lists_.try_again();
}

}  // namespace memprof::v8
