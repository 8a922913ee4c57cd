/* SPDX-License-Identifier: MIT
 * The C part of web.draft: parsing a request's head, writing an answer's. */
#pragma once

#include "heddle/draft.h"

typedef int32_t parsed;
typedef struct request {
  struct {
    uint32_t len;
    char data[256];
  } path;
  bool keep;
  bool head;
  uint32_t used;
} request;

/* 0: more bytes are needed, 1: no request, 2: `out` holds it. */
parsed http_parse(heddle_view got, request* out);
void http_head(heddle_buffer* out, int32_t status, int64_t size, bool keep);
