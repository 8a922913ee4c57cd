/* SPDX-License-Identifier: MIT
 * The C part of calls.draft. */
#pragma once

#include <stdlib.h>

#include "heddle/draft.h"

typedef struct pair {
  int32_t a;
  int64_t b;
} pair;
typedef int32_t answer;
typedef struct thing {
  int32_t n;
} thing;
#define limit 77

static inline thing* thing_make(int32_t n) {
  thing* const t = (thing*)malloc(sizeof *t);
  if (t == NULL) abort();
  t->n = n;
  return t;
}
static inline void thing_free(thing* t) { free(t); }
static inline int32_t thing_value(thing* t) { return t->n; }
static inline answer ask(heddle_view v) { return heddle_view_equal(v, HEDDLE_VIEW("yes")) ? 0 : 1; }
static inline void fill(pair* p, const pair* q) {
  p->a += q->a;
  p->b += q->b;
}
static inline int32_t work(heddle_view name, int32_t n) { return (int32_t)name.len + n; }
static inline int32_t twice(int32_t n) { return 2 * n; }
