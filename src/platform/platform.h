// SPDX-License-Identifier: Apache-2.0
// The seam: every function that an operating system must define for the engine.  The core calls these and the
// linker binds them to src/platform/<system>.
//
// Rules for all of them, unless one says otherwise: callable from inside an allocation hook and from a signal
// handler, so no lock, no allocation, no stdio; errno may change (the hooks save it); never throw.
// Errors: functions that return int give 0 or a non-negative value on success and -errno on failure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// ---- Memory -----------------------------------------------------------------------------------------------

// Reserves zeroed, readable and writable address space; pages get memory when they are first touched.
// nullptr: the system refused.  Never in huge pages: what is resident must be what was touched.
void* reserve_pages(size_t size_bytes);

// Gives back what reserve_pages returned.  Only for memory that no hook can reach.
void release_pages(void* start, size_t size_bytes);

// A range of addresses of which pieces are mapped, and nothing between them: what is not mapped counts for no
// limit on the address space, and mlockall does not fill it.  It lies where the system puts nothing by
// itself, but nothing keeps others from mapping there.  Offsets and sizes are multiples of kPieceBytes.
inline constexpr size_t kPieceBytes = 64 * 1024;  // no system's pages are larger
struct Piece {
  size_t offset;
  size_t size_bytes;
};
// In private memory; or, if `path` is not nullptr, in a new file of `size_bytes`, mode 0600, that other
// processes can read while this one lives and after it died; no descriptor stays open.  nullptr: there can be
// no such file at `path` (it is there, no space, a limit, ...), or no such mapping.
void* map_pieces(const char* path, size_t size_bytes, const Piece* pieces, uint32_t count);
// Lets the piece that starts at `start` and that has `old_bytes` have `new_bytes`; what is in it stays.
// `room_bytes`: from `start` to the next piece, or to the end.  false: the system refused, or others are
// there. Any number of threads may extend a piece at once.
bool extend_piece(void* start, size_t old_bytes, size_t new_bytes, size_t room_bytes);
// Only for memory that no hook can reach.  The pieces as they are now.
void unmap_pieces(void* start, size_t size_bytes, const Piece* pieces, uint32_t count);

// Makes sure that [start, start + size_bytes) of the pieces of a file can be touched without a fault; what is
// there stays.  false: no memory.
bool commit_pages(void* start, size_t size_bytes);

// Address space that the process may have at most (RLIMIT_AS); UINT64_MAX: no limit.
uint64_t address_space_limit();
// Is so much of it free?
bool has_address_space(size_t size_bytes);

// Copies memory that may not be there.  false: it cannot be read; never a fault, but where a sandbox forbids
// process_vm_readv and another thread unmaps the page between the question and the read.
bool read_memory(uint64_t address, void* bytes, size_t size_bytes);

// Gives the memory of [start, start + size_bytes) back, which map_pieces mapped of a file; it reads 0 then.
void drop_pages(void* start, size_t size_bytes);

// Tells the system that [start, start + size_bytes) is touched sparsely (no huge pages there).
void advise_sparse(void* start, size_t size_bytes);

// ---- Process and thread -----------------------------------------------------------------------------------

// Memory that is this process's and its vfork children's, and reads 0 in every other child (fork, raw clone).
struct OwnerPage {
  std::atomic<uint64_t> mark;   // release by the owner, when its tables are there; read acquire
  std::atomic<uint32_t> claim;  // not 0: a thread is making the tables, or they are there
  std::atomic<uint32_t> reset;  // not 0: reset_in_child() was called
};
// A page of zeros.  The address is valid for ever.  nullptr: the system refused.  Not for a hook's way: call
// it once.
OwnerPage* make_owner_page();

// In a fork child: gives back what threads had taken that stayed with the parent, and will never give it back
// here.  Once in a process: the C library's fork calls it, and where that was not asked, who makes a child
// its own owner.
void reset_in_child();

