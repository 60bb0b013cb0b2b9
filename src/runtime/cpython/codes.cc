// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/codes.h"

#include <atomic>
#include <cstring>

#include "core/engine/profiler.h"
#include "format/runtime_frame.h"

namespace memprof::cpython {
namespace {

constexpr uint32_t kCodeUnitBytes = 2;

struct Identity {
  uint64_t object, file, name, lines;
  uint32_t first_line;
};

template <typename Memory>
bool read_identity(const Layout& l, uint64_t object, Identity* id) {
  id->object = object;
  return Memory::may_be(object) && Memory::read(object + l.code_file, &id->file) &&
         Memory::read(object + l.code_name, &id->name) && Memory::read(object + l.code_lines, &id->lines) &&
         Memory::read(object + l.code_first_line, &id->first_line);
}

// Of its places, the one that is looked at after `i` others.
CodeSlot* place(CodeSlot* first, uint32_t i) {
  return &g_code_slots[static_cast<uint32_t>(first - g_code_slots) ^ i];
}

struct Text {
  const char* bytes;
  uint32_t size_bytes;
};

constexpr uint32_t kTextBytes = 1024;  // of one that is not ASCII

// UTF-8 of characters of `kind` bytes; cut where the buffer ends.
uint32_t encode(const uint8_t* characters, uint64_t length, uint32_t kind, char* buffer) {
  uint32_t size = 0;
  for (uint64_t i = 0; i < length && size + 4 <= kTextBytes; ++i) {
    uint32_t c = 0;
    memcpy(&c, characters + i * kind, kind);
    const auto put = [&](uint32_t byte) { buffer[size++] = static_cast<char>(byte); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6);
      put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12);
      put(0x80 | (c >> 6 & 0x3f));
      put(0x80 | (c & 0x3f));
    } else {
      put(0xf0 | (c >> 18 & 7));
      put(0x80 | (c >> 12 & 0x3f));
      put(0x80 | (c >> 6 & 0x3f));
      put(0x80 | (c & 0x3f));
    }
  }
  return size;
}

template <typename Memory>
bool has_type(const Layout& l, uint64_t object, const void* type) {
  uint64_t found = 0;
  return object % alignof(void*) == 0 && Memory::may_be(object) &&
         Memory::read(object + l.object_type, &found) && found == reinterpret_cast<uint64_t>(type);
}

template <typename Memory>
bool read_text(const Interpreter& interpreter, const Layout& l, uint64_t object, char* buffer, Text* text) {
  constexpr uint64_t kMaxCharacters = 1u << 20;
  uint64_t length = 0;
  uint32_t state = 0;
  if (!has_type<Memory>(l, object, interpreter.unicode_type) ||
      !Memory::read(object + l.text_length, &length) || !Memory::read(object + l.text_state, &state) ||
      length > kMaxCharacters) {
    return false;
  }
  state >>= l.text_kind_shift;
  const uint32_t kind = state & 7;
  const bool is_compact = (state & 8) != 0;
  const bool is_ascii = (state & 16) != 0;
  const uint64_t characters = object + (is_ascii ? l.text_ascii : l.text_compact);
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4) || (is_ascii && kind != 1) ||
      !Memory::is_readable(characters, length * kind)) {
    return false;
  }
  const auto* data = reinterpret_cast<const uint8_t*>(characters);
  *text = is_ascii ? Text{reinterpret_cast<const char*>(data), static_cast<uint32_t>(length)}
                   : Text{buffer, encode(data, length, kind, buffer)};
  return true;
}

struct Facts {
  CodeFacts facts;
  char function[kTextBytes];
  char file[kTextBytes];
};

template <typename Memory>
bool read_facts(const Interpreter& interpreter, const Layout& l, const Identity& identity, Facts* out) {
  Text function{};
  Text file{};
  uint64_t lines_bytes = 0;
  constexpr uint64_t kMaxLines = uint64_t{1} << 30;
  if (!has_type<Memory>(l, identity.object, interpreter.code_type) ||
      !read_text<Memory>(interpreter, l, identity.name, out->function, &function) ||
      !read_text<Memory>(interpreter, l, identity.file, out->file, &file) ||
      !has_type<Memory>(l, identity.lines, interpreter.bytes_type) ||
      !Memory::read(identity.lines + l.bytes_size, &lines_bytes) || lines_bytes > kMaxLines ||
      !Memory::is_readable(identity.lines + l.bytes_data, lines_bytes)) {
    return false;
  }
  out->facts = {function.bytes,
                function.size_bytes,
                file.bytes,
                file.size_bytes,
                reinterpret_cast<const uint8_t*>(identity.lines + l.bytes_data),
                lines_bytes,
                identity.first_line,
                kRuntimeId};
  return true;
}

}  // namespace

alignas(64) CodeSlot g_code_slots[1u << kCodeSlotBits];
alignas(64) CodeSlot g_recent_codes[1u << kRecentSlotBits];

CodeWord find_remembered(uint64_t object, CodeCache cache, bool is_alive) {
  const uint64_t key = object ^ cache.salt;
  CodeSlot* const first = code_slot(object);
  for (uint32_t i = 0; i < kCodePlaces; ++i) {
    if (const CodeWord word = place(first, i)->find(key)) {
      if (is_alive) {
        recent_slot(object)->set(key, word);
      }
      return word;
    }
  }
  return 0;
}

