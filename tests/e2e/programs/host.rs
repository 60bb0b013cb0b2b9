// SPDX-License-Identifier: Apache-2.0
// A Rust program that loads memprof at run time: host LIBRARY PROFILE.
use std::ffi::{c_char, c_int, c_void, CString};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
}

#[repr(C)]
struct Options {
    struct_size: u32,
    max_depth: u32,
    rate_bytes: u64,
    max_live_samples: u64,
    max_stacks: u64,
    follow_fork: u32,
    private_memory: u32,
}

fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    let found = unsafe { dlsym(library, name.as_ptr()) };
    assert!(!found.is_null());
    found
}

#[no_mangle]
#[inline(never)]
pub fn host_allocates() -> Vec<u8> {
    Vec::with_capacity(70_400)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let before = host_allocates();
    let path = CString::new(arguments[1].clone()).unwrap();
    let profile = CString::new(arguments[2].clone()).unwrap();
    unsafe {
        let library = dlopen(path.as_ptr(), 2);
        assert!(!library.is_null());
        let init: extern "C" fn(*const Options) -> c_int = std::mem::transmute(symbol(library, "memprof_init"));
        let start: extern "C" fn() -> c_int = std::mem::transmute(symbol(library, "memprof_start"));
        let stop: extern "C" fn() -> c_int = std::mem::transmute(symbol(library, "memprof_stop"));
        let write: extern "C" fn(*const c_char, u32) -> c_int =
            std::mem::transmute(symbol(library, "memprof_write_profile"));
        let options = Options {
            struct_size: std::mem::size_of::<Options>() as u32,
            max_depth: 0,
            rate_bytes: 0,
            max_live_samples: 0,
            max_stacks: 0,
            follow_fork: 0,
            private_memory: 0,
        };
        assert_eq!(init(&options), 0);
        assert_eq!(start(), 0);
        let kept: Vec<Vec<u8>> = (0..10).map(|_| host_allocates()).collect();
        let thread = std::thread::spawn(|| drop(host_allocates()));
        thread.join().unwrap();
        assert_eq!(stop(), 0);
        assert_eq!(start(), 0);
        drop(before);
        assert_eq!(dlclose(library), 0);
        assert_eq!(write(profile.as_ptr(), 0), 0);
        drop(kept);
    }
}
