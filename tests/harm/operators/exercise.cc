// SPDX-License-Identifier: Apache-2.0
// Calls every form of new with every form of delete that may end its block, and tells to which replaced forms each call
// came.  Before main, too, from a constructor.
#include <cstddef>
#include <cstdint>
#include <new>

#include "operators.h"

namespace {

constexpr std::align_val_t kAlignment{128};
constexpr size_t kSize = 96;

template <typename Call>
void tell(const char* what, const Call& call) {
  op_arm();
  const char* const result = call();
  op_tell(op_module, what, result);
}

// A failed allocation: does it throw, and is a handler asked?
void on_failure() {
  op_note(op_module, "handler");
  std::set_new_handler(nullptr);
}

template <typename New>
void fail(const char* what, size_t size, const New& allocate) {
  std::set_new_handler(on_failure);
  tell(what, [&] {
    try {
      return allocate(size) == nullptr ? "null" : "a block";
    } catch (const std::bad_alloc&) {
      return "thrown";
    }
  });
  std::set_new_handler(nullptr);
}

template <typename New, typename Delete>
void pair(const char* what, const New& allocate, const Delete& release) {
  void* volatile block;
  tell(what, [&] {
    block = allocate(kSize);
    return "";
  });
  for (size_t i = 0; i < kSize; ++i) static_cast<volatile char*>(block)[i] = 1;
  tell(what, [&] {
    release(block);
    return "";
  });
}

template <typename New, typename... Deletes>
void pairs(const char* what, const New& allocate, const Deletes&... releases) {
  (pair(what, allocate, releases), ...);
  fail(what, SIZE_MAX / 4, allocate);
  // What is not refused is kept.
  fail(what, OP_REFUSED, allocate);
}

struct Base {
  virtual ~Base() = default;
  int numbers[20];
};
struct Derived : Base {
  int more[20];
};

// The first calls of an allocator that is hooked are followed by trials of its functions (docs/decisions/0076): before
// what is told begins.
}  // namespace

extern "C" OP_HIDDEN void op_warm_up() {
  using std::nothrow;
  ::operator delete(::operator new(8));
  ::operator delete[](::operator new[](8));
  ::operator delete(::operator new(8, nothrow), nothrow);
  ::operator delete[](::operator new[](8, nothrow), nothrow);
  ::operator delete(::operator new(8, kAlignment), kAlignment);
  ::operator delete[](::operator new[](8, kAlignment), kAlignment);
  ::operator delete(::operator new(8, kAlignment, nothrow), kAlignment, nothrow);
  ::operator delete[](::operator new[](8, kAlignment, nothrow), kAlignment, nothrow);
}

namespace {

void exercise() {
  op_warm_up();
  const auto& nothrow = std::nothrow;
  using std::size_t;
  const auto plain = [](void* b) { ::operator delete(b); };
  const auto sized = [](void* b) { ::operator delete(b, kSize); };
  const auto quiet = [&](void* b) { ::operator delete(b, nothrow); };
  const auto array_plain = [](void* b) { ::operator delete[](b); };
  const auto array_sized = [](void* b) { ::operator delete[](b, kSize); };
  const auto array_quiet = [&](void* b) { ::operator delete[](b, nothrow); };
  const auto aligned = [](void* b) { ::operator delete(b, kAlignment); };
  const auto aligned_sized = [](void* b) { ::operator delete(b, kSize, kAlignment); };
  const auto aligned_quiet = [&](void* b) { ::operator delete(b, kAlignment, nothrow); };
  const auto aligned_array = [](void* b) { ::operator delete[](b, kAlignment); };
  const auto aligned_array_sized = [](void* b) { ::operator delete[](b, kSize, kAlignment); };
  const auto aligned_array_quiet = [&](void* b) { ::operator delete[](b, kAlignment, nothrow); };
  pairs("new", [](size_t n) { return ::operator new(n); }, plain, sized, quiet);
  pairs("new nothrow", [&](size_t n) { return ::operator new(n, nothrow); }, plain, sized, quiet);
  pairs("new[]", [](size_t n) { return ::operator new[](n); }, array_plain, array_sized, array_quiet);
  pairs(
      "new[] nothrow", [&](size_t n) { return ::operator new[](n, nothrow); }, array_plain, array_sized,
      array_quiet);
  pairs(
      "new aligned", [](size_t n) { return ::operator new(n, kAlignment); }, aligned, aligned_sized,
      aligned_quiet);
  pairs(
      "new aligned nothrow", [&](size_t n) { return ::operator new(n, kAlignment, nothrow); }, aligned,
      aligned_sized, aligned_quiet);
  pairs(
      "new[] aligned", [](size_t n) { return ::operator new[](n, kAlignment); }, aligned_array,
      aligned_array_sized, aligned_array_quiet);
  pairs(
      "new[] aligned nothrow", [&](size_t n) { return ::operator new[](n, kAlignment, nothrow); },
      aligned_array, aligned_array_sized, aligned_array_quiet);
  tell("object", [] {
    Base* volatile object = new Derived;
    delete object;
    return "";
  });
}

// As libraries do before main; what comes to whom then is in no call of the program.
struct Early {
  Early() {
    op_warm_up();
    op_arm();
    int* volatile p = new int(1);
    delete p;
    op_tell(op_module, "constructor", "");
  }
} early;

}  // namespace

// EXERCISE: the name, op_exercise or, in the executable and what it is linked with, another one.
extern "C" OP_SHARED void EXERCISE();
extern "C" OP_SHARED void EXERCISE() {
  exercise();
}
