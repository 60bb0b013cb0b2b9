// SPDX-License-Identifier: Apache-2.0
// Calls C, which allocates; is called back by C; allocates by itself; panics through frames that allocate. In the main
// thread and in one of its own.
extern "C" {
    fn c_entry(size: usize);
    fn c_calls_back(function: extern "C" fn());
}

// std::hint::black_box, for older compilers, too.
fn black_box<T>(value: T) -> T {
    unsafe {
        let copy = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        copy
    }
}

const ROUNDS: usize = 100;

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        unsafe { c_entry(703) }
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_callback() {
    unsafe { c_entry(702) }
    black_box(());
}

#[no_mangle]
#[inline(never)]
pub fn rust_vector() -> Vec<u8> {
    black_box(Vec::with_capacity(black_box(70_400)))
}

#[no_mangle]
#[inline(never)]
pub fn rust_panics(depth: usize) -> usize {
    let _guard = Guard;
    if depth == 0 {
        std::panic::resume_unwind(Box::new(depth));
    }
    black_box(rust_panics(depth - 1)) + 1
}

#[no_mangle]
#[inline(never)]
pub fn rust_work() {
    for _ in 0..ROUNDS {
        unsafe { c_entry(701) }
        unsafe { c_calls_back(rust_callback) }
        drop(rust_vector());
        assert!(std::panic::catch_unwind(|| rust_panics(4)).is_err());
    }
    black_box(());
}

fn main() {
    rust_work();
    std::thread::spawn(rust_work).join().unwrap();
    println!("rounds {}", 2 * ROUNDS);
}
