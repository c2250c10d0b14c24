//! The functions that the module exports to its host, through one buffer of the linear memory.
//!
//! The host asks for `room`, writes the question there, calls `ask`, and reads the answer at `place`. No pointer is read
//! here: all that is unsafe is that names are exported.

use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes the buffer this many bytes long and returns where it is.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
extern "C" fn room(bytes: usize) -> *const u8 {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.resize(bytes, 0);
    });
    place()
}

/// Returns where the buffer is.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
extern "C" fn place() -> *const u8 {
    BUFFER.with_borrow(|buffer| buffer.as_ptr())
}

/// Puts the answer to the question in the buffer in its place, and returns its length in bytes.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
extern "C" fn ask() -> usize {
    let question = BUFFER.take();
    let text = crate::answer(&String::from_utf8_lossy(&question));
    let length = text.len();
    BUFFER.set(text.into_bytes());
    length
}
