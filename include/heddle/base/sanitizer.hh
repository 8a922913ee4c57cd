// SPDX-License-Identifier: MIT
// Tells as 0 or 1 which sanitizers this translation unit is compiled with, for GCC and Clang alike.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HEDDLE_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HEDDLE_TSAN 1
#endif
#ifndef HEDDLE_ASAN
#define HEDDLE_ASAN 0
#endif
#ifndef HEDDLE_TSAN
#define HEDDLE_TSAN 0
#endif
