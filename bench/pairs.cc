// SPDX-License-Identifier: Apache-2.0
// Four threads that allocate the same in every run, through a dozen functions: what bench/pairs compares runs
// of.
//
// usage: pairs [EXTRA]   EXTRA: percent that one of the functions, site<5>, keeps more
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr size_t kGrown = 5;

// Blocks of `size` bytes, of which each fourth is freed at once.
template <size_t Which>
__attribute__((noinline)) void site(std::vector<void*>* kept, size_t size, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    void* block = std::malloc(size);
    std::memset(block, static_cast<int>(Which), size);  // else the compiler makes one function of all
    if (i % 4 == 3) {
      std::free(block);
    } else {
      kept->push_back(block);
    }
  }
}

template <size_t... Which>
void work(std::vector<void*>* kept, size_t extra_percent, std::index_sequence<Which...>) {
  constexpr size_t kSizes[] = {24, 48, 100, 200, 300, 512, 1000, 3000, 9000, 40000, 100000, 300000};
  // From less than one sample to hundreds, at a rate of 64 KiB.
  constexpr size_t kKiB[] = {8000, 10, 1500, 40, 4000, 1600, 150, 700, 2500, 100, 1200, 5000};
  (site<Which>(kept, kSizes[Which],
               (Which == kGrown ? 100 + extra_percent : 100) * kKiB[Which] * 1024 / 100 / kSizes[Which] + 1),
   ...);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t extra_percent = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  std::vector<void*> kept[kThreads];
  std::vector<std::thread> threads;
  for (auto& of_thread : kept) {
    threads.emplace_back([&] { work(&of_thread, extra_percent, std::make_index_sequence<12>()); });
  }
  for (std::thread& thread : threads) thread.join();
  size_t count = 0;
  for (const auto& of_thread : kept) count += of_thread.size();
  std::printf("%zu\n", count);
  std::fflush(stdout);
  std::_Exit(0);  // all of it is live
}
