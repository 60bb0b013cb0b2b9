// SPDX-License-Identifier: Apache-2.0
// Calls from JavaScript, values for it, and errors as exceptions of JavaScript.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "library.h"
#include "memprof.h"

namespace memprof::node {

// Becomes an Error with `code` (the name of a MEMPROF_ERR_*), and `errno` for MEMPROF_ERR_SYSTEM.
struct Error {
  int code;
  std::string message;
  int system_error = 0;
};

// An exception of JavaScript is pending already.
struct Pending {};

// The Error of a negative result of the library: `what` says who failed.  Call it before errno changes.
Error error_of(int result, std::string_view what);

// Throws that.
void check(int result, std::string_view what);

// The environment of a call: makes values.  All throw Pending.
class Js {
 public:
  explicit Js(napi_env env) : env_(env) {}

  napi_env env() const { return env_; }
  void ok(napi_status status) const;

  napi_value undefined() const;
  napi_value null() const;
  napi_value boolean(bool value) const;
  napi_value number(double value) const;
  napi_value text(std::string_view value) const;
  napi_value object() const;
  std::string text_of(napi_value value) const;
  napi_value array(size_t size) const;
  napi_value error(const Error& error) const;

  void set(napi_value object, const char* name, napi_value value) const;
  void set(napi_value object, const char* name, double value) const { set(object, name, number(value)); }
  void set(napi_value array, size_t index, napi_value value) const;

  // Rounded to whole numbers, as {value, low, high}.
  napi_value estimate(const memprof_estimate& estimate) const;

 private:
  napi_env env_;
};

// Values that are made while it lives are collected with it, unless they are kept by another value.
class Scope {
 public:
  explicit Scope(const Js& js) : env_(js.env()) { js.ok(napi_open_handle_scope(env_, &scope_)); }
  ~Scope() { napi_close_handle_scope(env_, scope_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  napi_env env_;
  napi_handle_scope scope_ = nullptr;
};

// A call of one of the addon's functions.  The arguments were checked in JavaScript.
class Call : public Js {
 public:
  static constexpr size_t kMaxArguments = 5;

  Call(napi_env env, napi_callback_info info);

  double number_at(size_t index) const;
  std::string text_at(size_t index) const { return text_of(arguments_[index]); }
  napi_value at(size_t index) const { return arguments_[index]; }
  // Of an object; 0 where it is not there.
  double member(size_t index, const char* name) const;

 private:
  std::array<napi_value, kMaxArguments> arguments_{};
};

// Throws it into JavaScript.
void give_exception(napi_env env, const Error& error);

// A function as Node-API wants it: throws into JavaScript whatever the body throws.  What is allocated meanwhile, by V8 too, is not sampled.
template <napi_value (*kBody)(const Call&)>
napi_value entry(napi_env env, napi_callback_info info) {
  const Muted muted;
  try {
    return kBody(Call(env, info));
  } catch (const Pending&) {
    return nullptr;
  } catch (const Error& error) {
    give_exception(env, error);
  } catch (...) {  // std::bad_alloc
    give_exception(env, {MEMPROF_ERR_NO_MEMORY, "memprof: no memory"});
  }
  return nullptr;
}

}  // namespace memprof::node
