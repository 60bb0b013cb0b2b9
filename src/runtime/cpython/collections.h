// SPDX-License-Identifier: Apache-2.0
// Runs of Python's garbage collector, counted: gc.callbacks gets a function of ours.  (Audit events do not exist for
// collections.)
//
// Threads: any; who calls waits for the interpreter's lock.
// Allocates: what Python does.
// Failure: false; no exception is left.
#pragma once

namespace memprof::cpython {

// Of the interpreter that the calling thread is in, or else the main one, until it ends. Once. Must not be called from a hook.
// false: there is none that is initialized.
bool count_collections();

}  // namespace memprof::cpython
