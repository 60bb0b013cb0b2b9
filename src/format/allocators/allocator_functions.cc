// SPDX-License-Identifier: Apache-2.0
#include "format/allocators/allocator_functions.h"

#include <cstring>

#include "format/allocators/allocator_table.h"

namespace memprof {
namespace {

AllocatorSignature parse(const char* call) {
  AllocatorSignature s;
  constexpr char kCalls[] = "atrqfpxduvgmn";
  s.calls_another = call[0] <= 'Z';
  s.call = static_cast<AllocatorCall>(strchr(kCalls, call[0] | 0x20) - kCalls);
  for (const char* c = call + 2; *c != '\0'; ++c) {
    const uint8_t at = s.arguments++;
    switch (*c) {
      case 'S':
      case 's':
        s.size = at;
        s.is_small = *c == 'S';
        break;
      case 'c':
        s.count = at;
        break;
      case 'l':
        s.alignment = at;
        break;
      case 'w':
        s.old_size = at;
        break;
      case 'b':
        s.block = at;
        break;
      case 'h':
        s.heap = at;
        break;
      case 'o':
        s.result = at;
        break;
      default:
        break;
    }
  }
  return s;
}

// Lengths of the names in the table, by their first letter: most names of a module have another one, and are compared with
// none.
class NameShapes {
 public:
  constexpr NameShapes() {
    for (const AllocatorFamily& family : kFamilies) {
      add(family.marker);
      for (uint32_t i = 0; i < family.count; ++i) add(family.functions[i].name);
    }
    for (const AllocatorFunction& f : kC) add(f.name);
    for (const AllocatorFunction& f : kOperators) add(f.name);
    for (const char* excluded : kExcluded) add(excluded);
  }

  bool may_be(const char* name, size_t length) const {
    return (lengths_[first(name)] >> bit(length) & 1) != 0;
  }

 private:
  static constexpr uint32_t first(const char* name) { return static_cast<uint8_t>(name[0]) & 127; }
  static constexpr uint32_t bit(size_t length) { return length < 63 ? static_cast<uint32_t>(length) : 63; }
  constexpr void add(const char* name) {
    size_t length = 0;
    while (name[length] != '\0') ++length;
    lengths_[first(name)] |= uint64_t{1} << bit(length);
  }