template <typename Memory>
CodeWord find_code_slowly(const Interpreter& interpreter, const Layout& layout, uint64_t object,
                          CodeCache cache) {
  const uint64_t key = object ^ cache.salt;
  CodeSlot* const first = code_slot(object);
  Identity identity{};
  Facts facts;
  int32_t traceable_units = 0;
  if (!read_identity<Memory>(layout, object, &identity) ||
      !read_facts<Memory>(interpreter, layout, identity, &facts) ||
      !Memory::read(object + layout.code_first_traceable, &traceable_units)) {
    return 0;
  }
  const uint32_t id = profiler::intern_code(facts.facts);
  const CodeWord word =
      runtime_frame(id == CodeTable::kNone ? unknown_code(kRuntimeId) : id,
                    traceable_units > 0 ? kCodeUnitBytes * static_cast<uint32_t>(traceable_units) : 0);
  if (cache.salt != CodeCache::kNothing) {
    // An entry is never moved: its object could be dropped meanwhile.
    static std::atomic<uint32_t> turn{0};
    uint32_t free = 0;
    while (free < kCodePlaces && place(first, free)->code.load(std::memory_order_relaxed) != 0) {
      ++free;
    }
    place(first, free < kCodePlaces ? free : turn.fetch_add(1, std::memory_order_relaxed) % kCodePlaces)
        ->set(key, word);
  }
  return word;
}

template CodeWord find_code_slowly<DirectMemory>(const Interpreter&, const Layout&, uint64_t, CodeCache);
template CodeWord find_code_slowly<CheckedMemory>(const Interpreter&, const Layout&, uint64_t, CodeCache);

bool is_code(const Interpreter& interpreter, const Layout& l, uint64_t object) {
  Identity identity{};
  Facts facts;
  return read_identity<CheckedMemory>(l, object, &identity) &&
         read_facts<CheckedMemory>(interpreter, l, identity, &facts);
}

void forget_code(uint64_t object) {
  const uint64_t key = object ^ code_cache().salt;
  CodeSlot* const first = code_slot(object);
  for (uint32_t i = 0; i < kCodePlaces; ++i) {
    CodeSlot* const slot = place(first, i);
    if (slot->find(key) != 0) {
      slot->set(0, 0);
    }
  }
  if (recent_slot(object)->find(key) != 0) {
    recent_slot(object)->set(0, 0);
  }
}

namespace {

using Deallocate = void (*)(void* object);

std::atomic<Deallocate> g_deallocate{nullptr};  // the type's own.  Release, acquire.
// Odd: dropped objects are seen.  Another one for each time that an interpreter comes.  Release, acquire.
std::atomic<uint32_t> g_watch{0};
std::atomic<const Interpreter*> g_looked_at{nullptr};  // relaxed
std::atomic<bool> g_codes_busy{false};                 // acquire and release

void drop_code(void* object) {
  forget_code(reinterpret_cast<uint64_t>(object));
  return g_deallocate.load(std::memory_order_acquire)(object);
}

// false: this is no type of code as we know it.
bool stand_in_front(const Interpreter& interpreter, const Layout& layout) {
  // In a type: ob_type, ob_size, tp_name, tp_basicsize, tp_itemsize, tp_dealloc.
  constexpr uint64_t kWord = 8;
  const uint64_t name_at = reinterpret_cast<uint64_t>(interpreter.code_type) + layout.object_type + 2 * kWord;
  const uint64_t deallocate_at = name_at + 3 * kWord;
  uint64_t name = 0;
  char text[5];
  uint64_t deallocate = 0;
  if (deallocate_at % kWord != 0 || !CheckedMemory::read(name_at, &name) ||
      !CheckedMemory::read(name, &text) || memcmp(text, "code", sizeof(text)) != 0 ||
      !CheckedMemory::read(deallocate_at, &deallocate) || deallocate == 0) {
    return false;
  }
  const uint64_t ours = reinterpret_cast<uint64_t>(&drop_code);
  if (deallocate != ours) {
    g_deallocate.store(reinterpret_cast<Deallocate>(deallocate), std::memory_order_release);
    // The interpreter itself wrote to the type when it was initialized.
    __atomic_store_n(reinterpret_cast<uint64_t*>(deallocate_at), ours, __ATOMIC_RELEASE);
  }
  return true;
}

}  // namespace

void watch_codes(const Interpreter& interpreter, const Layout& layout) {
  if (g_looked_at.load(std::memory_order_relaxed) == &interpreter ||
      g_codes_busy.exchange(true, std::memory_order_acquire)) {
    return;
  }
  const uint32_t watch = g_watch.load(std::memory_order_relaxed);
  if (watch % 2 == 0 && stand_in_front(interpreter, layout)) {
    g_watch.store(watch + 1, std::memory_order_release);
  }
  g_looked_at.store(&interpreter, std::memory_order_relaxed);
  g_codes_busy.store(false, std::memory_order_release);
}

void unwatch_codes() {
  if (!g_codes_busy.exchange(true, std::memory_order_acquire)) {
    const uint32_t watch = g_watch.load(std::memory_order_relaxed);
    g_watch.store(watch + watch % 2, std::memory_order_release);
    g_looked_at.store(nullptr, std::memory_order_relaxed);
    g_codes_busy.store(false, std::memory_order_release);
  }
}

void reset_codes_in_child() {
  g_codes_busy.store(false, std::memory_order_release);
}

CodeCache code_cache() {
  constexpr uint64_t kTablesBits = 32;
  const uint64_t watch = g_watch.load(std::memory_order_acquire);
  return {watch % 2 != 0 ? (watch << kTablesBits | profiler::tables_epoch()) * 0xd6e8feb86659fd93ull
                         : CodeCache::kNothing};
}

}  // namespace memprof::cpython
