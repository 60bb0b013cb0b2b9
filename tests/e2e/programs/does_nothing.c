// SPDX-License-Identifier: Apache-2.0
// Ends at once.
int main(void) {
  return 0;
}