  uint64_t lengths_[128] = {};
};
constexpr NameShapes kShapes;

template <uint32_t N>
const char* find(const AllocatorFunction (&functions)[N], const char* name) {
  for (const AllocatorFunction& f : functions) {
    if (f.name[0] == name[0] && strcmp(f.name, name) == 0) {
      return f.call;
    }
  }
  return nullptr;
}

bool begins_with(const char* text, const char* beginning) {
  return text[0] == beginning[0] && strncmp(text, beginning, strlen(beginning)) == 0;
}

// The function of C that `name` is after `prefix`; nullptr: it is none, or `prefix` does not begin it.
const char* find_after(const char* name, const char* prefix) {
  return begins_with(name, prefix) ? find(kC, name + strlen(prefix)) : nullptr;
}

// Most names of large modules are those of C++ and Rust, long ones, and no allocator's: of these only the first bytes
// are read.
bool is_of_class(const char* name) {
  return name[0] == '_' && name[1] == 'Z' && name[2] == 'N';
}
// Of a library that an allocator may have been inlined into; nullptr: it is none of those.
const AllocatorCaller* find_caller(const char* name) {
  if (!begins_with(name, kCallersBegin)) {
    return nullptr;
  }
  for (const AllocatorCaller& caller : kCallers) {
    if (strcmp(caller.function.name, name) == 0) {
      return &caller;
    }
  }
  return nullptr;
}
bool is_rust_v0(const char* name) {
  return name[0] == '_' && name[1] == 'R';
}

// "_RNvCsc47_7___rustc11___rg_alloc", a function of the crate __rustc, ends in "__rg_alloc", with its length before it.
const char* find_rust(const char* name) {
  if (!is_rust_v0(name)) {
    return name[0] == '_' && name[1] == '_' ? find(kRust, name) : nullptr;
  }
  constexpr char kInCrate[] = "_RNvC";
  constexpr char kCrate[] = "7___rustc";
  if (!begins_with(name, kInCrate)) {
    return nullptr;
  }
  name += strlen(kInCrate);
  if (*name == 's') {  // what tells crates of one name apart
    name = strchr(name, '_');
    if (name == nullptr) {
      return nullptr;
    }
    ++name;
  }
  if (!begins_with(name, kCrate)) {
    return nullptr;
  }
  name += strlen(kCrate);
  while (*name >= '0' && *name <= '9') {
    ++name;
  }
  name += name[0] == '_' && name[1] == '_' && name[2] == '_';  // a '_' before what begins with one
  return find(kRust, name);
}

// Does `name` end in `end`, but for what compilers add to the names of a function's copies (".constprop.0")?
bool ends_in(const char* name, const char* end) {
  const char* dot = strchr(name, '.');
  const size_t bytes = dot != nullptr ? static_cast<size_t>(dot - name) : strlen(name);
  const size_t end_bytes = strlen(end);
  return bytes >= end_bytes && memcmp(name + bytes - end_bytes, end, end_bytes) == 0;
}

// The length of `name` without that, too.
size_t length_before(const char* name, const char* end) {
  const char* dot = strchr(name, '.');
  return (dot != nullptr ? static_cast<size_t>(dot - name) : strlen(name)) - strlen(end);
}

bool is_prefix_of_private(const char* name, size_t bytes, const char* prefix) {
  const size_t prefix_bytes = strlen(prefix);
  if (bytes < prefix_bytes || memcmp(name, prefix, prefix_bytes) != 0) {
    return false;
  }
  const size_t rest = bytes - prefix_bytes;
  return rest == 0 ? prefix_bytes != 0 : rest == 3 && memcmp(name + prefix_bytes, "je_", 3) == 0;
}

}  // namespace

bool is_known_family(const char* family) {
  return strcmp(family, kMalloc) != 0 && strcmp(family, kRustName) != 0;
}

bool AllocatorNames::note(const char* name) {
  if (is_of_class(name)) {
    return find_caller(name) != nullptr;
  }
  if (is_rust_v0(name)) {
    return find_rust(name) != nullptr;
  }
  note_plain(name);
  return true;
}

void AllocatorNames::note_plain(const char* name) {
  const size_t length = strlen(name);
  if (kShapes.may_be(name, length)) {
    for (const char* excluded : kExcluded) {
      is_excluded_ = is_excluded_ || strcmp(name, excluded) == 0;
    }
    for (uint32_t i = 0; i < sizeof(kFamilies) / sizeof(kFamilies[0]); ++i) {
      markers_ |= uint32_t{strcmp(name, kFamilies[i].marker) == 0} << i;
    }
  }
  size_t prefix = SIZE_MAX;
  for (const char* marker : kJemallocMarkers) {
    const size_t bytes = strlen(marker);
    if (length >= bytes && name[length - 1] == marker[bytes - 1] &&
        strcmp(name + length - bytes, marker) == 0) {
      prefix = length - bytes - (marker[0] == 'd' && length > bytes && name[length - bytes - 1] == 's');
    }
  }
  for (const char* known : kJemallocPrefixes) {
    if (prefix == SIZE_MAX && find_after(name, known) != nullptr) {
      prefix = strlen(known);
    }
  }
  // Neither a function of C++ whose name ends so, nor one that tcmalloc has for jemalloc's callers.
  if (prefix > InnerAllocator::kMaxPrefixBytes || begins_with(name, "_Z") || strchr(name, '.') != nullptr ||
      begins_with(name, "TCMalloc") || begins_with(name, "mi_") ||
      (prefix == 0 && (!is_program_ || strcmp(name, "sdallocx") == 0))) {
    return;
  }
  for (uint32_t i = 0; i < prefix_count_; ++i) {
    if (strlen(prefixes_[i]) == prefix && memcmp(prefixes_[i], name, prefix) == 0) {
      return;
    }
  }
  if (prefix_count_ < kMax) {
    memcpy(prefixes_[prefix_count_], name, prefix);
    prefixes_[prefix_count_++][prefix] = '\0';
  }
}

int AllocatorNames::find_or_add(const char* family, const char* prefix, size_t prefix_bytes) {
  for (uint32_t i = 0; i < count_; ++i) {
    if (strcmp(found_[i].family, family) == 0 && strlen(found_[i].prefix) == prefix_bytes &&
        memcmp(found_[i].prefix, prefix, prefix_bytes) == 0) {
      return static_cast<int>(i);
    }
  }
  if (count_ == kMax) {
    return -1;
  }
  InnerAllocator& added = found_[count_];
  added.family = family;
  memcpy(added.prefix, prefix, prefix_bytes);
  added.prefix[prefix_bytes] = '\0';
  return static_cast<int>(count_++);
}

// Whose functions malloc and its like in an executable are.
const char* AllocatorNames::family_of_malloc() const {
  for (uint32_t i = 0; i < prefix_count_; ++i) {
    if (prefixes_[i][0] == '\0') {
      return kJemalloc;
    }
  }
  for (uint32_t i = 0; i < sizeof(kFamilies) / sizeof(kFamilies[0]); ++i) {
    if ((markers_ >> i & 1) != 0) {
      return kFamilies[i].name;
    }
  }
  return kMalloc;
}

bool AllocatorNames::may_map(const char* name) {
  for (const MappingFunction& f : kMappingFunctions) {
    if (ends_in(name, f.name) && (f.after_prefix || length_before(name, f.name) == 0)) {
      return true;
    }
  }
  return false;
}

int AllocatorNames::mapped_for(const char* name) const {
  for (uint32_t i = 0; i < count_; ++i) {
    for (const MappingFunction& f : kMappingFunctions) {
      if (strcmp(f.family, found_[i].family) == 0 && ends_in(name, f.name) &&
          (f.after_prefix ? is_prefix_of_private(name, length_before(name, f.name), found_[i].prefix)
                          : length_before(name, f.name) == 0)) {
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

int AllocatorNames::match_caller(const char* name, AllocatorSignature* signature) {
  const AllocatorCaller* const caller = find_caller(name);
  if (caller == nullptr) {
    return -1;
  }
  for (uint32_t i = 0; i < prefix_count_; ++i) {
    if (strcmp(prefixes_[i], caller->prefix) == 0) {
      *signature = parse(caller->function.call);
      return find_or_add(kJemalloc, caller->prefix, strlen(caller->prefix));
    }
  }
  return -1;
}

int AllocatorNames::match(const char* name, AllocatorSignature* signature) {
  if (is_of_class(name)) {
    return match_caller(name, signature);
  }
  const char* call = find_rust(name);
  if (call != nullptr) {
    *signature = parse(call);
    return find_or_add(kRustName, "", 0);
  }
  if (is_rust_v0(name)) {
    return -1;
  }
  for (uint32_t i = 0; i < prefix_count_; ++i) {
    const char* prefix = prefixes_[i];
    if (prefix[0] != '\0' && (call = find_after(name, prefix)) != nullptr) {
      *signature = parse(call);
      return find_or_add(kJemalloc, prefix, strlen(prefix));
    }
  }
  if (!kShapes.may_be(name, strlen(name))) {
    return -1;
  }
  for (const AllocatorFamily& f : kFamilies) {
    for (uint32_t i = 0; i < f.count; ++i) {
      if (f.functions[i].name[0] == name[0] && strcmp(f.functions[i].name, name) == 0) {
        *signature = parse(f.functions[i].call);
        return find_or_add(f.name, "", 0);
      }
    }
  }
  if (is_program_ && ((call = find(kC, name)) != nullptr || (call = find(kOperators, name)) != nullptr)) {
    *signature = parse(call);
    return find_or_add(family_of_malloc(), "", 0);
  }
  return -1;
}

}  // namespace memprof
