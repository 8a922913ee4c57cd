/* SPDX-License-Identifier: MIT
 * Chains of entries, in twice as many lists as entries. */
#include "kv_table.h"

#include <stdlib.h>

typedef struct entry {
  struct entry* next;
  char* value;
  size_t value_len;
  size_t key_len;
  char key[];
} entry;

struct table {
  entry** lists;
  size_t list_count;
  size_t count;
};

static size_t hash(heddle_view key) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i != key.len; i++) h = (h ^ (unsigned char)key.data[i]) * 1099511628211u;
  return (size_t)h;
}

table* table_make(void) {
  table* const t = calloc(1, sizeof *t);
  if (t == NULL) abort();
  t->list_count = 64;
  t->lists = calloc(t->list_count, sizeof *t->lists);
  if (t->lists == NULL) abort();
  return t;
}

void table_free(table* t) {
  for (size_t i = 0; i != t->list_count; i++) {
    for (entry* e = t->lists[i]; e != NULL;) {
      entry* const next = e->next;
      free(e->value);
      free(e);
      e = next;
    }
  }
  free(t->lists);
  free(t);
}

static entry* find(table* t, heddle_view key) {
  for (entry* e = t->lists[hash(key) % t->list_count]; e != NULL; e = e->next)
    if (heddle_view_equal((heddle_view){e->key, e->key_len}, key)) return e;
  return NULL;
}

static void grow(table* t) {
  const size_t more = t->list_count * 2;
  entry** const lists = calloc(more, sizeof *lists);
  if (lists == NULL) return; /* longer chains do as well */
  for (size_t i = 0; i != t->list_count; i++) {
    for (entry* e = t->lists[i]; e != NULL;) {
      entry* const next = e->next;
      entry** const to = &lists[hash((heddle_view){e->key, e->key_len}) % more];
      e->next = *to;
      *to = e;
      e = next;
    }
  }
  free(t->lists);
  t->lists = lists;
  t->list_count = more;
}

bool table_set(table* t, heddle_view key, heddle_view value) {
  char* const copy = malloc(value.len + 1);
  if (copy == NULL) return false;
  memcpy(copy, value.data, value.len);
  entry* e = find(t, key);
  if (e == NULL) {
    e = malloc(sizeof *e + key.len);
    if (e == NULL) {
      free(copy);
      return false;
    }
    if (t->count >= t->list_count / 2) grow(t);
    entry** const to = &t->lists[hash(key) % t->list_count];
    *e = (entry){*to, NULL, 0, key.len};
    memcpy(e->key, key.data, key.len);
    *to = e;
    t->count++;
  }
  free(e->value);
  e->value = copy;
  e->value_len = value.len;
  return true;
}

bool table_get(table* t, heddle_view key, heddle_buffer* out) {
  entry* const e = find(t, key);
  if (e == NULL) return false;
  heddle_put_begin(out);
  heddle_put_view(out, (heddle_view){e->value, e->value_len});
  return heddle_put_end(out) == 0;
}
