/* SPDX-License-Identifier: MIT
 * A request's end, its path, and whether the client asks to close. */
#define _GNU_SOURCE /* memmem */
#include "http_want.h"

#include <strings.h>

static bool asks_to_close(const char* at, const char* end) {
  static const char line[] = "\nconnection: close";
  while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
    if (end - at >= (ptrdiff_t)sizeof line - 1 && strncasecmp(at, line, sizeof line - 1) == 0)
      return true;
    at++;
  }
  return false;
}

parsed http_want(heddle_view got, want* out) {
  static const heddle_view pages[] = {{"/100B.txt ", 10}, {"/16KB.txt ", 10}, {"/128KB.txt ", 11}};
  const char* const end = memmem(got.data, got.len, "\r\n\r\n", 4);
  if (end == NULL) return 0;
  if (!heddle_view_starts(got, HEDDLE_VIEW("GET "))) return 1;
  const heddle_view path = {got.data + 4, (size_t)(end - got.data) - 4};
  for (int32_t i = 0; i != 3; i++) {
    if (!heddle_view_starts(path, pages[i])) continue;
    *out = (want){(uint32_t)(end - got.data) + 4, i, !asks_to_close(path.data, end)};
    return 2;
  }
  return 1;
}

void http_head(heddle_buffer* out, int64_t size) {
  heddle_put_begin(out);
  heddle_put_view(out, HEDDLE_VIEW("HTTP/1.1 200 OK\r\n"
                                   "Server: heddle\r\n"
                                   "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
                                   "Content-Type: text/plain\r\n"
                                   "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
                                   "Connection: keep-alive\r\n"
                                   "ETag: \"65920080-64\"\r\n"
                                   "Accept-Ranges: bytes\r\n"
                                   "Content-Length: "));
  heddle_put_int(out, size);
  heddle_put_view(out, HEDDLE_VIEW("\r\n\r\n"));
  (void)heddle_put_end(out);
}
