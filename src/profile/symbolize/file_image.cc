// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/file_image.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

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
constexpr size_t kMostRegions = 64;  // a module, its debug files: five are open at a time
constexpr uintptr_t kClaimed = 1;

Region g_regions[kMostRegions];
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

FileImage::FileImage(std::vector<char> bytes)
    : bytes_(std::move(bytes)), data_(bytes_.data()), size_(bytes_.size()) {}

FileImage::~FileImage() {
  if (!is_mapped_) return;
  remove_region(reinterpret_cast<uintptr_t>(data_));
  munmap(data_, size_);
}

}  // namespace memprof::profile
