// SPDX-License-Identifier: Apache-2.0
// Memory that the engine takes from the system: pages, ranges of which pieces are mapped, limits of the
// address space, and reading memory that may not be there.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

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
// Memory that the process and those of its group may have at most (a container's limit); UINT64_MAX: no limit,
// or it is not known.
uint64_t memory_limit();
// Is so much of it free?
bool has_address_space(size_t size_bytes);

// Copies memory that may not be there.  false: it cannot be read; never a fault, but where a sandbox forbids
// process_vm_readv and another thread unmaps the page between the question and the read.
bool read_memory(uint64_t address, void* bytes, size_t size_bytes);

// Copies a text that may not be there, as far as it fits, with a NUL behind it.  false: it cannot be read to its end.
bool copy_text(const char* text, char* copy, size_t size_bytes);

// Gives the memory of [start, start + size_bytes) back, which map_pieces mapped of a file; it reads 0 then.
void drop_pages(void* start, size_t size_bytes);

// Tells the system that [start, start + size_bytes) is touched sparsely (no huge pages there).
void advise_sparse(void* start, size_t size_bytes);

// Tells the system that all of [start, start + size_bytes), which reserve_pages returned or a part of it, is about to be
// touched: they come at once, as huge pages where it is large.
void advise_dense(void* start, size_t size_bytes);

// Resident memory of the process in bytes; *max: its maximum so far; *files: the part in files and shared memory.
// 0: unknown.
// Keeps errno.
uint64_t resident_bytes(uint64_t* max, uint64_t* files = nullptr);

}  // namespace memprof::platform
