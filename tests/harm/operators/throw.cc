// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "operators.h"

void op_throw() {
  throw std::bad_alloc();
}
