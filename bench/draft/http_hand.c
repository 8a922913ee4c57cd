/* SPDX-License-Identifier: MIT
 * http.draft as a state machine by hand, on the same ABI. */
#include <errno.h>
#include <stdio.h>

#include "http_want.h"

static heddle_bytes* site[3];

/* A connection. `buf` is null but while a request came in pieces; `m` while nothing came. */
typedef struct session {
  heddle_thread h;
  heddle_wait wait;
  heddle_conn* c;
  heddle_buffer* m;
  want q;
  bool gathers; /* m is ours and has room, not a block of the driver */
} session;

enum { receiving, writing, filling };

/* Goes on in a buffer of ours that begins with the part of a request. */
static int64_t gather(heddle_worker* w, session* s) {
  heddle_buffer* buf;
  const int64_t status = heddle_buffer_new(w, 16384, &buf);
  if (status < 0) return status;
  heddle_put_begin(buf);
  heddle_put_view(buf, heddle_buffer_filled(s->m));
  if (heddle_put_end(buf) < 0) {
    heddle_buffer_free(w, buf);
    return -ENOBUFS;
  }
  heddle_buffer_free(w, s->m);
  s->m = buf;
  s->gathers = true;
  return 0;
}

static heddle_link session_run(heddle_frame* self, heddle_worker* w) {
  session* const s = (session*)self;
  int64_t status;
  uint32_t bad = 0;
  switch (HEDDLE_AT_NUMBER(self->at)) {
    case writing:
      goto write;
    case filling:
      goto fill;
    default:
      break;
  }
receive:
  status = heddle_receive(w, s->c, &s->m, &s->wait, self);
  if (status == HEDDLE_PARKED) return heddle_park(self, receiving);
  if (status < 0) goto end;
parse:
  if (heddle_buffer_len(s->m) == 0) {
    heddle_buffer_free(w, s->m);
    s->m = NULL;
    s->gathers = false;
    goto receive;
  }
  switch (http_want(heddle_buffer_filled(s->m), &s->q)) {
    case 2:
      break;
    case 0:
      if (!s->gathers && (status = gather(w, s)) < 0) goto end;
      goto fill;
    default:
      status = -EILSEQ;
      goto end;
  }
write:
  status = heddle_write(w, s->c, heddle_bytes_view(site[s->q.page]), &s->wait, self);
  if (status == HEDDLE_PARKED) return heddle_park(self, writing);
  if (status < 0 || !s->q.keep) goto end;
  heddle_buffer_consume(s->m, s->q.used, &bad);
  goto parse;
fill:
  status = heddle_read_more(w, s->c, s->m, &s->wait, self);
  if (status == HEDDLE_PARKED) return heddle_park(self, filling);
  if (status == 0) goto parse;
end:
  heddle_buffer_free(w, s->m);
  heddle_close(w, s->c);
  return heddle_end(w, self, status);
}

static const heddle_wait_line session_waits[] = {
    {__FILE__, __LINE__, "receive"}, {__FILE__, __LINE__, "write"}, {__FILE__, __LINE__, "fill"}};
static const heddle_thread_kind session_kind = {
    "session", sizeof(session), HEDDLE_FRAME_HEAD(1, 0), 0, session_run, session_waits, 3};

typedef struct server {
  heddle_thread h;
  heddle_wait wait;
  heddle_listener* l;
  heddle_bytes* root;
  uint16_t port;
  /* The page that is being loaded. */
  int page;
  char path[256];
  heddle_file* f;
  heddle_buffer* all;
  int64_t size;
  int64_t at;
} server;

enum { opening, sizing, loading, accepting };

static heddle_link server_run(heddle_frame* self, heddle_worker* w) {
  static const char* const names[] = {"100B.txt", "16KB.txt", "128KB.txt"};
  server* const s = (server*)self;
  int64_t status, count;
  switch (HEDDLE_AT_NUMBER(self->at)) {
    case sizing:
      goto size;
    case loading:
      goto load;
    case accepting:
      goto accept;
    default:
      break;
  }
open:
  snprintf(s->path, sizeof s->path, "%.*s/%s", (int)s->root->len, s->root->data, names[s->page]);
  status = heddle_file_open(w, (heddle_view){s->path, strlen(s->path)}, &s->f, &s->wait, self);
  if (status == HEDDLE_PARKED) return heddle_park(self, opening);
  if (status < 0) goto end;
size:
  status = heddle_file_size(w, s->f, &s->size, &s->wait, self);
  if (status == HEDDLE_PARKED) return heddle_park(self, sizing);
  if (status < 0 || (status = heddle_buffer_new(w, s->size + 1024, &s->all)) < 0) goto close;
  http_head(s->all, s->size);
  s->at = 0;
load:
  while (s->at < s->size) {
    status = heddle_file_read(w, s->f, s->all, s->at, &count, &s->wait, self);
    if (status == HEDDLE_PARKED) return heddle_park(self, loading);
    if (status < 0) break;
    s->at += count;
  }
  if (status >= 0) status = heddle_bytes_copy(w, heddle_buffer_filled(s->all), &site[s->page]);
  heddle_buffer_free(w, s->all);
close:
  heddle_file_close(w, s->f);
  if (status < 0) goto end;
  if (++s->page != 3) goto open;
  status = heddle_listen(w, s->port, HEDDLE_VIEW("127.0.0.1"), &s->l);
  if (status < 0) goto end;
  printf("http on port %d\n", heddle_listener_port(w, s->l));
  fflush(stdout);
accept:
  for (;;) {
    heddle_conn* c;
    status = heddle_accept(w, s->l, &c, &s->wait, self);
    if (status == HEDDLE_PARKED) return heddle_park(self, accepting);
    if (status < 0) break;
    session* const made = heddle_thread_new(w, &session_kind);
    if (made == NULL) {
      heddle_close(w, c);
      continue;
    }
    made->c = c;
    made->m = NULL;
    made->gathers = false;
    heddle_spawn(w, &made->h.frame);
  }
  heddle_listener_close(w, s->l);
end:
  for (int i = 0; i != 3; i++) heddle_bytes_release(w, site[i]);
  return heddle_end(w, self, status);
}

static const heddle_wait_line server_waits[] = {{__FILE__, __LINE__, "open"},
                                                {__FILE__, __LINE__, "size"},
                                                {__FILE__, __LINE__, "load"},
                                                {__FILE__, __LINE__, "accept"}};
static const heddle_thread_kind server_kind = {
    "server", sizeof(server), HEDDLE_FRAME_HEAD(1, 0), 0, server_run, server_waits, 4};

static heddle_frame* start(heddle_worker* w, const heddle_argument* arguments) {
  server* const s = heddle_thread_new(w, &server_kind);
  if (s == NULL) return NULL;
  s->port = (uint16_t)arguments[0].number;
  s->root = arguments[1].bytes;
  s->page = 0;
  return &s->h.frame;
}

int main(int argc, char** argv) {
  static const heddle_parameter parameters[] = {
      {"port", HEDDLE_PARAMETER_INT, 0, 65535, true, 8080, NULL},
      {"root", HEDDLE_PARAMETER_TEXT, 0, INT64_MAX, true, 0, "site"}};
  return heddle_main(argc, argv, start, parameters, 2);
}
