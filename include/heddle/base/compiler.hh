// SPDX-License-Identifier: MIT
// What a compiler is told beyond the language.
#pragma once

/// A function off the usual path: it keeps nearly all registers, so that its callers need not save
/// any of theirs for a call that hardly ever happens. Compilers without the notion (GCC) call it as
/// any other. Write it on the first declaration. It must not throw: unwinding does not give the
/// registers back.
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define HEDDLE_RARE [[gnu::noinline, clang::preserve_most]]
#else
#define HEDDLE_RARE [[gnu::noinline]]
#endif
