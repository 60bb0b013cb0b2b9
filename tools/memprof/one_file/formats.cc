// SPDX-License-Identifier: Apache-2.0
// fmt's functions: Debian has them as a shared library only.
#include <fmt/format-inl.h>

// Functions that others ask for, and made only where they are used.
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(
    fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
