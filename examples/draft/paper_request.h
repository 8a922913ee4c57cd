/* SPDX-License-Identifier: MIT
 * The C part of paper_http.draft: parsing a request, building the header of an answer. */
#pragma once

#include "heddle/draft.h"

/* The bytes of the request that `got` begins with, or 0 while it is not complete. Fills `name` with
 * the file that it asks for; `name` stays empty when it is no GET or does not fit. */
uint32_t parse_request(heddle_view got, heddle_buffer* name);
/* Whether the client wants another answer on this connection. */
bool keeps_open(heddle_view request);
void build_header(heddle_buffer* out, int32_t status, int64_t size);
