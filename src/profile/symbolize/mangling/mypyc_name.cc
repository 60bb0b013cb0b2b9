// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/mangling/mypyc_name.h"

#include <algorithm>
#include <string_view>

#include "profile/names/interpreter_frames.h"

namespace memprof::profile {
namespace {

constexpr char kGenerator[] = ".__mypyc_generator_helper__";

// false: the text does not end so, or is nothing else.
bool cut_end(std::string_view end, std::string* text) {
  if (text->size() <= end.size() || text->compare(text->size() - end.size(), end.size(), end) != 0)
    return false;
  text->resize(text->size() - end.size());
  return true;
}

// A dot is three underscores, which are themselves `___3_`.
std::string decoded(std::string_view text) {
  constexpr std::string_view kDot = "___";
  constexpr std::string_view kUnderscores = "___3_";
  std::string name;
  while (!text.empty()) {
    const bool is_escaped = text.substr(0, kUnderscores.size()) == kUnderscores;
    const bool is_dot = !is_escaped && text.substr(0, kDot.size()) == kDot;
    name += is_escaped ? kDot : is_dot ? std::string_view(".") : text.substr(0, 1);
    text.remove_prefix(is_escaped ? kUnderscores.size() : is_dot ? kDot.size() : 1);
  }
  return name;
}

// The class of a generator: `read_gen`, or with a number behind it where there are several.
void cut_generator(std::string* name) {
  const size_t digits = name->find_last_not_of("0123456789") + 1;
  if (digits < name->size()) {
    std::string without = name->substr(0, digits);
    if (cut_end("___", &without)) *name = without;
  }
  cut_end("_gen", name);
}

}  // namespace

std::string mypyc_name(const std::string& symbol) {
  if (!is_mypyc_symbol(symbol)) return "";
  std::string_view rest(symbol);
  rest.remove_prefix(kMypycPrefix.size());
  std::string name = decoded(rest.substr(0, rest.find('.')));  // without what compilers add to clones
  // What calls it for a base class.
  if (cut_end("_glue", &name)) name.resize(std::min(name.size(), name.rfind("__")));
  if (cut_end(kGenerator, &name)) cut_generator(&name);
  if (cut_end(".__top_level__", &name)) name += ".<module>";
  // What makes an object of a class, called as the class.
  constexpr std::string_view kSetup = ".__mypyc__";
  if (const size_t at = name.rfind(kSetup); at != std::string::npos && cut_end("_setup", &name)) {
    name.erase(at + 1, kSetup.size() - 1);
  }
  return name;
}

}  // namespace memprof::profile
