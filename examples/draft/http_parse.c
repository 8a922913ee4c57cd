/* SPDX-License-Identifier: MIT
 * As much of HTTP as an example needs: GET and HEAD, Connection: close. */
#include "http_parse.h"

#include <strings.h>

static bool has_line(heddle_view head, const char* line) {
  const size_t len = strlen(line);
  for (size_t i = 0; i + len <= head.len; i++)
    if (strncasecmp(head.data + i, line, len) == 0) return true;
  return false;
}

parsed http_parse(heddle_view got, request* out) {
  int64_t end = 0;
  if (!heddle_view_find(got, HEDDLE_VIEW("\r\n\r\n"), &end)) return 0;
  const heddle_view head = {got.data, (size_t)end};
  out->head = heddle_view_starts(head, HEDDLE_VIEW("HEAD "));
  if (!out->head && !heddle_view_starts(head, HEDDLE_VIEW("GET "))) return 1;
  const char* const path = head.data + (out->head ? 5 : 4);
  const char* const space = memchr(path, ' ', (size_t)(head.data + head.len - path));
  if (space == NULL || space == path || (size_t)(space - path) > sizeof out->path.data) return 1;
  out->path.len = (uint32_t)(space - path);
  memcpy(out->path.data, path, out->path.len);
  out->keep = !has_line(head, "\r\nconnection: close");
  out->used = (uint32_t)(end + 4);
  return 2;
}

void http_head(heddle_buffer* out, int32_t status, int64_t size, bool keep) {
  heddle_put_begin(out);
  heddle_put_view(out, status == 200   ? HEDDLE_VIEW("HTTP/1.1 200 OK\r\n")
                       : status == 404 ? HEDDLE_VIEW("HTTP/1.1 404 Not Found\r\n")
                                       : HEDDLE_VIEW("HTTP/1.1 400 Bad Request\r\n"));
  heddle_put_view(out, HEDDLE_VIEW("Content-Length: "));
  heddle_put_int(out, size);
  heddle_put_view(out,
                  keep ? HEDDLE_VIEW("\r\n\r\n") : HEDDLE_VIEW("\r\nConnection: close\r\n\r\n"));
  (void)heddle_put_end(out);
}
