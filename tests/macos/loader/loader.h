// SPDX-License-Identifier: Apache-2.0
// Runs programs of macOS on Linux, so far as their libSystem is simulated here: two images, a dylib that is "inserted" and a
// program.  It shows what our code does, not what Apple's libraries do.
#pragma once

#include <stddef.h>
#include <stdint.h>

// An image that is mapped.
struct image {
  const char* path;
  char* base;          // of the Mach-O header
  int64_t slide;       // of addresses in the file
  uint64_t text_size;  // of __TEXT
  char* (*at)(const struct image*, uint64_t vmaddr);
};

// Loads the file; exits with a message where it cannot.  `main_offset`: of LC_MAIN, 0: it has none.
struct image* load_image(const char* path, uint64_t* main_offset);
// Puts functions of its section __interpose in the place of others, in images that are loaded later.
void note_interposed(const struct image* image);
void run_initializers(const struct image* image, int argc, char** argv, char** environment);

// What a name of libSystem is here; NULL: it is not simulated.
void* find_simulated(const char* name);
// What dyld puts in the place of a function, else itself.
void* after_interposing(void* function);

// Of libmalloc.c: a logger that counts its calls.
void set_first_logger(void);
unsigned long first_logger_calls(void);

// Of libsystem.c.
void announce_image(const struct image* image);
void retire_image(const struct image* image);
void run_exit_functions(void);
int call_with_first_frame(int (*function)(void*), void* argument);
