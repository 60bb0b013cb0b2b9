// SPDX-License-Identifier: Apache-2.0
// Pages (platform/memory.h).
//
// Model: private memory is reserved as a whole and committed piece by piece, as what is committed counts for the system's
// limit.  A file is mapped as a whole: what of it is touched counts, no more.  The file is sparse where the file system
// bears that.
#include "platform/windows/memory/pages.h"

#include <atomic>

#include "platform/memory.h"
#include "platform/windows/process/text.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

// Of the arenas that are files: a process has one.
struct View {
  std::atomic<uint64_t> start;  // 0: free
  uint64_t limit;
};
constexpr uint32_t kMaxViews = 8;
View g_views[kMaxViews];

const View* view_of(const void* start) {
  for (const View& view : g_views) {
    const uint64_t first = view.start.load(std::memory_order_acquire);
    if (first != 0 && first <= address_of(start) && address_of(start) < view.limit) {
      return &view;
    }
  }
  return nullptr;
}

bool enter_view(const void* start, size_t size_bytes) {
  for (View& view : g_views) {
    if (view.start.load(std::memory_order_relaxed) == 0) {
      view.limit = address_of(start) + size_bytes;
      view.start.store(address_of(start), std::memory_order_release);
      return true;
    }
  }
  return false;
}

void* map_file_of(const char* path, size_t size_bytes) {
  const WidePath wide(path);
  const HANDLE file = CreateFileW(wide.text, GENERIC_READ | GENERIC_WRITE,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, CREATE_NEW,
                                  FILE_ATTRIBUTE_TEMPORARY | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    return nullptr;
  }
  DWORD returned;
  DeviceIoControl(file, FSCTL_SET_SPARSE, nullptr, 0, nullptr, 0, &returned, nullptr);
  const HANDLE section =
      CreateFileMappingW(file, nullptr, PAGE_READWRITE, static_cast<DWORD>(size_bytes >> 32),
                         static_cast<DWORD>(size_bytes), nullptr);
  void* start =
      section != nullptr ? MapViewOfFile(section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, size_bytes) : nullptr;
  if (section != nullptr) {
    CloseHandle(section);
  }
  CloseHandle(file);
  if (start != nullptr && !enter_view(start, size_bytes)) {
    UnmapViewOfFile(start);
    start = nullptr;
  }
  if (start == nullptr) {
    DeleteFileW(wide.text);
  }
  return start;
}

bool commit(void* start, size_t size_bytes) {
  return VirtualAlloc(start, size_bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

}  // namespace

void* reserve_pages(size_t size_bytes) {
  return VirtualAlloc(nullptr, size_bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void release_pages(void* start, size_t) {
  VirtualFree(start, 0, MEM_RELEASE);
}

void* map_pieces(const char* path, size_t size_bytes, const Piece* pieces, uint32_t count) {
  if (path != nullptr) {
    return map_file_of(path, size_bytes);
  }
  auto* start = static_cast<uint8_t*>(VirtualAlloc(nullptr, size_bytes, MEM_RESERVE, PAGE_READWRITE));
  for (uint32_t i = 0; start != nullptr && i < count; ++i) {
    if (pieces[i].size_bytes != 0 && !commit(start + pieces[i].offset, pieces[i].size_bytes)) {
      VirtualFree(start, 0, MEM_RELEASE);
      start = nullptr;
    }
  }
  return start;
}

bool extend_piece(void* start, size_t old_bytes, size_t new_bytes, size_t room_bytes) {
  return new_bytes <= room_bytes && (view_of(start) != nullptr ||
                                     commit(static_cast<uint8_t*>(start) + old_bytes, new_bytes - old_bytes));
}

void unmap_pieces(void* start, size_t, const Piece*, uint32_t) {
  const View* view = view_of(start);
  if (view == nullptr) {
    VirtualFree(start, 0, MEM_RELEASE);
    return;
  }
  const_cast<View*>(view)->start.store(0, std::memory_order_relaxed);
  UnmapViewOfFile(start);
}

// Touches each page of a file, so that the file has no hole there: readers take a hole for the end of a table.  What is written
// is what is there, as one instruction, because other threads may write meanwhile.  Where the disk is full, Windows raises an
// exception in whoever touches a page.
bool commit_pages(void* start, size_t size_bytes) {
  constexpr size_t kPage = 4096;
  if (view_of(start) != nullptr) {
    auto* bytes = static_cast<uint8_t*>(start);
    for (size_t at = 0; at < size_bytes; at += kPage) {
      __atomic_fetch_or(bytes + at, uint8_t{0}, __ATOMIC_RELAXED);
    }
  }
  return true;
}

void drop_pages(void* start, size_t size_bytes) {
  if (view_of(start) == nullptr && VirtualFree(start, size_bytes, MEM_DECOMMIT)) {
    commit(start, size_bytes);
  }
}

void advise_sparse(void*, size_t) {}

void advise_dense(void*, size_t) {}

void* map_near(uint64_t low, uint64_t high, size_t size_bytes) {
  constexpr uint64_t kReach = (uint64_t{1} << 31) - (uint64_t{1} << 20);
  constexpr uint64_t kStep = kPieceBytes;
  const uint64_t lowest = high > kReach ? high - kReach : kStep;
  const uint64_t highest = low + kReach - size_bytes;
  for (uint64_t at = low & ~(kStep - 1); at > lowest; at -= kStep) {
    void* page =
        VirtualAlloc(reinterpret_cast<void*>(at), size_bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (page != nullptr) {
      return page;
    }
  }
  for (uint64_t at = (high + kStep - 1) & ~(kStep - 1); at < highest; at += kStep) {
    void* page =
        VirtualAlloc(reinterpret_cast<void*>(at), size_bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (page != nullptr) {
      return page;
    }
  }
  return nullptr;
}

}  // namespace memprof::platform
