/* SPDX-License-Identifier: MIT
 * The echo server of examples/draft/echo.draft as a state machine by hand, on the same ABI: what
 * compiled Draft is measured against, in time and in lines. */
#include <stdio.h>

#include "heddle/draft.h"

typedef struct session {
  heddle_thread h;
  heddle_wait wait;
  heddle_conn* c;
  heddle_buffer* m;
} session;

enum { receiving, writing };

static heddle_link session_run(heddle_frame* self, heddle_worker* w) {
  session* const s = (session*)self;
  int64_t status;
  switch (HEDDLE_AT_NUMBER(self->at)) {
    for (;;) {
      case receiving:
        status = heddle_receive(w, s->c, &s->m, &s->wait, self);
        if (status == HEDDLE_PARKED) return heddle_park(self, receiving);
        if (status < 0) break;
      /* fall through */
      case writing:
        status = heddle_write(w, s->c, heddle_buffer_filled(s->m), &s->wait, self);
        if (status == HEDDLE_PARKED) return heddle_park(self, writing);
        heddle_buffer_free(w, s->m);
        if (status < 0) break;
    }
  }
  heddle_close(w, s->c);
  return heddle_end(w, self, status);
}

static const heddle_wait_line session_waits[] = {{__FILE__, __LINE__, "receive"},
                                                 {__FILE__, __LINE__, "write"}};
static const heddle_thread_kind session_kind = {
    "session", sizeof(session), HEDDLE_FRAME_HEAD(1, 0), 0, session_run, session_waits, 2};

typedef struct server {
  heddle_thread h;
  heddle_wait wait;
  heddle_listener* l;
  uint16_t port;
} server;

static heddle_link server_run(heddle_frame* self, heddle_worker* w) {
  server* const s = (server*)self;
  int64_t status;
  if (s->l == NULL) {
    status = heddle_listen(w, s->port, HEDDLE_VIEW("127.0.0.1"), &s->l);
    if (status < 0) return heddle_end(w, self, status);
    printf("echo on port %d\n", heddle_listener_port(w, s->l));
    fflush(stdout);
  }
  for (;;) {
    heddle_conn* c;
    status = heddle_accept(w, s->l, &c, &s->wait, self);
    if (status == HEDDLE_PARKED) return heddle_park(self, 0);
    if (status < 0) break;
    session* const made = heddle_thread_new(w, &session_kind);
    if (made == NULL) {
      heddle_close(w, c);
      continue;
    }
    made->c = c;
    heddle_spawn_color(w, &made->h.frame, (uint64_t)heddle_conn_number(c));
  }
  heddle_listener_close(w, s->l);
  return heddle_end(w, self, status);
}

static const heddle_wait_line server_waits[] = {{__FILE__, __LINE__, "accept"}};
static const heddle_thread_kind server_kind = {
    "server", sizeof(server), HEDDLE_FRAME_HEAD(1, 0), 0, server_run, server_waits, 1};

static heddle_frame* start(heddle_worker* w, const heddle_argument* arguments) {
  server* const s = heddle_thread_new(w, &server_kind);
  if (s == NULL) return NULL;
  s->l = NULL;
  s->port = (uint16_t)arguments[0].number;
  return &s->h.frame;
}

int main(int argc, char** argv) {
  static const heddle_parameter parameters[] = {
      {"port", HEDDLE_PARAMETER_INT, 0, 65535, true, 7777, NULL}};
  return heddle_main(argc, argv, start, parameters, 1);
}
