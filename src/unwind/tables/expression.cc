// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/expression.h"

namespace memprof::unwind {
namespace {

constexpr int kMaxOperands = 32;
constexpr int kMaxSteps = 256;  // expressions may branch backwards

class Evaluation {
 public:
  Evaluation(const Expression& expression, const RegisterFile& registers, StackMemory& stack)
      : expression_(expression),
        registers_(registers),
        stack_(stack),
        bytes_(expression.start, expression.end) {}

  void push(uint64_t value) {
    if (count_ == kMaxOperands) {
      ok_ = false;
    } else {
      operands_[count_++] = value;
    }
  }

  bool run(uint64_t* result) {
    for (int steps = 0; ok_ && bytes_.ok() && !bytes_.empty(); ++steps) {
      if (steps == kMaxSteps) {
        return false;
      }
      step(bytes_.read<uint8_t>());
    }
    *result = pop();
    return ok_ && bytes_.ok();
  }

 private:
  uint64_t pop() {
    if (count_ == 0) {
      ok_ = false;
      return 0;
    }
    return operands_[--count_];
  }

  void pick(uint64_t depth) {
    if (depth >= static_cast<uint64_t>(count_)) {
      ok_ = false;
    } else {
      push(operands_[count_ - 1 - static_cast<int>(depth)]);
    }
  }

  void push_register(uint64_t dwarf, int64_t offset) {
    const uint8_t r = to_register(dwarf);
    ok_ = ok_ && registers_.has(r);
    push(ok_ ? registers_.values[r] + static_cast<uint64_t>(offset) : 0);
  }

  void jump(int64_t distance) {
    const uint64_t target = bytes_.position() + static_cast<uint64_t>(distance);
    if (!bytes_.ok() || target < expression_.start || target > expression_.end) {
      ok_ = false;
    } else {
      bytes_ = Bytes(target, expression_.end);
    }
  }

  void binary(uint8_t op) {
    const uint64_t b = pop();
    const uint64_t a = pop();
    const auto is = [](bool condition) { return uint64_t{condition}; };
    const int64_t sa = static_cast<int64_t>(a);
    const int64_t sb = static_cast<int64_t>(b);
    switch (op) {
      case 0x1a:
        return push(a & b);
      case 0x1b:  // div, signed; of the least number by -1: wraps
        ok_ = ok_ && b != 0;
        return push(b == 0 ? 0 : sb == -1 ? uint64_t{0} - a : static_cast<uint64_t>(sa / sb));
      case 0x1c:
        return push(a - b);
      case 0x1d:  // mod
        ok_ = ok_ && b != 0;
        return push(b == 0 ? 0 : a % b);
      case 0x1e:
        return push(a * b);
      case 0x21:
        return push(a | b);
      case 0x22:
        return push(a + b);
      case 0x24:
        return push(b < 64 ? a << b : 0);
      case 0x25:
        return push(b < 64 ? a >> b : 0);
      case 0x26:
        return push(static_cast<uint64_t>(sa >> (b < 64 ? b : 63)));
      case 0x27:
        return push(a ^ b);
      case 0x29:
        return push(is(a == b));
      case 0x2a:
        return push(is(sa >= sb));
      case 0x2b:
        return push(is(sa > sb));
      case 0x2c:
        return push(is(sa <= sb));
      case 0x2d:
        return push(is(sa < sb));
      case 0x2e:
        return push(is(a != b));
      default:
        ok_ = false;
    }
  }

  void step(uint8_t op);

  const Expression& expression_;
  const RegisterFile& registers_;
  StackMemory& stack_;
  Bytes bytes_;
  uint64_t operands_[kMaxOperands];
  int count_ = 0;
  bool ok_ = true;
};

void Evaluation::step(uint8_t op) {
  if (op >= 0x30 && op <= 0x4f) {  // lit0..31
    return push(op - 0x30u);
  }
  if (op >= 0x70 && op <= 0x8f) {  // breg0..31
    return push_register(op - 0x70u, bytes_.read_sleb());
  }
  switch (op) {
    case 0x03:  // addr
    case 0x0e:  // const8u
    case 0x0f:  // const8s
      return push(bytes_.read<uint64_t>());
    case 0x06: {  // deref
      uint64_t value = 0;
      ok_ = stack_.read(pop(), &value) && ok_;
      return push(value);
    }
    case 0x08:
      return push(bytes_.read<uint8_t>());
    case 0x09:
      return push(static_cast<uint64_t>(int64_t{bytes_.read<int8_t>()}));
    case 0x0a:
      return push(bytes_.read<uint16_t>());
    case 0x0b:
      return push(static_cast<uint64_t>(int64_t{bytes_.read<int16_t>()}));
    case 0x0c:
      return push(bytes_.read<uint32_t>());
    case 0x0d:
      return push(static_cast<uint64_t>(int64_t{bytes_.read<int32_t>()}));
    case 0x10:
      return push(bytes_.read_uleb());
    case 0x11:
      return push(static_cast<uint64_t>(bytes_.read_sleb()));
    case 0x12:  // dup
      return pick(0);
    case 0x13:  // drop
      pop();
      return;
    case 0x14:  // over
      return pick(1);
    case 0x15:
      return pick(bytes_.read<uint8_t>());
    case 0x16: {  // swap
      const uint64_t b = pop();
      const uint64_t a = pop();
      push(b);
      return push(a);
    }
    case 0x19: {  // abs
      const int64_t value = static_cast<int64_t>(pop());
      return push(value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    }
    case 0x1f:  // neg
      return push(uint64_t{0} - pop());
    case 0x20:  // not
      return push(~pop());
    case 0x23:  // plus_uconst
      return push(pop() + bytes_.read_uleb());
    case 0x28: {  // bra
      const int16_t distance = bytes_.read<int16_t>();
      if (pop() != 0) {
        jump(distance);
      }
      return;
    }
    case 0x2f:  // skip
      return jump(bytes_.read<int16_t>());
    case 0x92: {  // bregx
      const uint64_t r = bytes_.read_uleb();
      return push_register(r, bytes_.read_sleb());
    }
    case 0x94: {                                    // deref_size
      const uint8_t size = bytes_.read<uint8_t>();  // the word is read whole: stacks end at a multiple of 8
      uint64_t value = 0;
      ok_ = size >= 1 && size <= 8 && stack_.read(pop(), &value) && ok_;
      return push(size < 8 ? value & ((uint64_t{1} << (8 * (size & 7))) - 1) : value);
    }
    case 0x96:  // nop
      return;
    default:
      return binary(op);
  }
}

}  // namespace

bool evaluate(const Expression& expression, const RegisterFile& registers, StackMemory& stack, bool push_cfa,
              uint64_t cfa, uint64_t* result) {
  Evaluation evaluation(expression, registers, stack);
  if (push_cfa) {
    evaluation.push(cfa);
  }
  return evaluation.run(result);
}

}  // namespace memprof::unwind
