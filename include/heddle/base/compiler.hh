// SPDX-License-Identifier: MIT
// Compiler attributes beyond the C++ standard.
#pragma once

/// Marks a function off the hot path: it preserves nearly all registers, so that its callers need
/// not save theirs for a rare call. Compilers without this calling convention (GCC) call it
/// normally. Write it on the first declaration. The function must not throw, because unwinding does
/// not restore these registers.
///
/// HEDDLE_PLAIN_CALLS turns this off. It is defined for shared libraries, because the dynamic
/// linker runs at the first call of a function and changes some of these registers, and in
/// installed headers if GCC compiled the library (cmake/install.cmake).
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    !defined(HEDDLE_PLAIN_CALLS)
#define HEDDLE_RARE [[gnu::noinline, clang::preserve_most]]
#else
#define HEDDLE_RARE [[gnu::noinline]]
#endif
