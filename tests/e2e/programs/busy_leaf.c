// SPDX-License-Identifier: Apache-2.0
// One function that makes nearly all blocks, for sixteen callers.  usage: busy_leaf WHAT
// Where it decides the sizes itself, it is what a reader looks for; where it hands on what its caller asks for, it
// hides the callers.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAF __attribute__((noinline, noclone))
enum { kCallers = 16, kCalls = 60 };

static volatile uintptr_t sink;
static void* keep(void* block) {
  sink += (uintptr_t)block;
  return block;
}
static unsigned random_state = 1;
static unsigned random_below(unsigned limit) {
  random_state = random_state * 1103515245u + 12345u;
  return (random_state >> 8) % limit;
}

// What a reader looks for: `own` is the size that is of the caller, 100 + 24 times its number.
LEAF void* new_node(size_t own) {
  return keep(memset(malloc(48), (int)own, 48));
}
LEAF void* cell_alloc(size_t own) {
  return keep(memset(malloc(64), (int)own, 64));
}
LEAF void* inner_or_leaf(size_t own) {
  return keep(memset(malloc(own % 48 == 0 ? 512 : 64), 1, 64));
}
LEAF void* copy_string(size_t own) {
  char text[300];
  const size_t length = own / 8 + random_below(200);
  memset(text, 'x', length);
  text[length] = 0;
  char* copy = malloc(strlen(text) + 1);
  return keep(strcpy(copy, text));
}
LEAF void* intern_token(size_t own) {
  return keep(memset(malloc(16 + random_below(40)), (int)own, 8));
}
LEAF void* read_block(size_t own) {
  return keep(memset(malloc(1 + random_below(9000)), (int)own, 1));
}
struct entry {
  void* value;
  size_t size;
};
LEAF void* cache_insert(size_t own) {
  struct entry* entry = malloc(sizeof *entry + 8);
  entry->value = keep(memset(malloc(own), 1, own));
  entry->size = own;
  return keep(entry);
}
LEAF void* append(size_t own) {
  static char* text;
  static size_t used, space;
  used += own;
  if (used > space) {
    space = used * 5 / 4;
    text = realloc(text, space);
  }
  return keep(text);
}
LEAF void* rehash(size_t own) {
  return keep(memset(malloc(own), 1, own));
}
LEAF void* map_insert(size_t own) {
  if (random_below(3) == 0) keep(rehash(4096));
  return keep(memset(malloc(own * 20), 1, own));
}
LEAF void* arena_alloc(size_t own) {
  static char* at;
  static size_t left;
  if (left < own) {
    left = 16384;
    at = keep(malloc(left));
  }
  left -= own;
  return at += own;
}
// Few callers, each with its own size.
LEAF void* make_tensor(size_t own) {
  return keep(memset(malloc(own % 5 * 400 + 400), 1, 8));
}
LEAF void* image_alloc(size_t own) {
  return keep(memset(malloc(own % 3 * 4000 + 4000), 1, 8));
}

// What hides its callers.
LEAF void* grab(size_t own) {
  return keep(malloc(own + 16));
}
LEAF void* heap_alloc(size_t own) {
  return keep(malloc(own));
}
LEAF static void* lower(size_t own, int clear) {
  void* block = malloc(own);
  return keep(clear ? memset(block, 0, own) : block);
}
LEAF void* upper_alloc(size_t own) {
  return keep(lower(own, sink == 1));
}

typedef void* (*leaf_t)(size_t);
static leaf_t leaf;

// A function for each caller; `few` callers stand for all.
#define CALLER(n)                                              \
  LEAF void caller_##n(void) {                                 \
    for (int i = 0; i < kCalls; ++i) keep(leaf(100 + 24 * n)); \
  }
// clang-format off
CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6) CALLER(7)
CALLER(8) CALLER(9) CALLER(10) CALLER(11) CALLER(12) CALLER(13) CALLER(14) CALLER(15)
    // clang-format on
    static void (*const callers[kCallers])(void) = {
        caller_0, caller_1, caller_2,  caller_3,  caller_4,  caller_5,  caller_6,  caller_7,
        caller_8, caller_9, caller_10, caller_11, caller_12, caller_13, caller_14, caller_15};

static const struct {
  const char* name;
  leaf_t leaf;
  int callers;
} kinds[] = {{"new_node", new_node, kCallers},
             {"cell_alloc", cell_alloc, kCallers},
             {"inner_or_leaf", inner_or_leaf, kCallers},
             {"copy_string", copy_string, kCallers},
             {"intern_token", intern_token, kCallers},
             {"read_block", read_block, kCallers},
             {"cache_insert", cache_insert, kCallers},
             {"append", append, kCallers},
             {"map_insert", map_insert, kCallers},
             {"arena_alloc", arena_alloc, kCallers},
             {"make_tensor", make_tensor, 5},
             {"image_alloc", image_alloc, 3},
             {"grab", grab, kCallers},
             {"heap_alloc", heap_alloc, 6},
             {"upper_alloc", upper_alloc, kCallers}};

int main(int argc, char** argv) {
  for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(argv[1], kinds[i].name) != 0) continue;
    leaf = kinds[i].leaf;
    for (int n = 0; n < kinds[i].callers; ++n) callers[n]();
    return 0;
  }
  fputs("usage: busy_leaf WHAT\n", stderr);
  return 2;
}
