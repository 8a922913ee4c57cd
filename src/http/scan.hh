// SPDX-License-Identifier: MIT
// Finds the byte that ends a token, sixteen bytes at a time. SSE2 is part of x86-64; on other
// machines the same functions go byte by byte. They never read outside [low, end): the last block
// is loaded so that it ends with the buffer, and bytes that were already scanned are shifted out.
#pragma once

#include <cstdint>

#include "heddle/http/detail/charset.hh"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace heddle::http::detail {

inline bool line_ends(const char* p) { return p[0] == '\r' && p[1] == '\n'; }

// Each finder decides for a single byte (`stops`) and for a block (`mask`, one bit a byte). A test
// checks for all 256 bytes that the two agree.

struct name_end {  // a colon, or anything that no name holds among 0x00-0x20 and 0x80-0xff
  static bool stops(char c) { return c == ':' || static_cast<signed char>(c) <= 0x20; }
#ifdef __SSE2__
  static __m128i block(__m128i bytes) {
    return _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')),
                        _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21)));
  }
#endif
};

struct value_end {  // a control character, tab included; the caller accepts tabs
  static bool stops(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
#ifdef __SSE2__
  static __m128i block(__m128i bytes) {
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    return _mm_or_si128(low, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
  }
#endif
};

struct target_end {  // a byte that a target may not hold, or '?'
  static bool stops(char c) { return c == '?' || !is(c, target_byte); }
#ifdef __SSE2__
  static __m128i block(__m128i bytes) {
    __m128i outside = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21));
    __m128i del_or_query = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)),
                                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('?')));
    // '"' and '#' differ in the lowest bit, '<' and '>' in the second.
    __m128i quotes = _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8(~0x01)), _mm_set1_epi8('"'));
    __m128i angles = _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8(~0x02)), _mm_set1_epi8('<'));
    return _mm_or_si128(_mm_or_si128(outside, del_or_query), _mm_or_si128(quotes, angles));
  }
#endif
};

// The first byte of [from, end) at which `Finder` stops; `end` if there is none.
template <class Finder>
inline const char* find(const char* from, const char* end, [[maybe_unused]] const char* low) {
#ifdef __SSE2__
  while (end - from >= 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(Finder::block(bytes)));
    if (mask != 0) return from + __builtin_ctz(mask);
    from += 16;
  }
  if (from == end) return end;
  if (end - low >= 16) {
    const char* last = end - 16;
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(last));
    unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(Finder::block(bytes)));
    mask >>= from - last;
    return mask != 0 ? from + __builtin_ctz(mask) : end;
  }
#endif
  while (from < end && !Finder::stops(*from)) ++from;
  return from;
}

}  // namespace heddle::http::detail
