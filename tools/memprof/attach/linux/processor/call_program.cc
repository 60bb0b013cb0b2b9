// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/processor/call_program.h"

#include <cstring>
#include <stdexcept>

namespace memprof::cli {
namespace {

constexpr size_t offset_of(size_t step) {
  return sizeof(CallHeader) + step * sizeof(CallStep);
}

}  // namespace

CallProgram::CallProgram(uint64_t address, uint64_t context, uint64_t looks)
    : address_(address), image_(offset_of(kMaxSteps), '\0') {
  CallHeader header;
  header.context = context;
  if (looks != 0) header.looks = looks;
  memcpy(image_.data(), &header, sizeof(header));
}

size_t CallProgram::add(const CallStep& step) {
  if (steps_ + 1 >= kMaxSteps) throw std::length_error("a program of too many calls");
  memcpy(image_.data() + offset_of(steps_), &step, sizeof(step));
  return steps_++;
}

void CallProgram::on_failure(size_t from, CallStep::Failure failure, size_t to) {
  CallStep step;
  memcpy(&step, image_.data() + offset_of(from), sizeof(step));
  step.failure = failure;
  step.on_failure = address_of_step(to);
  memcpy(image_.data() + offset_of(from), &step, sizeof(step));
}

uint64_t CallProgram::add_data(std::string_view data) {
  const size_t at = (image_.size() + 15) / 16 * 16;
  if (at + data.size() > kBytes) throw std::length_error("a program of calls with too much data");
  image_.resize(at, '\0');
  image_.append(data);
  return address_ + at;
}

uint64_t CallProgram::address_of_step(size_t step) const {
  return address_ + offset_of(step);
}

uint64_t CallProgram::offset_of_result(size_t step) {
  return offset_of(step) + offsetof(CallStep, result);
}

uint64_t CallProgram::address_of_result(size_t step) const {
  return address_ + offset_of_result(step);
}

}  // namespace memprof::cli
