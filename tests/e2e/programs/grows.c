// SPDX-License-Identifier: Apache-2.0
// A first peak ends; a second one, of many times its size, does not: usage grows kill|wait|large.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char* volatile kept[8000];

static void keep(int from, int to) {
  for (int i = from; i < to; i++) {
    kept[i] = malloc(10000);
    memset(kept[i], 1, 10000);
  }
}

int main(int argc, char** argv) {
  keep(0, 500);
  for (int i = 0; i < 500; i++) free(kept[i]);
  keep(0, 8000);
  if (argc > 1 && strcmp(argv[1], "large") == 0) {
    char* const large = malloc(100 << 20);
    memset(large, 1, 100 << 20);
    kept[0] = large;
  }
  if (argc > 1 && strcmp(argv[1], "wait") == 0) {
    puts("grown");
    fflush(stdout);
    getchar();
    return 0;
  }
  kill(getpid(), SIGKILL);
}
