// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "library.h"

namespace memprof::node {
namespace {

const char* name_of(int code) {
  switch (code) {
#define MEMPROF_NODE_CODE(name) \
  case name:                    \
    return #name;
    MEMPROF_NODE_CODE(MEMPROF_ERR_INVALID)
    MEMPROF_NODE_CODE(MEMPROF_ERR_STATE)
    MEMPROF_NODE_CODE(MEMPROF_ERR_NO_MEMORY)
    MEMPROF_NODE_CODE(MEMPROF_ERR_SYSTEM)
    MEMPROF_NODE_CODE(MEMPROF_ERR_EXISTS)
    MEMPROF_NODE_CODE(MEMPROF_ERR_FORKED)
    MEMPROF_NODE_CODE(MEMPROF_ERR_NO_HOOKS)
    MEMPROF_NODE_CODE(MEMPROF_ERR_FORMAT)
    MEMPROF_NODE_CODE(MEMPROF_ERR_LIMIT)
    MEMPROF_NODE_CODE(MEMPROF_ERR_OTHER_COPY)
#undef MEMPROF_NODE_CODE
    default:
      return "MEMPROF_ERR_UNKNOWN";
  }
}

}  // namespace

Error error_of(int result, std::string_view what) {
  Error error{result, std::string(what), 0};
  const int system_error = errno;
  if (result == MEMPROF_ERR_SYSTEM) {
    error.system_error = system_error;
    error.message += std::string(": ") + strerror(system_error);
  } else {
    error.message += std::string(": ") + library().memprof_strerror(result);
  }
  return error;
}

void check(int result, std::string_view what) {
  if (result < 0) {
    throw error_of(result, what);
  }
}

void Js::ok(napi_status status) const {
  if (status == napi_ok) {
    return;
  }
  bool is_pending = false;
  napi_is_exception_pending(env_, &is_pending);
  if (!is_pending) {
    const napi_extended_error_info* info = nullptr;
    napi_get_last_error_info(env_, &info);
    const char* const text = info != nullptr ? info->error_message : nullptr;
    napi_throw_error(env_, "MEMPROF_ERR_INVALID",
                     text != nullptr ? text : "memprof: a call of Node-API failed");
  }
  throw Pending{};
}

napi_value Js::undefined() const {
  napi_value result = nullptr;
  ok(napi_get_undefined(env_, &result));
  return result;
}

napi_value Js::null() const {
  napi_value result = nullptr;
  ok(napi_get_null(env_, &result));
  return result;
}

napi_value Js::boolean(bool value) const {
  napi_value result = nullptr;
  ok(napi_get_boolean(env_, value, &result));
  return result;
}

napi_value Js::number(double value) const {
  napi_value result = nullptr;
  ok(napi_create_double(env_, value, &result));
  return result;
}

napi_value Js::text(std::string_view value) const {
  napi_value result = nullptr;
  ok(napi_create_string_utf8(env_, value.data(), value.size(), &result));
  return result;
}

napi_value Js::object() const {
  napi_value result = nullptr;
  ok(napi_create_object(env_, &result));
  return result;
}

std::string Js::text_of(napi_value value) const {
  size_t size = 0;
  ok(napi_get_value_string_utf8(env_, value, nullptr, 0, &size));
  std::string result(size + 1, '\0');
  ok(napi_get_value_string_utf8(env_, value, result.data(), result.size(), &size));
  result.resize(size);
  return result;
}

napi_value Js::array(size_t size) const {
  napi_value result = nullptr;
  ok(napi_create_array_with_length(env_, size, &result));
  return result;
}

napi_value Js::error(const Error& error) const {
  napi_value result = nullptr;
  ok(napi_create_error(env_, text(name_of(error.code)), text(error.message), &result));
  if (error.system_error != 0) {
    set(result, "errno", error.system_error);
  }
  return result;
}

void Js::set(napi_value object, const char* name, napi_value value) const {
  ok(napi_set_named_property(env_, object, name, value));
}

void Js::set(napi_value array, size_t index, napi_value value) const {
  ok(napi_set_element(env_, array, static_cast<uint32_t>(index), value));
}

napi_value Js::estimate(const memprof_estimate& estimate) const {
  const double value = std::round(estimate.value);
  napi_value result = object();
  set(result, "value", value);
  set(result, "low", std::min(std::round(estimate.low), value));
  set(result, "high", std::max(std::round(estimate.high), value));
  return result;
}

Call::Call(napi_env env, napi_callback_info info) : Js(env) {
  size_t count = kMaxArguments;
  ok(napi_get_cb_info(env, info, &count, arguments_.data(), nullptr, nullptr));
}

double Call::number_at(size_t index) const {
  double result = 0;
  ok(napi_get_value_double(env(), arguments_[index], &result));
  return result;
}

double Call::member(size_t index, const char* name) const {
  bool has = false;
  ok(napi_has_named_property(env(), arguments_[index], name, &has));
  if (!has) {
    return 0;
  }
  napi_value value = nullptr;
  ok(napi_get_named_property(env(), arguments_[index], name, &value));
  double result = 0;
  ok(napi_get_value_double(env(), value, &result));
  return result;
}

void give_exception(napi_env env, const Error& error) {
  try {
    const Js js(env);
    napi_throw(env, js.error(error));
  } catch (const Pending&) {
    return;  // node shows it
  }
}

}  // namespace memprof::node
