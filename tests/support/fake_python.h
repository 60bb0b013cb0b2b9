// SPDX-License-Identifier: Apache-2.0
// Objects and frames laid out as CPython 3.12 lays them out, in memory of the test.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "runtime/cpython/codes.h"
#include "runtime/cpython/layout.h"

namespace memprof::testing_support {

class FakePython {
 public:
  FakePython() {
    interpreter.version = 0x030c0000;
    interpreter.code_type = &code_type_;
    interpreter.unicode_type = &types_[0];
    interpreter.bytes_type = &types_[1];
    cpython::find_layout(interpreter, &layout);
    cpython::unwatch_codes();
    cpython::watch_codes(interpreter, layout);
  }
  FakePython(const FakePython&) = delete;
  FakePython& operator=(const FakePython&) = delete;

  // Of one byte a character, or of the characters given.
  uint64_t text(const std::string& ascii) {
    const uint64_t object = make(interpreter.unicode_type);
    put(object + layout.text_length, uint64_t{ascii.size()});
    put(object + layout.text_state, uint32_t{1u << 2 | 1u << 5 | 1u << 6});
    copy(object + layout.text_ascii, ascii.data(), ascii.size());
    return object;
  }
  // Other characters at the same address, as many as there were or fewer.
  void rewrite(uint64_t text, const std::string& ascii) {
    copy(text + layout.text_ascii, ascii.data(), ascii.size());
  }
  template <typename Character>
  uint64_t wide_text(const std::vector<Character>& characters) {
    const uint64_t object = make(interpreter.unicode_type);
    put(object + layout.text_length, uint64_t{characters.size()});
    put(object + layout.text_state, static_cast<uint32_t>(sizeof(Character) << 2 | 1u << 5));
    copy(object + layout.text_compact, characters.data(), characters.size() * sizeof(Character));
    return object;
  }
  uint64_t bytes(const std::string& data) {
    const uint64_t object = make(interpreter.bytes_type);
    put(object + layout.bytes_size, uint64_t{data.size()});
    copy(object + layout.bytes_data, data.data(), data.size());
    return object;
  }
  // 100 code units, all on `first_line`; the first of them before the function runs.
  uint64_t code(uint64_t name, uint64_t file, uint32_t first_line) {
    std::string lines;
    for (int i = 0; i < 13; ++i) {
      lines += "\x87\x01";
    }
    const uint64_t object = make(interpreter.code_type);
    put(object + layout.bytes_size, uint64_t{100});
    put(object + layout.code_name, name);
    put(object + layout.code_file, file);
    put(object + layout.code_lines, bytes(lines));
    put(object + layout.code_first_line, first_line);
    put(object + layout.code_first_traceable, int32_t{1});
    return object;
  }
  uint64_t code(const std::string& name, const std::string& file = "file.py", uint32_t first_line = 10) {
    return code(text(name), text(file), first_line);
  }

  // As the interpreter drops the last reference to code.
  void drop(uint64_t code_object) { code_type_.deallocate(reinterpret_cast<void*>(code_object)); }

  // At the code unit `unit`, called by `previous`.
  uint64_t frame(uint64_t code_object, uint64_t previous, int unit = 20, uint8_t owner = 0) {
    frames_.emplace_back();
    return fill_frame(reinterpret_cast<uint64_t>(frames_.back().data()), code_object, previous, unit, owner);
  }
  // In `place`: what the evaluation loop has on its stack.
  uint64_t entry_frame(void* place, uint64_t previous) {
    return fill_frame(reinterpret_cast<uint64_t>(place), 0, previous, 0, 3);
  }
  // A thread that runs `frame`.
  uint64_t thread(uint64_t frame) {
    const uint64_t cframe = make(nullptr);
    put(cframe + layout.cframe_frame, frame);
    const uint64_t state = make(nullptr);
    put(state + layout.thread_frame, cframe);
    return state;
  }

  template <typename T>
  static void put(uint64_t address, T value) {
    memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
  }

  struct CodeType {
    uint64_t header[3];
    const char* name;
    uint64_t sizes[2];
    void (*deallocate)(void* object);
  };

  cpython::Interpreter interpreter{};
  cpython::Layout layout{};

 private:
  using Object = std::array<uint64_t, 64>;
  using Frame = std::array<uint64_t, 18>;  // with a few locals

  uint64_t make(const void* type) {
    objects_.emplace_back();
    const uint64_t object = reinterpret_cast<uint64_t>(objects_.back().data());
    put(object + layout.object_type, reinterpret_cast<uint64_t>(type));
    return object;
  }
  static void copy(uint64_t address, const void* data, size_t size) {
    memcpy(reinterpret_cast<void*>(address), data, size);
  }
  uint64_t fill_frame(uint64_t frame, uint64_t code_object, uint64_t previous, int unit, uint8_t owner) {
    put(frame + layout.frame_code, code_object);
    put(frame + layout.frame_previous, previous);
    put(frame + layout.frame_instruction,
        code_object + layout.code_bytecode + 2 * static_cast<uint64_t>(unit));
    put(frame + layout.frame_owner, owner);
    return frame;
  }

  CodeType code_type_{{}, "code", {}, [](void*) {}};
  uint64_t types_[2]{};
  std::deque<Object> objects_;
  std::deque<Frame> frames_;
};

}  // namespace memprof::testing_support
