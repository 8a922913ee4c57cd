/* SPDX-License-Identifier: MIT
 * Plain frames written in C, as a C program would write them; abi_test.cc runs them beside tasks.
 */
#include "abi_frames.h"

#include <string.h>

struct counter {
  heddle_frame frame;
  struct frame_log* log;
  int left;
};

static void free_counter(heddle_frame* f, heddle_worker* w) {
  struct counter* c = (struct counter*)f;
  c->log->destroyed++;
  heddle_free(w, c, sizeof *c);
}

static heddle_link count(heddle_frame* f, heddle_worker* w) {
  struct counter* c = (struct counter*)f;
  c->log->steps++;
  if (--c->left == 0) {
    heddle_finish(w, f);
    return 0;
  }
  heddle_post(w, f);
  heddle_post(w, f); /* it is queued already: this changes nothing */
  return 0;
}

void start_counter(heddle_worker* w, struct frame_log* log, int steps) {
  struct counter* c = heddle_alloc(w, sizeof *c);
  memset(c, 0, sizeof *c);
  c->frame.resume = count;
  c->frame.destroy = free_counter;
  c->log = log;
  c->left = steps;
  heddle_start(w, &c->frame);
}

struct sleeper {
  heddle_frame frame;
  struct frame_log* log;
  heddle_timer timer;
  uint64_t span;
};

static void free_sleeper(heddle_frame* f, heddle_worker* w) {
  struct sleeper* s = (struct sleeper*)f;
  s->log->destroyed++;
  heddle_wake_never(w, &s->timer);
  heddle_free(w, s, sizeof *s);
}

static const heddle_wait_line sleeper_lines[] = {{"sleeper.c", 1, "start"},
                                                 {"sleeper.c", 7, "nap"}};

static heddle_link nap(heddle_frame* f, heddle_worker* w) {
  struct sleeper* s = (struct sleeper*)f;
  s->log->steps++;
  if ((f->at & HEDDLE_AT_CANCELED) != 0) {
    s->log->canceled++;
    heddle_finish(w, f);
    return 0;
  }
  if (HEDDLE_AT_NUMBER(f->at) == 0) {
    f->at |= 1u << 2; /* waits at line 1 of the table from now on */
    s->span += heddle_now(w);
    heddle_wake_at(w, &s->timer, f, s->span);
    return 0;
  }
  s->log->woken_late = (int64_t)(heddle_now(w) - s->span);
  heddle_finish(w, f);
  return 0;
}

void start_sleeper(heddle_worker* w, struct frame_log* log, uint64_t nanoseconds) {
  struct sleeper* s = heddle_alloc(w, sizeof *s);
  memset(s, 0, sizeof *s);
  s->frame.resume = nap;
  s->frame.destroy = free_sleeper;
  s->log = log;
  s->span = nanoseconds;
  heddle_describe(w, nap, sleeper_lines, 2);
  heddle_start(w, &s->frame);
}

/* Two frames that hand the worker to each other, without the queue in between. */
struct player {
  heddle_frame frame;
  struct frame_log* log;
  struct player* other;
  int* ball;
  int me;
};

static void free_player(heddle_frame* f, heddle_worker* w) {
  struct player* p = (struct player*)f;
  p->log->destroyed++;
  if (p->log->destroyed == 2) heddle_free(w, p->ball, sizeof *p->ball);
  heddle_free(w, p, sizeof *p);
}

static heddle_link play(heddle_frame* f, heddle_worker* w) {
  struct player* p = (struct player*)f;
  p->log->steps++;
  if (*p->ball == 0) {
    struct player* other = p->other;
    heddle_finish(w, f);
    if (other == NULL) return 0;
    other->other = NULL;
    return heddle_link_of(&other->frame);
  }
  --*p->ball;
  return heddle_link_of(&p->other->frame);
}

void start_players(heddle_worker* w, struct frame_log* log, int throws) {
  int* ball = heddle_alloc(w, sizeof *ball);
  struct player* both[2];
  *ball = throws;
  for (int i = 0; i < 2; ++i) {
    both[i] = heddle_alloc(w, sizeof *both[i]);
    memset(both[i], 0, sizeof *both[i]);
    both[i]->frame.resume = play;
    both[i]->frame.destroy = free_player;
    both[i]->log = log;
    both[i]->ball = ball;
  }
  both[0]->other = both[1];
  both[1]->other = both[0];
  heddle_start(w, &both[0]->frame);
  heddle_start(w, &both[1]->frame);
}

_Static_assert(sizeof(heddle_frame) == 32, "the frame's layout is the contract");
_Static_assert(offsetof(heddle_frame, next) == 16, "where a promise has it too");
_Static_assert(HEDDLE_ABI_VERSION == 3, "this file is written for version 3");