// Has the program loaded a filter of system calls (seccomp) since its start?  Any call that it does not make
// itself may be its end then, so functions here make none that can be done without: they say "no", or 0.
bool is_sandboxed();
void set_sandboxed(bool sandboxed);

uint64_t random_seed();         // 64 bits; the first from the kernel, of lower quality where it gives none
uint64_t monotonic_ns();        // a clock that does not jump
void stop_clock(bool stopped);  // that clock stands still: the processor's may not be read any more
uint64_t unix_ns();             // nanoseconds since 1970
uint32_t thread_id();           // the system's id of the calling thread; sandboxed: 0
uint32_t process_id();          // asks the kernel every time
uint64_t process_namespace();   // of process ids: equal for processes that mean the same by an id; 0: unknown
// When this process came to be, in a unit of the system's; the same after it executed another program, and
// another one for each process that had its id.  0: unknown.
uint64_t process_start();
// Resident memory of the process; *most: the most that it ever was.  0: unknown.  Keeps errno.
uint64_t resident_bytes(uint64_t* most);
const char* program_path();  // path of the executable, "" if unknown; static memory; not for a hook's way

// ---- Stacks and modules -----------------------------------------------------------------------------------

enum class Walk : uint8_t {
  kRoot = 0,
  kDepthLimit = 1,
  kBadFrame = 2,
  kLeftStack = 3,
  kNoRule = 4,
  kMiddleLeftOut = 5,  // the root was reached; the stack is deeper than the limit
};
inline constexpr uint32_t kWalkReasons = 6;

// Is the function gone (it returned, or was jumped out of) whose stack frame `frame` lies in?  `here`: an
// address in the stack frame of a function that runs; what the other one calls lies below `frame`.  false
// also where that cannot be told, because the two may be on different stacks.
bool is_frame_gone(uint64_t frame, uint64_t here);

// In place of the frames between the leaf's end and the root's, for kMiddleLeftOut.  No code lies there.
inline constexpr uint64_t kFramesLeftOut = 1;

// Where an allocation entered us: the frame of the hook, whose return address is in the program.
struct Entry {
  const void* frame_address;
};

struct WalkResult {
  uint32_t depth;
  Walk reason;
};

// Has the thread as much stack left as capture_stack and what follows it take, and `more_bytes`?  Asked of
// signal stacks; other stacks are large enough, or their size is not known.
bool has_stack_for_walk(const Entry& entry, size_t more_bytes);

// Writes return addresses, leaf first, at most `max_depth` of them.  Frames of the hooks are left out.  Of a
// deeper stack, both ends are kept if that is cheap, with kFramesLeftOut between them; else the leaf's end.
// Every read is inside the stack that the thread is running on.
WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth);

inline constexpr uint32_t kMaxBuildIdBytes = 32;

struct ModuleInfo {
  uint64_t start;  // of the segment: start <= address < limit
  uint64_t limit;
  uint64_t file_offset;  // of the segment's start
  uint64_t bias;         // load address minus address in the file
  const char* path;      // valid while the module stays loaded
  uint32_t build_id_size;
  uint8_t build_id[kMaxBuildIdBytes];
};

// The segment of a loaded module that `address` lies in.  The caller is running code of that module (or has
// it on its stack), so it cannot be unloaded meanwhile.  false: none.
bool find_module(uint64_t address, ModuleInfo* info);

// Exported symbols of one module, the one that `address` lies in: addresses[i] is that of names[i], or
// nullptr. false: there is no such module, or it does not export names[0].  At most 64 names.  The module
// stays loaded as for find_module.
bool find_exports_at(uint64_t address, const char* const* names, uint32_t count, const void** addresses);
// The same of the first module, in the loader's order, that exports names[0].  A variable of which the
// executable has the process's copy is that one.  Takes the loader's lock: not for a hook's way.
bool find_exports(const char* const* names, uint32_t count, const void** addresses);

// A module was unloaded and another one is where it was: drops what capture_stack remembers of code.
void forget_code();

