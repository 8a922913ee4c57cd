/* SPDX-License-Identifier: MIT
 *
 * Included by C files compiled from Draft: checked arithmetic, views and buffers, all inline.
 * `bad` notes the first fault of a statement; the result then does not matter. Hand-written C may
 * use it too.
 */
#ifndef HEDDLE_DRAFT_H
#define HEDDLE_DRAFT_H

#include <string.h>

#include "heddle/abi.h"

#define HEDDLE_OVERFLOW 1u
#define HEDDLE_DIVISION 2u
#define HEDDLE_BOUNDS 3u
#define HEDDLE_NARROW 4u
#define HEDDLE_SHIFT 5u
#define HEDDLE_TOO_DEEP 6u

/* Where the variables of a frame begin, with that many waits and arms before them. */
#define HEDDLE_FRAME_HEAD(waits, arms) \
  (sizeof(heddle_thread) + (waits) * sizeof(heddle_wait) + (arms) * sizeof(heddle_arm))

#define HEDDLE_NO_VIEW ((heddle_view){NULL, 0})
#define HEDDLE_VIEW(literal) ((heddle_view){literal, sizeof(literal) - 1})
#define HEDDLE_TEXT_VIEW(t) ((heddle_view){(t).data, (t).len})
/* A static heddle_bytes. */
#define HEDDLE_BYTES(name, literal) \
  static const struct {             \
    uint32_t count;                 \
    uint32_t len;                   \
    char data[sizeof(literal)];     \
  } name = {UINT32_MAX, sizeof(literal) - 1, literal}

static inline heddle_link heddle_park(heddle_frame* self, uint32_t number) {
  self->at = (self->at & (HEDDLE_AT_THREAD | 3u)) | number << 2;
  return 0;
}
static inline heddle_link heddle_park_to(heddle_frame* self, uint32_t number, heddle_link run) {
  heddle_park(self, number);
  return run;
}

#define HEDDLE_INVALID (-22)
/* The status of a `fail`. An error that was never set, or that C gave, may be none: `fail` makes
   error.invalid of it. */
static inline int64_t heddle_status_of(int32_t error) {
  return error > 0 ? -(int64_t)error : HEDDLE_INVALID;
}

/* The order in which the arms of an `any` are asked: as written, but the last winner comes last. */
typedef struct heddle_turn {
  uint32_t left;
  uint32_t arm;
  uint32_t count;
  uint32_t won;
} heddle_turn;
static inline heddle_turn heddle_turn_first(uint32_t count, uint32_t won) {
  heddle_turn t = {count, 0, count, won < count ? won : count};
  if (t.won == 0 && count > 1) t.arm = 1;
  return t;
}
static inline void heddle_turn_next(heddle_turn* t) {
  t->left--;
  t->arm++;
  if (t->arm == t->won) t->arm++;
  if (t->left == 1 && t->won != t->count) t->arm = t->won;
}

#define HEDDLE_CHECKED(name, type)                                          \
  static inline type heddle_add_##name(type a, type b, uint32_t* bad) {     \
    type r;                                                                 \
    if (__builtin_add_overflow(a, b, &r)) *bad = HEDDLE_OVERFLOW;           \
    return r;                                                               \
  }                                                                         \
  static inline type heddle_sub_##name(type a, type b, uint32_t* bad) {     \
    type r;                                                                 \
    if (__builtin_sub_overflow(a, b, &r)) *bad = HEDDLE_OVERFLOW;           \
    return r;                                                               \
  }                                                                         \
  static inline type heddle_mul_##name(type a, type b, uint32_t* bad) {     \
    type r;                                                                 \
    if (__builtin_mul_overflow(a, b, &r)) *bad = HEDDLE_OVERFLOW;           \
    return r;                                                               \
  }                                                                         \
  static inline type heddle_##name##_of_i64(int64_t n, uint32_t* bad) {     \
    type r;                                                                 \
    if (__builtin_add_overflow(n, (int64_t)0, &r)) *bad = HEDDLE_NARROW;    \
    return r;                                                               \
  }                                                                         \
  static inline type heddle_##name##_of_u64(uint64_t n, uint32_t* bad) {    \
    type r;                                                                 \
    if (__builtin_add_overflow(n, (uint64_t)0, &r)) *bad = HEDDLE_NARROW;   \
    return r;                                                               \
  }                                                                         \
  static inline type heddle_shl_##name(type a, int64_t by, uint32_t* bad) { \
    if (by < 0 || by >= (int64_t)(8 * sizeof(type))) {                      \
      *bad = HEDDLE_SHIFT;                                                  \
      return 0;                                                             \
    }                                                                       \
    return (type)((uint64_t)a << by);                                       \
  }                                                                         \
  static inline type heddle_shr_##name(type a, int64_t by, uint32_t* bad) { \
    if (by < 0 || by >= (int64_t)(8 * sizeof(type))) {                      \
      *bad = HEDDLE_SHIFT;                                                  \
      return 0;                                                             \
    }                                                                       \
    return (type)(a >> by);                                                 \
  }
