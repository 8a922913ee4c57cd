/* SPDX-License-Identifier: MIT
 * wake.draft by hand: two frames that let each other run. A wake is a return to the worker, a turn
 * in its queue, and a jump to the state's code. */
#include "heddle/draft.h"

typedef struct pauses {
  heddle_thread h;
  heddle_wait wait;
  int64_t left;
} pauses;

static heddle_link pauses_run(heddle_frame* self, heddle_worker* w) {
  pauses* const p = (pauses*)self;
  int64_t status = 0;
  for (; p->left != 0; p->left--) {
    status = heddle_pause(w, &p->wait, self);
    if (status == HEDDLE_PARKED) return heddle_park(self, 0);
    if (status < 0) break;
  }
  return heddle_end(w, self, status);
}

static const heddle_wait_line lines[] = {{__FILE__, __LINE__, "pause"}};
static const heddle_thread_kind pauses_kind = {
    "pauses", sizeof(pauses), HEDDLE_FRAME_HEAD(1, 0), 0, pauses_run, lines, 1};

typedef struct parent {
  heddle_thread h;
  heddle_scope scope;
  int64_t turns;
} parent;

static heddle_link parent_run(heddle_frame* self, heddle_worker* w) {
  parent* const p = (parent*)self;
  if (HEDDLE_AT_NUMBER(self->at) == 0) {
    heddle_scope_open(w, &p->scope, self);
    for (int i = 0; i != 2; i++) {
      pauses* const child = heddle_thread_new(w, &pauses_kind);
      if (child == NULL) continue;
      child->left = p->turns;
      heddle_spawn_in(w, &child->h.frame, &p->scope);
    }
  }
  if (heddle_scope_leave(w, &p->scope, self, false) == HEDDLE_PARKED) return heddle_park(self, 1);
  return heddle_end(w, self, 0);
}

static const heddle_thread_kind parent_kind = {
    "parent", sizeof(parent), HEDDLE_FRAME_HEAD(0, 0), 0, parent_run, lines, 1};

static heddle_frame* start(heddle_worker* w, const heddle_argument* arguments) {
  parent* const p = heddle_thread_new(w, &parent_kind);
  if (p == NULL) return NULL;
  p->turns = arguments[0].number;
  return &p->h.frame;
}

int main(int argc, char** argv) {
  static const heddle_parameter parameters[] = {
      {"turns", HEDDLE_PARAMETER_INT, 0, INT64_MAX, true, 1000000, NULL}};
  return heddle_main(argc, argv, start, parameters, 1);
}
