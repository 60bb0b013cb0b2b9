// SPDX-License-Identifier: Apache-2.0
#include "profile/text/filter_text.h"

#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

std::string matches(const std::string& text) {
  return " that matches '" + printable(text) + "'";
}

}  // namespace

std::string filter_sentence(const FilterTexts& texts) {
  std::string line = "Only stacks";
  if (texts.process) line += " of a process" + matches(*texts.process);
  if (texts.process && (texts.focus || texts.ignore)) line += ",";
  if (texts.focus) line += " with a frame" + matches(*texts.focus);
  if (texts.focus && texts.ignore) line += ", and";
  if (texts.ignore) line += " without a frame" + matches(*texts.ignore);
  return line;
}

}  // namespace memprof::profile
