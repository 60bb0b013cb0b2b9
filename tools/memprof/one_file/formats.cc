// SPDX-License-Identifier: Apache-2.0
// fmt's functions: Debian has them as a shared library only.
#include <fmt/format-inl.h>
