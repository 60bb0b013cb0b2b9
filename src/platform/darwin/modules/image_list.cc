// SPDX-License-Identifier: Apache-2.0
#include "platform/darwin/modules/image_list.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <string.h>

#include "platform/darwin/system.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kIdWords = 2;  // of LC_UUID

struct Image {
  std::atomic<uint32_t> version;  // odd: it is being written
  std::atomic<uint32_t> has_id;
  std::atomic<uint64_t> start;  // of __TEXT; 0: free
  std::atomic<uint64_t> limit;
  std::atomic<uint64_t> file_offset;
  std::atomic<uint64_t> slide;
  std::atomic<const char*> path;
  std::atomic<uint64_t> id[kIdWords];
};

Image g_images[kMaxImages];
std::atomic<uint32_t> g_count{0};  // entries below it are, or were, in use; release, acquire

struct CodeRange {
  std::atomic<uint64_t> start;  // relaxed: set before there are hooks
  std::atomic<uint64_t> limit;
  bool contains(uint64_t address) const {
    return address - start.load(std::memory_order_relaxed) <
           limit.load(std::memory_order_relaxed) - start.load(std::memory_order_relaxed);
  }
};
CodeRange g_own;
CodeRange g_libmalloc;

struct Facts {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  bool has_id = false;
  uint64_t id[kIdWords] = {};
};

Facts read_header(const mach_header* header, uint64_t slide) {
  Facts facts;
  const auto* wide = reinterpret_cast<const mach_header_64*>(header);
  const char* next = reinterpret_cast<const char*>(wide + 1);
  for (uint32_t i = 0; i < wide->ncmds; ++i) {
    const auto* command = reinterpret_cast<const load_command*>(next);
    if (command->cmd == LC_SEGMENT_64) {
      const auto* segment = reinterpret_cast<const segment_command_64*>(command);
      if (strncmp(segment->segname, SEG_TEXT, sizeof(segment->segname)) == 0) {
        facts.start = segment->vmaddr + slide;
        facts.limit = facts.start + segment->vmsize;
        facts.file_offset = segment->fileoff;
      }
    } else if (command->cmd == LC_UUID) {
      memcpy(facts.id, reinterpret_cast<const uuid_command*>(command)->uuid, sizeof(facts.id));
      facts.has_id = true;
    }
    next += command->cmdsize;
  }
  return facts;
}

bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text);
  const size_t end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

void note(const Facts& facts, CodeRange* range) {
  range->limit.store(facts.limit, std::memory_order_relaxed);
  range->start.store(facts.start, std::memory_order_relaxed);
}

Image* find_free() {
  const uint32_t count = g_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (g_images[i].start.load(std::memory_order_relaxed) == 0) {
      return &g_images[i];
    }
  }
  return count < kMaxImages ? &g_images[count] : nullptr;
}

void write(Image* image, const Facts& facts, uint64_t slide, const char* path) {
  const uint32_t version = image->version.load(std::memory_order_relaxed);
  image->version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  image->limit.store(facts.limit, std::memory_order_relaxed);
  image->file_offset.store(facts.file_offset, std::memory_order_relaxed);
  image->slide.store(slide, std::memory_order_relaxed);
  image->path.store(path, std::memory_order_relaxed);
  image->has_id.store(facts.has_id ? 1 : 0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kIdWords; ++i) {
    image->id[i].store(facts.id[i], std::memory_order_relaxed);
  }
  image->start.store(facts.start, std::memory_order_relaxed);
  image->version.store(version + 2, std::memory_order_release);
}

void add(const mach_header* header, intptr_t signed_slide) {
  if (header->magic != MH_MAGIC_64) {
    return;
  }
  const auto slide = static_cast<uint64_t>(signed_slide);
  const Facts facts = read_header(header, slide);
  Image* image = facts.start != 0 ? find_free() : nullptr;
  if (image == nullptr) {
    return;
  }
  Dl_info info{};
  const char* path = dladdr(header, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
  write(image, facts, slide, path);
  const auto index = static_cast<uint32_t>(image - g_images);
  if (index == g_count.load(std::memory_order_relaxed)) {
    g_count.store(index + 1, std::memory_order_release);
  }
  const uint64_t here = address_of(reinterpret_cast<const void*>(follow_images));
  if (facts.start <= here && here < facts.limit) {
    note(facts, &g_own);
  } else if (ends_with(path, "/libsystem_malloc.dylib")) {
    note(facts, &g_libmalloc);
  }
}

void remove(const mach_header* header, intptr_t signed_slide) {
  const Facts facts = read_header(header, static_cast<uint64_t>(signed_slide));
  for (uint32_t i = 0; i < g_count.load(std::memory_order_relaxed); ++i) {
    if (facts.start != 0 && g_images[i].start.load(std::memory_order_relaxed) == facts.start) {
      write(&g_images[i], Facts{}, 0, "");
    }
  }
}

// false: it is not that one, or it is being written.
bool read(const Image& image, uint64_t address, ModuleInfo* info) {
  const uint32_t version = image.version.load(std::memory_order_acquire);
  info->start = image.start.load(std::memory_order_relaxed);
  info->limit = image.limit.load(std::memory_order_relaxed);
  if (version % 2 != 0 || info->start == 0 || address < info->start || address >= info->limit) {
    return false;
  }
  info->file_offset = image.file_offset.load(std::memory_order_relaxed);
  info->bias = image.slide.load(std::memory_order_relaxed);
  info->path = image.path.load(std::memory_order_relaxed);
  info->build_id_size = image.has_id.load(std::memory_order_relaxed) != 0 ? kIdWords * sizeof(uint64_t) : 0;
  for (uint32_t i = 0; i < kIdWords; ++i) {
    const uint64_t word = image.id[i].load(std::memory_order_relaxed);
    memcpy(info->build_id + i * sizeof(word), &word, sizeof(word));
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return image.version.load(std::memory_order_relaxed) == version;
}

}  // namespace

void follow_images() {
  static std::atomic<bool> is_following{false};
  if (!is_following.exchange(true)) {
    _dyld_register_func_for_add_image(add);
    _dyld_register_func_for_remove_image(remove);
  }
}

bool find_image(uint64_t address, ModuleInfo* info) {
  const uint32_t count = g_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (read(g_images[i], address, info)) {
      return true;
    }
  }
  return false;
}

bool is_allocators_code(uint64_t address) {
  return g_own.contains(address) || g_libmalloc.contains(address);
}

}  // namespace memprof::platform