#define HEDDLE_DIVIDES(name, type, least)                                    \
  static inline type heddle_div_##name(type a, type b, uint32_t* bad) {      \
    if (b == 0 || ((least) != 0 && b == (type) - 1 && a == (type)(least))) { \
      *bad = b == 0 ? HEDDLE_DIVISION : HEDDLE_OVERFLOW;                     \
      return 0;                                                              \
    }                                                                        \
    return (type)(a / b);                                                    \
  }                                                                          \
  static inline type heddle_mod_##name(type a, type b, uint32_t* bad) {      \
    if (b == 0 || ((least) != 0 && b == (type) - 1 && a == (type)(least))) { \
      *bad = b == 0 ? HEDDLE_DIVISION : HEDDLE_OVERFLOW;                     \
      return 0;                                                              \
    }                                                                        \
    return (type)(a % b);                                                    \
  }
HEDDLE_CHECKED(i8, int8_t)
HEDDLE_CHECKED(i16, int16_t)
HEDDLE_CHECKED(i32, int32_t)
HEDDLE_CHECKED(i64, int64_t)
HEDDLE_CHECKED(u8, uint8_t)
HEDDLE_CHECKED(u16, uint16_t)
HEDDLE_CHECKED(u32, uint32_t)
HEDDLE_CHECKED(u64, uint64_t)
HEDDLE_DIVIDES(i8, int8_t, INT8_MIN)
HEDDLE_DIVIDES(i16, int16_t, INT16_MIN)
HEDDLE_DIVIDES(i32, int32_t, INT32_MIN)
HEDDLE_DIVIDES(i64, int64_t, INT64_MIN)
HEDDLE_DIVIDES(u8, uint8_t, 0)
HEDDLE_DIVIDES(u16, uint16_t, 0)
HEDDLE_DIVIDES(u32, uint32_t, 0)
HEDDLE_DIVIDES(u64, uint64_t, 0)

static inline size_t heddle_index(int64_t at, int64_t count, uint32_t* bad) {
  if (at >= 0 && at < count) return (size_t)at;
  *bad = HEDDLE_BOUNDS;
  return 0;
}

