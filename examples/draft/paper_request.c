/* SPDX-License-Identifier: MIT
 * As much of HTTP as Angiuli and Sullivan describe (section 4.2): GET, and a header as long as
 * that of a complete server. */
#include "paper_request.h"

#include <strings.h>

uint32_t parse_request(heddle_view got, heddle_buffer* name) {
  int64_t end = 0;
  name->begin = name->end = 0;
  if (!heddle_view_find(got, HEDDLE_VIEW("\r\n\r\n"), &end)) return 0;
  if (heddle_view_starts(got, HEDDLE_VIEW("GET "))) {
    const heddle_view path = {got.data + 4, (size_t)end - 4};
    const char* const space = memchr(path.data, ' ', path.len);
    heddle_put_begin(name);
    if (space != NULL) heddle_put_view(name, (heddle_view){path.data, (size_t)(space - path.data)});
    (void)heddle_put_end(name);
  }
  return (uint32_t)end + 4;
}

bool keeps_open(heddle_view request) {
  static const char line[] = "\r\nconnection: close";
  for (size_t i = 0; i + sizeof line <= request.len; i++)
    if (request.data[i] == '\r' && strncasecmp(request.data + i, line, sizeof line - 1) == 0)
      return false;
  return true;
}

void build_header(heddle_buffer* out, int32_t status, int64_t size) {
  out->begin = out->end = 0;
  heddle_put_begin(out);
  heddle_put_view(out, status == 200   ? HEDDLE_VIEW("HTTP/1.1 200 OK\r\n")
                       : status == 404 ? HEDDLE_VIEW("HTTP/1.1 404 Not Found\r\n")
                                       : HEDDLE_VIEW("HTTP/1.1 400 Bad Request\r\n"));
  heddle_put_view(out, HEDDLE_VIEW("Server: paper_http\r\n"
                                   "Content-Type: text/plain\r\n"
                                   "Accept-Ranges: none\r\n"
                                   "X-Padding: as long as the header of a whole server\r\n"
                                   "Content-Length: "));
  heddle_put_int(out, size);
  heddle_put_view(out, HEDDLE_VIEW("\r\n\r\n"));
  (void)heddle_put_end(out);
}
