// SPDX-License-Identifier: Apache-2.0
// A program that does a little of everything that profilers and other preloaded libraries stand in front of, and prints
// sums that depend on all of it: threads that allocate, each function of the malloc family, operators, exceptions,
// children by fork and exec, files, waits, signals.  Built by tests/harm/kinds/neighbours.py.
//
// usage: neighbour ROUNDS [exec]    (exec: prints one line and ends, as a child of itself)
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

uint64_t g_sum = 0;

void add(uint64_t value) {
  g_sum = (g_sum ^ value) * 0x9e3779b97f4a7c15u;
}

bool is_filled(const unsigned char* block, size_t size, unsigned char with) {
  for (size_t i = 0; i < size; ++i) {
    if (block[i] != with) return false;
  }
  return true;
}

// The whole family on blocks that must keep what is in them.
uint64_t family(unsigned seed) {
  uint64_t bad = 0;
  std::vector<std::pair<unsigned char*, size_t>> kept;
  for (unsigned i = 0; i < 400; ++i) {
    const size_t size = 1 + (seed * 2654435761u + i * 40503u) % 3000;
    unsigned char* block = nullptr;
    void* aligned = nullptr;
    switch (i % 6) {
      case 0:
        block = static_cast<unsigned char*>(malloc(size));
        break;
      case 1:
        block = static_cast<unsigned char*>(calloc(size, 1));
        bad += !is_filled(block, size, 0);
        break;
      case 2:
        bad += posix_memalign(&aligned, 64, size) != 0 || reinterpret_cast<uintptr_t>(aligned) % 64 != 0;
        block = static_cast<unsigned char*>(aligned);
        break;
      case 3:
        block = static_cast<unsigned char*>(aligned_alloc(16, (size + 15) & ~size_t{15}));
        break;
      case 4:
        block = static_cast<unsigned char*>(malloc(size / 2 + 1));
        memset(block, 0x5a, size / 2 + 1);
        block = static_cast<unsigned char*>(realloc(block, size + 100));
        bad += !is_filled(block, size / 2 + 1, 0x5a);
        break;
      default:
        block = static_cast<unsigned char*>(memalign(32, size));
        break;
    }
    memset(block, static_cast<int>(i & 0xff), size);
    bad += malloc_usable_size(block) < size;
    kept.emplace_back(block, size);
    if (kept.size() > 50) {
      const size_t at = (seed + i) % kept.size();
      free(kept[at].first);
      kept[at] = kept.back();
      kept.pop_back();
    }
  }
  for (const auto& [block, size] : kept) free(block);
  return bad;
}

uint64_t of_cxx(unsigned seed) {
  std::map<std::string, std::unique_ptr<int[]>> table;
  for (unsigned i = 0; i < 300; ++i)
    table["key " + std::to_string(i * seed % 97)] = std::make_unique<int[]>(1 + i % 50);
  uint64_t thrown = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      if (i % 2 == 0) throw std::runtime_error("expected");
      // mimalloc, compiled as C, ends the program here.
      if (getenv("NEIGHBOUR_NO_HUGE") != nullptr) throw std::bad_alloc();
      volatile size_t much = SIZE_MAX / 2;
      ::operator delete(::operator new(much));
    } catch (const std::bad_alloc&) {
      thrown += 100;
    } catch (const std::exception&) {
      ++thrown;
    }
  }
  return table.size() * 10000 + thrown;
}

volatile sig_atomic_t g_signals = 0;
void on_signal(int) {
  const int saved = errno;
  g_signals = g_signals + 1;
  errno = saved;
}

int child_status(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void children(const char* self) {
  const pid_t forked = fork();
  if (forked == 0) {
    const uint64_t bad = family(7);
    _exit(bad == 0 ? 17 : 18);
  }
  add(static_cast<uint64_t>(child_status(forked)));
  pid_t spawned = 0;
  char name[4096];
  snprintf(name, sizeof(name), "%s", self);
  char rounds[] = "1";
  char exec[] = "exec";
  char* arguments[] = {name, rounds, exec, nullptr};
  add(static_cast<uint64_t>(posix_spawn(&spawned, self, nullptr, nullptr, arguments, environ)));
  add(static_cast<uint64_t>(child_status(spawned)));
}

void files() {
  char name[] = "/tmp/memprof-neighbour-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  const std::string text(10000, 'x');
  add(static_cast<uint64_t>(write(file, text.data(), text.size())));
  std::string back(text.size(), '\0');
  add(static_cast<uint64_t>(pread(file, back.data(), back.size(), 0)));
  add(back == text);
  close(file);
  errno = 0;
  add(static_cast<uint64_t>(open("/nonexistent/file", O_RDONLY)));
  add(static_cast<uint64_t>(errno));
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 1;
  if (count > 2) {
    add(family(3));
    return 5;
  }
  signal(SIGUSR1, on_signal);
  for (int round = 0; round < rounds; ++round) {
    uint64_t bad[4] = {};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&bad, i] { bad[i] = family(i + 1); });
    for (std::thread& thread : threads) thread.join();
    for (const uint64_t one : bad) add(one);
    add(of_cxx(static_cast<unsigned>(round) + 3));
    raise(SIGUSR1);
    const timespec wait = {0, 1'000'000};
    add(static_cast<uint64_t>(nanosleep(&wait, nullptr)));
    files();
  }
  children("/proc/self/exe");
  add(static_cast<uint64_t>(g_signals));
  errno = 123;
  free(malloc(100));
  add(static_cast<uint64_t>(errno));
  printf("sum %llx\n", static_cast<unsigned long long>(g_sum));
  return 3;
}