/* Views. */
static inline int64_t heddle_view_len(heddle_view v) { return (int64_t)v.len; }
static inline uint8_t heddle_view_at(heddle_view v, int64_t at, uint32_t* bad) {
  if (at >= 0 && (uint64_t)at < v.len) return (uint8_t)v.data[at];
  *bad = HEDDLE_BOUNDS;
  return 0;
}
static inline heddle_view heddle_view_part(heddle_view v, int64_t from, int64_t to, uint32_t* bad) {
  if (from < 0 || to < from || (uint64_t)to > v.len) {
    *bad = HEDDLE_BOUNDS;
    return HEDDLE_NO_VIEW;
  }
  if (from == to) return HEDDLE_NO_VIEW;
  return (heddle_view){v.data + from, (size_t)(to - from)};
}
static inline bool heddle_view_equal(heddle_view a, heddle_view b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
static inline bool heddle_view_starts(heddle_view v, heddle_view with) {
  return v.len >= with.len && (with.len == 0 || memcmp(v.data, with.data, with.len) == 0);
}
static inline bool heddle_view_find(heddle_view v, heddle_view what, int64_t* at) {
  *at = 0;
  if (what.len == 0) return true;
  for (size_t i = 0; i + what.len <= v.len; i++) {
    const char* const next =
        (const char*)memchr(v.data + i, what.data[0], v.len - what.len - i + 1);
    if (next == NULL) return false;
    i = (size_t)(next - v.data);
    if (memcmp(next, what.data, what.len) == 0) {
      *at = (int64_t)i;
      return true;
    }
  }
  return false;
}
static inline bool heddle_is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
static inline heddle_view heddle_view_trim(heddle_view v) {
  while (v.len != 0 && heddle_is_space(v.data[0])) {
    v.data++;
    v.len--;
  }
  while (v.len != 0 && heddle_is_space(v.data[v.len - 1])) v.len--;
  return v;
}
/* -EILSEQ for what is no number. */
static inline int64_t heddle_view_to_int(heddle_view v, int64_t* out) {
  const bool negative = v.len != 0 && v.data[0] == '-';
  int64_t n = 0;
  if (v.len == (negative ? 1u : 0u)) return -84;
  for (size_t i = negative ? 1 : 0; i != v.len; i++) {
    const char c = v.data[i];
    if (c < '0' || c > '9') return -84;
    if (__builtin_mul_overflow(n, (int64_t)10, &n)) return -84;
    if (negative ? __builtin_sub_overflow(n, (int64_t)(c - '0'), &n)
                 : __builtin_add_overflow(n, (int64_t)(c - '0'), &n))
      return -84;
  }
  *out = n;
  return 0;
}

/* Texts: a length and an array. */
static inline int64_t heddle_text_append(uint32_t* len, char* data, uint32_t capacity,
                                         heddle_view v) {
  if (v.len > capacity - *len) return -105;
  if (v.len != 0) memmove(data + *len, v.data, v.len);
  *len += (uint32_t)v.len;
  return 0;
}
static inline int64_t heddle_text_set(uint32_t* len, char* data, uint32_t capacity, heddle_view v) {
  if (v.len > capacity) return -105;
  if (v.len != 0) memmove(data, v.data, v.len);
  *len = (uint32_t)v.len;
  return 0;
}
static inline void heddle_text_clear(uint32_t* len, char* data, uint32_t capacity) {
  (void)data;
  (void)capacity;
  *len = 0;
}

/* Bytes: null is empty. */
static inline heddle_view heddle_bytes_view(const heddle_bytes* b) {
  return b == NULL ? HEDDLE_NO_VIEW : (heddle_view){b->data, b->len};
}
static inline void heddle_bytes_retain(heddle_bytes* b) {
  if (b != NULL && __atomic_load_n(&b->count, __ATOMIC_RELAXED) != UINT32_MAX)
    __atomic_fetch_add(&b->count, 1, __ATOMIC_RELAXED);
}

/* Buffers. */
static inline heddle_view heddle_buffer_filled(const heddle_buffer* b) {
  return (heddle_view){b->data + b->begin, b->end - b->begin};
}
static inline int64_t heddle_buffer_len(const heddle_buffer* b) {
  return (int64_t)(b->end - b->begin);
}
/* Bytes at the front that were consumed count as room: they are moved away when it is needed. */
static inline int64_t heddle_buffer_room(const heddle_buffer* b) {
  return (int64_t)(b->capacity - (b->end - b->begin));
}
static inline void heddle_buffer_clear(heddle_buffer* b) { b->begin = b->end = b->line = 0; }
static inline void heddle_buffer_consume(heddle_buffer* b, int64_t count, uint32_t* bad) {
  if (count < 0 || (uint64_t)count > b->end - b->begin) {
    *bad = HEDDLE_BOUNDS;
    return;
  }
  b->begin += (size_t)count;
  b->line -= (size_t)count < b->line ? (size_t)count : b->line;
  if (b->begin == b->end) b->begin = b->end = 0;
}
static inline void heddle_buffer_pack(heddle_buffer* b) {
  if (b->begin == 0) return;
  memmove(b->data, b->data + b->begin, b->end - b->begin);
  b->end -= b->begin;
  b->begin = 0;
}
static inline void heddle_put_begin(heddle_buffer* b) {
  heddle_buffer_pack(b);
  b->mark = b->end;
  b->full = 0;
}
static inline void heddle_put_view(heddle_buffer* b, heddle_view v) {
  if (v.len > b->capacity - b->end) {
    b->full = 1;
    return;
  }
  if (v.len != 0) memmove(b->data + b->end, v.data, v.len);
  b->end += v.len;
}
static inline void heddle_put_unsigned(heddle_buffer* b, uint64_t n) {
  char digits[20];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  heddle_put_view(b, (heddle_view){digits + at, sizeof digits - at});
}
static inline void heddle_put_int(heddle_buffer* b, int64_t n) {
  if (n < 0) heddle_put_view(b, HEDDLE_VIEW("-"));
  heddle_put_unsigned(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}
static inline void heddle_put_duration(heddle_buffer* b, int64_t n) {
  heddle_put_int(b, n);
  heddle_put_view(b, HEDDLE_VIEW("ns"));
}
static inline int64_t heddle_put_end(heddle_buffer* b) {
  if (b->full == 0) return 0;
  b->end = b->mark;
  return -105;
}

#endif /* HEDDLE_DRAFT_H */
