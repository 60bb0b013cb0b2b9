// SPDX-License-Identifier: Apache-2.0
// What the engine asks about the process and its threads: who owns the tables, what may be done, who and
// where it is.
//
// What holds for all services of the system: README.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// Memory that is this process's and its vfork children's, and reads 0 in every other child (fork, raw clone).
struct OwnerPage {
  std::atomic<uint64_t> mark;   // release by the owner, when its tables are there; read acquire
  std::atomic<uint32_t> claim;  // not 0: a thread is making the tables, or they are there
  std::atomic<uint32_t> reset;  // not 0: reset_in_child() was called
};
// A page of zeros.  The address is valid for ever.  nullptr: the system refused.  Must not be called from a
// hook; called once.
OwnerPage* make_owner_page();

// In a fork child: gives back what threads had taken that stayed with the parent, and will never give it back
// here.  Once in a process: the C library's fork calls it, and where that was not asked, who makes a child
// its own owner.
void reset_in_child();

// Has the program loaded a filter of system calls (seccomp) since its start?  Any call that it does not make
// itself may be its end then, so functions here make none that can be done without: they say "no", or 0.
bool is_sandboxed();
void set_sandboxed(bool sandboxed);

uint32_t thread_id();          // the system's id of the calling thread; sandboxed: 0
uint32_t process_id();         // asks the kernel every time
uint64_t process_namespace();  // of process ids: equal for processes that mean the same by an id; 0: unknown
// When this process came to be, in a unit of the system's; the same after it executed another program, and
// another one for each process that had its id.  0: unknown.
uint64_t process_start();
// What process_start() says of a process that comes to be now, but for the time between the two: cheaper, as it looks
// at a clock only.
uint64_t start_of_new_process();
// Path of the executable, "" if unknown; static memory.  The first call must not be made from a hook.
const char* program_path();
// What the program was executed with, from its name on, each with a NUL behind it, as far as it fits: bytes.  0: unknown.
// A program that shows another name (setproctitle) has written over it.
size_t program_arguments(char* text, size_t size_bytes);
// What the system calls the process (prctl PR_SET_NAME), without an end, as far as it fits: bytes.  0: unknown.
size_t process_name(char* text, size_t size_bytes);

// The process is privileged (set-uid, set-gid, file capabilities): it ignores the environment and the files of the user
// who started it.
bool is_privileged();
const char* environment(const char* name);  // nullptr: not set, or the process is privileged
const char* arena_folder();  // where the files of arenas go by default; "": nowhere; static memory
void yield_thread();
// Waits some 50 us, so that threads run that yield_thread() does not let pass (of lower priority, of other groups).
// No point of cancellation.  Not in a sandbox.
void pause_thread();
// What the calling thread has stored is there for every thread of the process that from now on reads what the
// calling thread stores next, though neither orders anything.
void order_all_threads();

}  // namespace memprof::platform