// The exported symbol that contains `address`: its name (mangled; valid while the module stays loaded) and
// where it starts.  false: none.  Takes the loader's lock and may allocate: not for a hook's way.
bool find_symbol(uint64_t address, const char** name, uint64_t* start);

// ---- Imports (not for a hook's way; they take the loader's lock)
// -------------------------------------------

// The slots of allocation functions in the import tables of the loaded modules, where hooks get into a
// running process by them.
struct Imports {
  uint64_t modules;  // modules with such slots
  uint64_t patched;  // slots that lead to the hooks
  uint64_t refused;  // the system did not let them be written
  uint64_t foreign;  // they lead to another allocator than the process's, and stay
  uint64_t unbound;  // not bound yet, and not known to what they would be; looked at again
};

// Points them at the hooks: of all modules that are loaded now; those that are loaded later follow.  A second
// call looks again.  false: no slot could be had (an allocator inside the executable, no dynamic loader).
bool patch_imports();

// Looks again at slots that the dynamic loader may have bound after they were pointed at the hooks, if it is
// time for that.  For a hook's way, too.  `now_ns`: monotonic.
void watch_imports(uint64_t now_ns);

// As of the last time that they were looked at.
Imports imports();

// A line for each module that has slots which do not lead to the hooks: "path: refused 1, foreign 0, unbound
// 2".  Writes at most `size_bytes` with a NUL at the end; returns the length of the whole text.
size_t describe_imports(char* text, size_t size_bytes);

// The same as it was when they were last looked at, maybe cut; in static memory.  For a hook's way, too.
const char* imports_note();

// Is another copy of this library in the process, and initialized?  Its path, valid while it stays loaded;
// nullptr: none.
const char* find_other_copy();

// ---- Files and messages (not for a hook's way) ------------------------------------------------------------

inline constexpr int kFileExists = -17;  // -EEXIST on every system that has errno
int file_create(const char* path);  // new file for writing, mode 0600; fails if it is there; a descriptor
int file_write(int fd, const void* data, size_t size_bytes);  // all of it
int file_close(int fd);
// A regular file for reading that others could have made: waits for nobody, opens no device, and follows no
// link at the end of the path.  A descriptor; -EINVAL: it is no regular file.
int file_open(const char* path, uint64_t* size_bytes);
// All of [offset, offset + size_bytes).  false: it is not there (any more).
bool file_read(int fd, uint64_t offset, void* bytes, size_t size_bytes);
// Where the bytes from `offset` on that have memory end; `offset`: there it has none.
uint64_t file_data_end(int fd, uint64_t offset);
int file_rename(const char* from, const char* to, bool overwrite);  // kFileExists if `to` is there
bool file_remove(const char* path);
bool file_exists(const char* path);
const char* error_text(int error);  // of -errno; static memory
void set_last_error(int error);     // errno = -error

// One line to standard error: "memprof: " and the parts (nullptr-terminated), and a newline, in one write.
// What controls a terminal is replaced.
void message(const char* const* parts);

// Calls `handler` in a signal handler whenever the signal comes: "USR2", "SIGUSR2", "RTMIN+3", "12". Replaces
// what was there.  false: there is no such signal, or it cannot be caught.
bool on_signal(const char* name, void (*handler)());
// What the program has done with that signal since.
enum class SignalUse { kOurs, kDefault, kIgnored, kPrograms };
SignalUse signal_use();

// The process has rights that who started it has not (set-uid, set-gid, file capabilities): what that one
// says, and files that he can open, are not for it.
bool is_privileged();
const char* environment(const char* name);  // nullptr: not set, or the process is privileged
const char* arena_folder();  // where the files of arenas go by default; "": nowhere; static memory
void yield_thread();
// What the calling thread has stored is there for every thread of the process that from now on reads what the
// calling thread stores next, though neither orders anything.
void order_all_threads();

}  // namespace memprof::platform
