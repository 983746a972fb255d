//! A hint to the processor that some words are about to be read.
//!
//! The only unsafe code of the crate. A prefetch changes no value and cannot fault, so a wrong hint costs
//! time and nothing else; on targets without the instruction it does nothing.

/// Words in a cache line.
const LINE: usize = 16;

/// Asks for at most the first four cache lines of `words`.
#[inline]
pub(crate) fn prefetch(words: &[u32]) {
    words.chunks(LINE).take(4).for_each(prefetch_line);
}

/// Asks for the cache line that `values` begin in.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "the prefetch instruction has no safe form; it reads nothing and cannot fault")]
pub(crate) fn prefetch_line<T>(values: &[T]) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch is a hint: it never faults, and the address comes from a live slice.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast()) };
}

/// No such instruction here.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn prefetch_line<T>(_values: &[T]) {}
