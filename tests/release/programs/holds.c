// SPDX-License-Identifier: Apache-2.0
// Allocates in functions of its own, usage:
//   holds        100 blocks of 100,000 bytes, of which a half is freed again
//   holds wait   the same, says "ready", and goes on keeping a block of 100,000 bytes every millisecond until its input ends
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* volatile kept[100000];

__attribute__((noinline)) static void keep_text(int at) {
  kept[at] = malloc(100000);
  memset(kept[at], 1, 4096);
}

__attribute__((noinline)) static void drop_text(int at) {
  free(kept[at]);
  kept[at] = NULL;
}

int main(int argc, char** argv) {
  for (int i = 0; i < 100; i++) keep_text(i);
  for (int i = 0; i < 100; i += 2) drop_text(i);
  if (argc < 2 || strcmp(argv[1], "wait") != 0) return 0;
  puts("ready");
  fflush(stdout);
  struct pollfd input = {.fd = 0, .events = POLLIN};
  for (int i = 100; poll(&input, 1, 1) == 0 && i < 100000; i++) keep_text(i);
  return 0;
}
