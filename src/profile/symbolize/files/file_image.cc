// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/file_image.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace memprof::profile {
namespace {

// The mapped files, for the signal handler.  `begin` is published last and taken away first.
struct Region {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
};
constexpr size_t kMaxRegions = 64;  // a module, its debug files: five are open at a time
constexpr uintptr_t kClaimed = 1;

Region g_regions[kMaxRegions];
struct sigaction g_before;

bool is_mapped_file(uintptr_t address) {
  for (const Region& region : g_regions) {
    const uintptr_t begin = region.begin.load(std::memory_order_acquire);  // pairs with add_region
    if (begin > kClaimed && address >= begin && address < region.end.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const bool is_ours =
      info->si_code == BUS_ADRERR && is_mapped_file(address) &&
      mmap(reinterpret_cast<void*>(address & ~(page_bytes - 1)), page_bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  errno = saved;
  if (is_ours) return;
  if ((g_before.sa_flags & SA_SIGINFO) != 0) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal);
  } else {
    // The instruction is executed again, and ends the process.
    sigaction(SIGBUS, &g_before, nullptr);
  }
}

bool install_handler() {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, &action, &g_before) == 0;
}

bool add_region(uintptr_t begin, size_t size) {
  static const bool is_installed = install_handler();
  if (!is_installed) return false;
  for (Region& region : g_regions) {
    uintptr_t expected = 0;
    if (!region.begin.compare_exchange_strong(expected, kClaimed, std::memory_order_relaxed)) continue;
    region.end.store(begin + size, std::memory_order_relaxed);
    region.begin.store(begin, std::memory_order_release);  // pairs with is_mapped_file
    return true;
  }
  errno = EMFILE;
  return false;
}

void remove_region(uintptr_t begin) {
  for (Region& region : g_regions) {
    uintptr_t expected = begin;
    if (region.begin.compare_exchange_strong(expected, 0, std::memory_order_relaxed)) return;
  }
}

}  // namespace

std::unique_ptr<FileImage> FileImage::map(int fd, size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (!add_region(reinterpret_cast<uintptr_t>(memory), size)) {
    munmap(memory, size);
    return nullptr;
  }
  return std::unique_ptr<FileImage>(new FileImage(static_cast<char*>(memory), size));
}

std::unique_ptr<FileImage> FileImage::copy(int fd, size_t size) {
  // Pages of zeros, which take no memory where the file has none.
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::unique_ptr<FileImage> image(new FileImage(static_cast<char*>(memory), size));
  return image->fill(fd) ? std::move(image) : nullptr;
}

// What became shorter meanwhile ends in zeros.
bool FileImage::fill(int fd) {
  for (size_t at = 0; at < size_;) {
    const off_t data = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return true;
    if (data > static_cast<off_t>(at)) at = static_cast<size_t>(data);
    if (at >= size_) return true;
    const off_t hole = lseek(fd, static_cast<off_t>(at), SEEK_HOLE);
    const size_t end = hole > static_cast<off_t>(at) ? std::min(static_cast<size_t>(hole), size_) : size_;
    while (at < end) {
      const ssize_t got = pread(fd, data_ + at, end - at, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      if (got == 0) return true;
      at += static_cast<size_t>(got);
    }
  }
  return true;
}

FileImage::FileImage(std::vector<char> bytes)
    : bytes_(std::move(bytes)), data_(bytes_.data()), size_(bytes_.size()) {}

FileImage::~FileImage() {
  if (!is_mapped_) return;
  remove_region(reinterpret_cast<uintptr_t>(data_));
  munmap(data_, size_);
}

}  // namespace memprof::profile
