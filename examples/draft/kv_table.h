/* SPDX-License-Identifier: MIT
 * The C part of kv.draft: a table of bytes by bytes. */
#pragma once

#include "heddle/draft.h"

typedef struct table table;

table* table_make(void);
void table_free(table* t);
/* False without memory. */
bool table_set(table* t, heddle_view key, heddle_view value);
/* Appends the value; false when there is none, or no room for it. */
bool table_get(table* t, heddle_view key, heddle_buffer* out);
