/* SPDX-License-Identifier: MIT
 *
 * Unix sockets, datagrams, descriptors of C libraries, pipes and processes: a part of heddle/abi.h,
 * whose rules of threads, answers and versions hold here, too.
 *
 *   int64_t status = heddle_udp_receive(w, u, &packet, &f->wait, self);
 *   if (status == HEDDLE_PARKED) return heddle_park(self, 1);
 */
#ifndef HEDDLE_ABI_OS_H
#define HEDDLE_ABI_OS_H

#include "heddle/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heddle_udp heddle_udp;
typedef struct heddle_descriptor heddle_descriptor;
typedef struct heddle_pipe heddle_pipe;
typedef struct heddle_process heddle_process;

/* Unix sockets; a path that begins with @ is in no folder. */
int64_t heddle_listen_unix(heddle_worker* w, heddle_view path, heddle_listener** out);
int64_t heddle_connect_unix(heddle_worker* w, heddle_view path, heddle_conn** out, heddle_wait* at,
                            heddle_frame* self);

/* What a ready operation waits for. */
enum { heddle_mode_read = 0, heddle_mode_write = 1 };
int64_t heddle_ready(heddle_worker* w, heddle_conn* c, int32_t which, heddle_wait* at,
                     heddle_frame* self);

/* Datagrams. A datagram of more than `size` bytes (1 to 65,535) is -EMSGSIZE for its receiver. */
typedef struct heddle_packet {
  heddle_bytes* data;
  heddle_address from;
} heddle_packet;
int64_t heddle_udp_open(heddle_worker* w, uint16_t port, heddle_view host, int64_t size,
                        heddle_udp** out);
uint16_t heddle_udp_port(heddle_worker* w, heddle_udp* u);
int64_t heddle_udp_receive(heddle_worker* w, heddle_udp* u, heddle_packet* out, heddle_wait* at,
                           heddle_frame* self);
int64_t heddle_udp_send(heddle_worker* w, heddle_udp* u, heddle_address to, heddle_view what,
                        heddle_wait* at, heddle_frame* self);
void heddle_udp_close(heddle_worker* w, heddle_udp* u);

/* A duplicate of a descriptor of a C library, which that may close meanwhile. */
int64_t heddle_descriptor_adopt(heddle_worker* w, int64_t fd, heddle_descriptor** out);
int64_t heddle_descriptor_ready(heddle_worker* w, heddle_descriptor* d, int32_t which,
                                heddle_wait* at, heddle_frame* self);
void heddle_descriptor_close(heddle_worker* w, heddle_descriptor* d);

/* Both ends of a pipe. */
int64_t heddle_pipe_open(heddle_worker* w, heddle_pipe** out);
int64_t heddle_pipe_read(heddle_worker* w, heddle_pipe* p, heddle_buffer* to, int64_t* count,
                         heddle_wait* at, heddle_frame* self);
int64_t heddle_pipe_write(heddle_worker* w, heddle_pipe* p, heddle_view what, heddle_wait* at,
                          heddle_frame* self);
void heddle_pipe_shutdown(heddle_worker* w, heddle_pipe* p);
void heddle_pipe_close(heddle_worker* w, heddle_pipe* p);

/* Processes, with pipes to their input and from their output. A process runs on when its handle is
 * closed. */
int64_t heddle_process_run(heddle_worker* w, heddle_view program, heddle_view arguments,
                           heddle_process** out, heddle_wait* at, heddle_frame* self);
int64_t heddle_process_input(heddle_worker* w, heddle_process* p, heddle_view what, heddle_wait* at,
                             heddle_frame* self);
void heddle_process_end_input(heddle_worker* w, heddle_process* p);
int64_t heddle_process_output(heddle_worker* w, heddle_process* p, heddle_buffer* to,
                              int64_t* count, heddle_wait* at, heddle_frame* self);
/* The exit code, or 128 and the number of the signal that ended it. */
int64_t heddle_process_wait(heddle_worker* w, heddle_process* p, int64_t* code, heddle_wait* at,
                            heddle_frame* self);
int64_t heddle_process_kill(heddle_worker* w, heddle_process* p, int64_t signal);
void heddle_process_close(heddle_worker* w, heddle_process* p);

#ifdef __cplusplus
}
#endif

#endif
