// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/stop_moment.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <vector>

#include "memprof/attach/linux/thread/thread_facts.h"
#include "memprof/attach/linux/thread/traced_thread.h"

namespace memprof::cli {
bool is_cut_by_stops(const processor::WaitingCall& call) {
  static constexpr long kTransfers[] = {SYS_write,    SYS_writev,   SYS_pwrite64,        SYS_pwritev,
                                        SYS_pwritev2, SYS_sendto,   SYS_sendmsg,         SYS_sendmmsg,
                                        SYS_recvmmsg, SYS_sendfile, SYS_copy_file_range, SYS_splice,
                                        SYS_tee,      SYS_vmsplice, SYS_io_uring_enter,  SYS_getrandom};
  if (call.number == SYS_recvfrom) return (call.arguments[3] & MSG_WAITALL) != 0;
  if (call.number == SYS_recvmsg) return (call.arguments[2] & MSG_WAITALL) != 0;
  return std::find(std::begin(kTransfers), std::end(kTransfers), call.number) != std::end(kTransfers);
}

bool is_in_transfer(pid_t thread) {
  const WaitLook look(thread);
  return look.is_waiting() && is_cut_by_stops(look.call());
}

// Whoever was in a transfer and runs may still be in it.  What such a one copies at a time takes less of a processor than is asked
// for here; time alone says nothing where others have the processor.
bool wait_for_moment(pid_t thread, int64_t patience_ns, const Pause& pause) {
  constexpr int64_t kBetweenNs = 50'000;
  constexpr uint64_t kEnoughNs = 300'000;
  constexpr int64_t kWatchNs = 5'000'000;
  const int64_t begin = monotonic_ns();
  const int64_t end = begin + patience_ns;
  uint64_t sleeps_before = 0, used_before = 0;
  bool was_in_transfer = false;
  while (true) {
    const uint64_t used = used_ns(static_cast<uint64_t>(thread), thread);
    // A thread that was just let go of is shown where it was held until it runs.  It does not wait there.
    const bool sleeps = strchr("SD", state_of(static_cast<uint64_t>(thread), thread).letter) != nullptr;
    const WaitLook look(thread);  // last: who asked stops the thread then
    const processor::WaitingCall call = look.call();
    const bool is_gone = call.sleeps == 0 && used == 0;
    if (is_gone || (look.is_waiting() && !is_cut_by_stops(call))) return true;
    was_in_transfer = was_in_transfer || (sleeps && look.is_waiting());
    if (call.sleeps != sleeps_before || used_before == 0) {
      used_before = used;
    } else if (!was_in_transfer && used > used_before + kEnoughNs && monotonic_ns() > begin + kWatchNs) {
      return true;
    }
    sleeps_before = call.sleeps;
    if (monotonic_ns() >= end) return false;
    pause(kBetweenNs);
  }
}

bool wait_for_moment_of_all(uint64_t process, int64_t patience_ns) {
  constexpr timespec kBetween{0, 200'000};
  const int64_t end = monotonic_ns() + patience_ns;
  while (true) {
    const std::vector<pid_t> threads = threads_of(process);
    if (std::none_of(threads.begin(), threads.end(), is_in_transfer)) return true;
    if (monotonic_ns() >= end) return false;
    nanosleep(&kBetween, nullptr);
  }
}

}  // namespace memprof::cli
