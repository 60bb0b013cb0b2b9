// SPDX-License-Identifier: Apache-2.0
// A scope of V8's handles: what is made within it is let go at its end.
//
// Model: V8 exports the constructor and the destructor of HandleScope, up to 14.  Then they are in its headers only: they
// save three words of the isolate and restore them.  Where these are follows from SealHandleScope, which is exported, and
// which changes two of them in a known way until it ends.
//
// Threads: that of the isolate.
// Signals, fork: not from a handler.
// Allocates: V8 may.
#pragma once

#include "runtime/v8/engine.h"

namespace memprof::v8 {

// Whether a Scope may be opened.  false: not now, or, where the isolate has no such words, never.
bool has_handle_scopes(const HeapFunctions& heap, void* isolate);

class Scope {
 public:
  Scope(const HeapFunctions& heap, void* isolate);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const HeapFunctions& heap_;
  void* isolate_;
  HandleScope scope_;
  HandleScopeData before_{};
};

}  // namespace memprof::v8
