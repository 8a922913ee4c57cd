/* SPDX-License-Identifier: MIT
 * What the three HTTP servers of suite draft share: a parser of requests, and the head of an
 * answer. */
#pragma once

#include "heddle/draft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t parsed;
typedef struct want {
  uint32_t used; /* bytes of the request */
  int32_t page;  /* 0: /100B.txt, 1: /16KB.txt, 2: /128KB.txt */
  bool keep;
} want;

/* 0: more bytes are needed; 1: no GET of one of the pages; 2: `out` holds it. */
parsed http_want(heddle_view got, want* out);
void http_head(heddle_buffer* out, int64_t size);

#ifdef __cplusplus
}
#endif
