// SPDX-License-Identifier: Apache-2.0
// Programs of which it is known whether they leak: leak_shapes MODE SEED [TICKS].  A tick is a millisecond or more;
// `site` and `other_site` are the places that are asked about.  They end by exit(), with what they hold.
#include <regex.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr size_t kBlock = 2048;
constexpr int kNever = -1;

int ticks = 2000;
int now = 0;
std::mt19937_64 random_numbers;

double uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_numbers);
}
int exponential(double mean) {
  return 1 + static_cast<int>(std::exponential_distribution<double>(1 / mean)(random_numbers));
}

// Each allocates by itself: the place is a function of its own.
#define PLACE(name)                                            \
  __attribute__((noinline)) void* name(size_t size = kBlock) { \
    void* block = malloc(size);                                \
    memset(block, 1, size);                                    \
    return block;                                              \
  }
PLACE(site)
PLACE(other_site)
PLACE(handle_request)
PLACE(load_tables)
#undef PLACE

// Blocks with the tick at which they are freed.
std::multimap<int, void*>& due() {
  static auto* map = new std::multimap<int, void*>;
  return *map;
}
void free_after(void* block, int lifetime) {
  if (lifetime != kNever) due().emplace(now + lifetime, block);
}

// Calls `each` at each tick.
template <typename Each>
void run(const Each& each) {
  for (int i = 0; i < 100; ++i) load_tables(2 * kBlock);
  for (now = 0; now < ticks; ++now) {
    usleep(1000);
    free(handle_request(8 * kBlock));
    while (!due().empty() && due().begin()->first <= now) {
      free(due().begin()->second);
      due().erase(due().begin());
    }
    each();
  }
  exit(0);
}

void leak() {
  run([] {
    for (int i = 0; i < 12; ++i)
      free_after(site(), uniform(0, 1) < 0.08 ? kNever : exponential(0.01 * ticks));
  });
}

// Of 200 blocks one is forgotten.
void slow_leak() {
  run([] {
    for (int i = 0; i < 200; ++i) {
      void* block = site();
      if (i != 0 || uniform(0, 1) < 0.3) free(block);
    }
  });
}

// The library's own functions allocate.
__attribute__((noinline)) void compile_pattern() {
  regex_t pattern;
  regcomp(&pattern, "^a[bc]*d$", REG_EXTENDED);
}
void library() {
  run([] { compile_pattern(); });
}

void cache_fills() {
  static std::vector<void*> cache(4000);
  run([] {
    for (int i = 0; i < 12; ++i) {
      void*& entry = cache[static_cast<size_t>(uniform(0, 3999))];
      if (entry == nullptr) entry = site();
    }
  });
}

void fifo_of(size_t entries, int second_rounds_percent) {
  static std::deque<void*> cache;
  run([=] {
    for (int i = 0; i < 6; ++i) {
      cache.push_back(site());
      while (cache.size() > entries) {
        void* oldest = cache.front();
        cache.pop_front();
        if (uniform(0, 100) < second_rounds_percent) {
          cache.push_back(oldest);  // used again
        } else {
          free(oldest);
        }
      }
    }
  });
}
void lru() {
  fifo_of(2500, 20);
}
void ring() {
  fifo_of(3500, 0);
}

void warm_up() {
  run([] {
    for (int i = 0; now < ticks / 10 && i < 20; ++i) site();
  });
}

// Grows by half whenever it is empty; demand rises in the first third.
void pool() {
  static std::vector<void*> free_blocks;
  static size_t all = 0;
  static size_t used = 0;
  run([] {
    const double demand = 3000 * std::min(1.0, 3.0 * now / ticks);
    while (used < static_cast<size_t>(demand)) {
      for (size_t grow = free_blocks.empty() ? std::max<size_t>(all / 2, 64) : 0; grow != 0; --grow, ++all) {
        free_blocks.push_back(site());
      }
      free_blocks.pop_back();
      ++used;
    }
  });
}

void fragmentation() {
  run([] {
    for (int i = 0; i < 10; ++i) {
      free_after(site(static_cast<size_t>(uniform(100, 8000))), i == 0 ? exponential(0.05 * ticks) : 1 + i);
    }
  });
}

// Reads rows for 60 % of the run, and works on them then.
void asked_for() {
  static std::vector<void*> rows;
  run([] {
    for (int i = 0; now < 0.6 * ticks && i < 4; ++i) rows.push_back(site());
    for (int i = 0; i < 4; ++i) free(other_site());
  });
}

void sawtooth() {
  static std::vector<void*> garbage;
  static int next = 0;
  run([] {
    for (int i = 0; i < 10; ++i) garbage.push_back(site());
    if (now < next) return;
    for (void* block : garbage) free(block);
    garbage.clear();
    next = now + static_cast<int>(uniform(0.07, 0.1) * ticks);
  });
}

struct ThreadCache {
  std::vector<void*> blocks;
  ~ThreadCache() {
    for (void* block : blocks) free(block);
  }
};
void thread_caches() {
  const auto work = [](int milliseconds) {
    static thread_local ThreadCache cache;
    for (int i = 0; i < 60; ++i) cache.blocks.push_back(site());
    usleep(static_cast<useconds_t>(1000 * milliseconds));
  };
  for (int i = 0; i < 8; ++i) std::thread(work, 1000 * 1000).detach();
  run([&] {
    if (now % 20 == 0) std::thread(work, exponential(0.03 * ticks)).detach();
  });
}

void one_off() {
  static const int when = static_cast<int>(uniform(0.3, 0.6) * ticks);
  run([] {
    for (int i = 0; now == when && i < 2000; ++i) site();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> modes = {{"leak", leak},
                                                   {"slow_leak", slow_leak},
                                                   {"library", library},
                                                   {"cache_fills", cache_fills},
                                                   {"lru", lru},
                                                   {"ring", ring},
                                                   {"warm_up", warm_up},
                                                   {"pool", pool},
                                                   {"fragmentation", fragmentation},
                                                   {"asked_for", asked_for},
                                                   {"sawtooth", sawtooth},
                                                   {"thread_caches", thread_caches},
                                                   {"one_off", one_off}};
  const auto mode = argc > 2 ? modes.find(argv[1]) : modes.end();
  if (mode == modes.end()) {
    fprintf(stderr, "usage: leak_shapes MODE SEED [TICKS]\n");
    return 2;
  }
  random_numbers.seed(static_cast<uint64_t>(atoll(argv[2])));
  if (argc > 3) ticks = atoi(argv[3]);
  mode->second();
}
