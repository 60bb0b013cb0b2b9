// SPDX-License-Identifier: Apache-2.0
// A native addon (Node-API) that scales pictures and keeps what it was to free: native_leak.js is the server that uses it.
#include <node_api.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace {

constexpr size_t kScale = 4;

std::vector<std::unique_ptr<std::vector<uint8_t>>> g_rows;

// The leak: each call leaves a buffer behind.
__attribute__((noinline)) std::vector<uint8_t>* new_row(size_t size) {
  g_rows.push_back(std::make_unique<std::vector<uint8_t>>(size));
  return g_rows.back().get();
}

// scale(Buffer) -> the sum of the bytes of the small picture
napi_value scale(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value picture = nullptr;
  void* data = nullptr;
  size_t size = 0;
  if (napi_get_cb_info(env, info, &count, &picture, nullptr, nullptr) != napi_ok || count != 1 ||
      napi_get_buffer_info(env, picture, &data, &size) != napi_ok) {
    napi_throw_type_error(env, nullptr, "scale: give a Buffer");
    return nullptr;
  }
  // Freed with the call.
  const std::vector<uint8_t> copy(static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + size);
  std::vector<uint8_t>* const row = new_row(size / kScale);
  uint32_t sum = 0;
  for (size_t i = 0; i < row->size(); ++i) {
    (*row)[i] = copy[i * kScale];
    sum += (*row)[i];
  }
  napi_value result = nullptr;
  return napi_create_uint32(env, sum, &result) == napi_ok ? result : nullptr;
}

napi_value init(napi_env env, napi_value exports) {
  napi_value function = nullptr;
  if (napi_create_function(env, "scale", NAPI_AUTO_LENGTH, scale, nullptr, &function) != napi_ok ||
      napi_set_named_property(env, exports, "scale", function) != napi_ok) {
    return nullptr;
  }
  return exports;
}

}  // namespace

NAPI_MODULE(thumbnails, init)
