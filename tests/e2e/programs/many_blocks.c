// SPDX-License-Identifier: Apache-2.0
// As an editor ends that holds a large file: 800,000 small blocks live, two for each line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLines = 400000, kNode = 40, kText = 26 };

int main(void) {
  static void* volatile held[2 * kLines];
  for (int i = 0; i < kLines; ++i) {
    held[2 * i] = malloc(kNode);
    held[2 * i + 1] = malloc(kText);
    if (held[2 * i] == NULL || held[2 * i + 1] == NULL) return 1;
    memset(held[2 * i], 1, kNode);
    memset(held[2 * i + 1], 1, kText);
  }
  printf("live %d\n", kLines * (kNode + kText));
  return held[kLines] == NULL;
}
