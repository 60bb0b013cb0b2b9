// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/layout.h"

#include <cstring>

namespace memprof::cpython {
namespace {

constexpr uint32_t kWord = 8;

constexpr Layout kLayout311 = {56,  true, 8,   16,  152, 32, 48, 56, 69, 68, 0, false, 112, 128,
                               136, 72,   168, 184, 0,   8,  16, 32, 48, 72, 2, 16,    32};
constexpr Layout kLayout312 = {56,  true, 0,   8,   0, 0, 8,  56, 70, 0,  0, true, 112, 128,
                               136, 68,   176, 192, 0, 8, 16, 32, 40, 56, 2, 16,   32};

// _Py_DebugOffsets as words: which of them says what.
struct OffsetTable {
  uint32_t thread_frame;
  uint32_t frame_previous, frame_code, frame_instruction, frame_owner, frame_bytecode_index;
  uint32_t code_file, code_name, code_lines, code_first_line, code_bytecode, code_thread_bytecode;
  uint32_t object_type;
  uint32_t bytes_size, bytes_data;
  uint32_t text_state, text_length, text_ascii_size;
};

// Counts through the groups of the table: each is so many words.
constexpr OffsetTable make_table(uint32_t interpreter_words, uint32_t thread_words, uint32_t extra_words,
                                 uint32_t frame_words, uint32_t code_words, uint32_t type_words,
                                 uint32_t words_before_bytes) {
  const uint32_t thread = 3 + 3 + interpreter_words;
  const uint32_t frame = thread + thread_words + extra_words;
  const uint32_t code = frame + frame_words;
  const uint32_t object = code + code_words;
  const uint32_t bytes = object + 2 + type_words + words_before_bytes;
  const uint32_t text = bytes + 3;
  OffsetTable t{};
  t.thread_frame = thread + 4;
  t.frame_previous = frame + 1;
  t.frame_code = frame + 2;
  t.frame_instruction = frame + 3;
  t.frame_owner = frame + 5;
  t.frame_bytecode_index = frame_words > 7 ? frame + 7 : 0;
  t.code_file = code + 1;
  t.code_name = code + 3;
  t.code_lines = code + 4;
  t.code_first_line = code + 5;
  t.code_bytecode = code + 9;
  t.code_thread_bytecode = code_words > 10 ? code + 10 : 0;
  t.object_type = object + 1;
  t.bytes_size = bytes + 1;
  t.bytes_data = bytes + 2;
  t.text_state = text + 1;
  t.text_length = text + 2;
  t.text_ascii_size = text + 3;
  return t;
}

// Before bytes: tuple 3, list 3, set 4 (from 3.14), dict 3, float 2, int 3; 3.15: heap types 2.
constexpr OffsetTable kTable313 = make_table(13, 9, 0, 6, 10, 4, 3 + 3 + 3 + 2 + 3);
constexpr OffsetTable kTable314 = make_table(16, 9, 0, 8, 11, 4, 3 + 3 + 4 + 3 + 2 + 3);
constexpr OffsetTable kTable315 = make_table(16, 16, 1, 8, 11, 6, 2 + 3 + 3 + 4 + 3 + 2 + 3);

// Three words: the cookie, the version, whether there is no GIL.
constexpr uint32_t kVersionWord = 1;
constexpr uint32_t kFreeThreadedWord = 2;

bool read_table(const OffsetTable& table, const Interpreter& interpreter, Layout* l) {
  const auto* words = static_cast<const uint64_t*>(interpreter.runtime);
  if (words == nullptr || memcmp(words, "xdebugpy", kWord) != 0 ||
      static_cast<uint32_t>(words[kVersionWord]) >> 16 != interpreter.version >> 16) {
    return false;
  }
  bool plausible = true;
  const auto offset = [&](uint32_t word) {
    constexpr uint64_t kLargest = 4096;
    plausible &= words[word] < kLargest;
    return static_cast<uint32_t>(words[word]);
  };
  const bool is_free_threaded = words[kFreeThreadedWord] != 0;
  *l = {};
  l->has_entry_frames = true;
  l->thread_frame = offset(table.thread_frame);
  l->frame_code = offset(table.frame_code);
  l->frame_previous = offset(table.frame_previous);
  l->frame_instruction = offset(table.frame_instruction);
  l->frame_owner = offset(table.frame_owner);
  l->code_file = offset(table.code_file);
  l->code_name = offset(table.code_name);
  l->code_lines = offset(table.code_lines);
  l->code_first_line = offset(table.code_first_line);
  l->code_bytecode = offset(table.code_bytecode);
  if (is_free_threaded && table.code_thread_bytecode != 0) {
    l->frame_bytecode_index = offset(table.frame_bytecode_index);
    l->code_thread_bytecode = offset(table.code_thread_bytecode);
  }
  // int _co_firsttraceable; void* co_extra; [co_tlbc;] co_code_adaptive
  l->code_first_traceable =
      (l->code_thread_bytecode != 0 ? l->code_thread_bytecode : l->code_bytecode) - 2 * kWord;
  l->object_type = offset(table.object_type);
  l->text_state = offset(table.text_state);
  l->text_length = offset(table.text_length);
  l->text_ascii = offset(table.text_ascii_size);
  l->text_compact = l->text_ascii + 2 * kWord;
  // A byte of its own for `interned`, where there is no GIL, from 3.14 on.
  l->text_kind_shift = is_free_threaded && interpreter.is_at_least(3, 14) ? 8 : 2;
  l->bytes_size = offset(table.bytes_size);
  l->bytes_data = offset(table.bytes_data);
  return plausible && l->code_bytecode > 3 * kWord;
}

}  // namespace

bool find_layout(const Interpreter& interpreter, Layout* layout) {
  switch (interpreter.version >> 16) {
    case 0x030b:
      *layout = kLayout311;
      return true;
    case 0x030c:
      *layout = kLayout312;
      return true;
    case 0x030d:
      return read_table(kTable313, interpreter, layout);
    case 0x030e:
      return read_table(kTable314, interpreter, layout);
    case 0x030f:
      return read_table(kTable315, interpreter, layout);
    default:
      return false;
  }
}

}  // namespace memprof::cpython
