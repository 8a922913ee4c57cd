/* SPDX-License-Identifier: MIT
 *
 * The plain frame, for C11, C23 and C++23: implemented by code outside of C++ coroutines that is
 * scheduled by Heddle beside them, and the operations that such code and compiled Draft programs
 * make on connections, channels and the rest. A frame is 32 bytes and the owner's data follow it.
 * Its links carry a 1 in the lowest bit; a link without it is a C++ coroutine frame and is not for
 * C to touch.
 *
 * Thread: every call here belongs to the worker that runs the frame, except heddle_abi_version().
 *
 *   struct counter { heddle_frame frame; int left; };
 *   static heddle_link step(heddle_frame *f, heddle_worker *w) {
 *     struct counter *c = (struct counter *)f;
 *     if (--c->left == 0) { heddle_finish(w, f); return 0; }
 *     heddle_post(w, f);                 // runs again after what is ready now
 *     return 0;
 *   }
 */
#ifndef HEDDLE_ABI_H
#define HEDDLE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version 2. These stay the same within a version: names, signatures, the layout of the
 * structs that show their fields, and the sizes of the opaque ones. Compiled Draft checks the
 * number when it is compiled, and heddle_main() when the program starts. */
#define HEDDLE_ABI_VERSION 3

/* The version that the library was built with; compare it with HEDDLE_ABI_VERSION. */
uint32_t heddle_abi_version(void);

typedef uintptr_t heddle_link;
typedef struct heddle_worker heddle_worker;
typedef struct heddle_frame heddle_frame;

struct heddle_frame {
  /* Runs to the next wait. Returns 0, or the link of a frame to run at once (a hand-over; one that
   * is queued keeps its turn instead). */
  heddle_link (*resume)(heddle_frame* self, heddle_worker* w);
  /* Frees the frame and what it owns; it is suspended and in no queue. */
  void (*destroy)(heddle_frame* self, heddle_worker* w);
  heddle_link next; /* belongs to the queue that the frame is in */
  uint32_t at;      /* wait number << 2, and the bits below */
  uint32_t context; /* where it waits: its cancel scope, deadline and color; the runtime's */
};

#define HEDDLE_AT_QUEUED 1u          /* in a ready queue: a second wake changes nothing */
#define HEDDLE_AT_CANCELED 2u        /* cancellation was requested: end soon */
#define HEDDLE_AT_THREAD 0x80000000u /* a heddle_thread: its kind stands behind the frame */
#define HEDDLE_AT_NUMBER(at) (((at) & 0x7fffffffu) >> 2)

static inline heddle_link heddle_link_of(heddle_frame* f) { return (heddle_link)f | 1u; }

/* One line of a program's table of waits; frames are matched to it by their resume function. */
typedef struct heddle_wait_line {
  const char* file;
  uint32_t line;
  const char* what; /* "read", "channel", ... */
} heddle_wait_line;

/* Names the wait points of all frames with this resume function, for dumps. `lines` must stay. */
void heddle_describe(heddle_worker* w, heddle_link (*resume)(heddle_frame*, heddle_worker*),
                     const heddle_wait_line* lines, uint32_t count);

/* Memory from the worker's slabs; `bytes` must be given again to free. Never returns null: it ends
 * the program through the assertion hook when the region is full. */
void* heddle_alloc(heddle_worker* w, size_t bytes);
/* The same, or null when the region is full. */
void* heddle_try_alloc(heddle_worker* w, size_t bytes);
void heddle_free(heddle_worker* w, void* memory, size_t bytes);

/* Gives a fresh frame to the root scope and queues it. At shutdown the runtime sets
 * HEDDLE_AT_CANCELED on the frame and wakes it, so that it ends. */
void heddle_start(heddle_worker* w, heddle_frame* f);
/* The frame has ended: it leaves the root scope and is destroyed (by its `destroy`). Call it last.
 */
void heddle_finish(heddle_worker* w, heddle_frame* f);
/* Queues the frame; does nothing when it is queued already. */
void heddle_post(heddle_worker* w, heddle_frame* f);

/* Nanoseconds of the runtime's clock. */
uint64_t heddle_now(heddle_worker* w);

/* A wake-up at a time; the record lies in the frame's own data. Zero it before the first use. */
typedef struct heddle_timer {
  void* opaque[7];
} heddle_timer;
/* Wakes the frame (heddle_post) at `when`, at once if that has passed. */
void heddle_wake_at(heddle_worker* w, heddle_timer* t, heddle_frame* f, uint64_t when);
/* Forgets the wake-up; harmless when it has happened. Needed before the record's memory goes. */
void heddle_wake_never(heddle_worker* w, heddle_timer* t);

/* ---- Operations. ------------------------------------------------------------------------------
 *
 * Each answers at once (0 or more, or -errno), or stores what it needs in `at` and answers
 * HEDDLE_PARKED. Then the frame returns 0; after its wake it makes the same call again, with the
 * same arguments. `at` is zero before the first call and after an answer; with a heddle_conn it may
 * be null: its wait then lies in the connection. A wait that was parked and is not wanted any more
 * is withdrawn; it took nothing. Results are stored by pointer if the answer is not negative.
 *
 * Thread: the color that the frame runs in; connections, listeners and files belong to one color at
 * a time, channels, broadcasts, semaphores and jobs to all. Cancel: a wait in a cancelled context
 * answers -ECANCELED, or -ETIMEDOUT where a deadline did it. Fails: -ENOMEM when memory is full. */

#define HEDDLE_PARKED INT64_MIN
#define HEDDLE_EOF (-4095)   /* the end of a stream, or of a closed channel */
#define HEDDLE_FAULT (-4094) /* overflow, an index out of bounds: it ends the thread */
#define HEDDLE_NO_MEMORY (-12)

/* A wait that is going on; it lies in the frame. */
typedef struct heddle_wait {
  const void* kind;
  void* opaque[9];
} heddle_wait;
/* Withdraws a wait; harmless when none goes on. */
void heddle_withdraw(heddle_worker* w, heddle_wait* at);

/* A frame of one of several waits: heddle_arm() gives the frame to make a call with, so that two
 * wakes do not queue the owner twice. Withdraw all arms when one has answered. */
typedef struct heddle_arm {
  heddle_frame frame;
  heddle_frame* owner;
  heddle_wait wait;
} heddle_arm;
heddle_frame* heddle_arm_of(heddle_worker* w, heddle_arm* a, heddle_frame* owner);
void heddle_withdraw_arms(heddle_worker* w, heddle_arm* arms, uint32_t count);

/* Borrowed bytes. */
typedef struct heddle_view {
  const char* data;
  size_t len;
} heddle_view;

/* Counted bytes that do not change. */
typedef struct heddle_bytes {
  uint32_t count; /* UINT32_MAX: static, never freed */
  uint32_t len;
  char data[];
} heddle_bytes;

/* Bytes with room behind them. Made by heddle_buffer_new(), or by heddle_receive() without room. */
typedef struct heddle_buffer {
  char* data;
  size_t begin;
  size_t end;
  size_t capacity;
  size_t mark;    /* of heddle_put_begin() */
  uint32_t full;  /* something did not fit since then */
  uint32_t block; /* it is a block of the driver */
  size_t line;    /* bytes at the front that heddle_read_line() gave and its next call drops */
} heddle_buffer;

typedef struct heddle_address {
  uint32_t opaque[8];
} heddle_address;

typedef struct heddle_conn heddle_conn;
typedef struct heddle_listener heddle_listener;
typedef struct heddle_file heddle_file;
typedef struct heddle_channel heddle_channel;
typedef struct heddle_broadcast heddle_broadcast;
typedef struct heddle_subscription heddle_subscription;
typedef struct heddle_semaphore heddle_semaphore;
typedef struct heddle_job heddle_job;

/* Network. */
int64_t heddle_address_parse(heddle_worker* w, heddle_view host, uint16_t port,
                             heddle_address* out);
int64_t heddle_listen(heddle_worker* w, uint16_t port, heddle_view host, heddle_listener** out);
uint16_t heddle_listener_port(heddle_worker* w, heddle_listener* l);
void heddle_listener_close(heddle_worker* w, heddle_listener* l);
int64_t heddle_accept(heddle_worker* w, heddle_listener* l, heddle_conn** out, heddle_wait* at,
                      heddle_frame* self);
int64_t heddle_connect(heddle_worker* w, heddle_address to, heddle_conn** out, heddle_wait* at,
                       heddle_frame* self);
int64_t heddle_conn_number(heddle_conn* c);
/* The bytes that arrived, in a block of the driver; give it back before long waits. */
int64_t heddle_receive(heddle_worker* w, heddle_conn* c, heddle_buffer** out, heddle_wait* at,
                       heddle_frame* self);
int64_t heddle_readable(heddle_worker* w, heddle_conn* c, heddle_wait* at, heddle_frame* self);
/* Appends bytes that arrived; without room -ENOBUFS (heddle_read) or -EMSGSIZE (others). */
int64_t heddle_read(heddle_worker* w, heddle_conn* c, heddle_buffer* to, int64_t* count,
                    heddle_wait* at, heddle_frame* self);
int64_t heddle_read_more(heddle_worker* w, heddle_conn* c, heddle_buffer* to, heddle_wait* at,
                         heddle_frame* self);
/* The line lies in the buffer until the next call, which drops it. */
int64_t heddle_read_line(heddle_worker* w, heddle_conn* c, heddle_buffer* to, heddle_view* out,
                         heddle_wait* at, heddle_frame* self);
int64_t heddle_write(heddle_worker* w, heddle_conn* c, heddle_view what, heddle_wait* at,
                     heddle_frame* self);
int64_t heddle_send_file(heddle_worker* w, heddle_conn* c, heddle_file* from, int64_t begin,
                         int64_t end, heddle_wait* at, heddle_frame* self);
int64_t heddle_shutdown(heddle_worker* w, heddle_conn* c);
void heddle_close(heddle_worker* w, heddle_conn* c);

/* Buffers and bytes. Releasing null does nothing. */
int64_t heddle_buffer_new(heddle_worker* w, int64_t size, heddle_buffer** out);
void heddle_buffer_free(heddle_worker* w, heddle_buffer* b);
int64_t heddle_bytes_copy(heddle_worker* w, heddle_view from, heddle_bytes** out);
void heddle_bytes_release(heddle_worker* w, heddle_bytes* b);

/* Channels of values of `size` bytes; `drop` releases a value that is not received, or null. */
typedef void (*heddle_drop)(heddle_worker* w, void* value);
int64_t heddle_channel_new(heddle_worker* w, int64_t capacity, size_t size, heddle_drop drop,
                           heddle_channel** out);
void heddle_channel_retain(heddle_channel* c);
void heddle_channel_release(heddle_worker* w, heddle_channel* c);
/* The value is the channel's when the answer is 0; when it is an error, it was dropped. */
int64_t heddle_channel_send(heddle_worker* w, heddle_channel* c, void* value, heddle_wait* at,
                            heddle_frame* self);
int64_t heddle_channel_try_send(heddle_worker* w, heddle_channel* c, void* value);
int64_t heddle_channel_receive(heddle_worker* w, heddle_channel* c, void* out, heddle_wait* at,
                               heddle_frame* self);
int64_t heddle_channel_try_receive(heddle_worker* w, heddle_channel* c, void* out);
void heddle_channel_close(heddle_worker* w, heddle_channel* c);

int64_t heddle_broadcast_new(heddle_worker* w, size_t size, void (*copy)(void*), heddle_drop drop,
                             heddle_broadcast** out);
void heddle_broadcast_retain(heddle_broadcast* b);
void heddle_broadcast_release(heddle_worker* w, heddle_broadcast* b);
void heddle_broadcast_send(heddle_worker* w, heddle_broadcast* b, void* value);
int64_t heddle_broadcast_subscribe(heddle_worker* w, heddle_broadcast* b, int64_t capacity,
                                   heddle_subscription** out);
int64_t heddle_subscription_receive(heddle_worker* w, heddle_subscription* s, void* out,
                                    heddle_wait* at, heddle_frame* self);
void heddle_subscription_release(heddle_worker* w, heddle_subscription* s);

int64_t heddle_semaphore_new(heddle_worker* w, int64_t count, heddle_semaphore** out);
void heddle_semaphore_retain(heddle_semaphore* s);
void heddle_semaphore_release(heddle_worker* w, heddle_semaphore* s);
/* `out` becomes the semaphore, with one more count; heddle_semaphore_give() takes it back. */
int64_t heddle_semaphore_acquire(heddle_worker* w, heddle_semaphore* s, heddle_semaphore** out,
                                 heddle_wait* at, heddle_frame* self);
void heddle_semaphore_give(heddle_worker* w, heddle_semaphore* permit);

/* A rendezvous collects the values of its events. An event is triggered once; a second trigger
 * drops its value. A null event may be triggered: nothing happens. */
typedef struct heddle_rendezvous heddle_rendezvous;
typedef struct heddle_event heddle_event;
int64_t heddle_rendezvous_new(heddle_worker* w, size_t size, heddle_drop drop,
                              heddle_rendezvous** out);
void heddle_rendezvous_retain(heddle_rendezvous* r);
/* When the last handle is released, the values of past and later triggers are dropped. */
void heddle_rendezvous_release(heddle_worker* w, heddle_rendezvous* r);
/* An event whose trigger brings the value, and one whose value is `id`, `size` bytes. */
int64_t heddle_rendezvous_event(heddle_worker* w, heddle_rendezvous* r, heddle_event** out);
int64_t heddle_rendezvous_signal(heddle_worker* w, heddle_rendezvous* r, const void* id,
                                 heddle_event** out);
/* The value of the next triggered event; HEDDLE_EOF when no event is left that could be triggered.
 */
int64_t heddle_rendezvous_join(heddle_worker* w, heddle_rendezvous* r, void* out, heddle_wait* at,
                               heddle_frame* self);
void heddle_event_retain(heddle_event* e);
/* The last release of an event that was not triggered gives it up; a trigger takes the value. */
void heddle_event_release(heddle_worker* w, heddle_event* e);
void heddle_event_trigger(heddle_worker* w, heddle_event* e, void* value);
void heddle_signal_trigger(heddle_worker* w, heddle_event* e);

/* Time. */
int64_t heddle_sleep(heddle_worker* w, int64_t span, heddle_wait* at, heddle_frame* self);
int64_t heddle_pause(heddle_worker* w, heddle_wait* at, heddle_frame* self);
/* Takes one from the budget; true when it is spent: then the frame is queued, and returns 0. */
bool heddle_yield(heddle_worker* w, heddle_frame* self);

/* Files. */
int64_t heddle_file_open(heddle_worker* w, heddle_view path, heddle_file** out, heddle_wait* at,
                         heddle_frame* self);
int64_t heddle_file_open_under(heddle_worker* w, heddle_view root, heddle_view path,
                               heddle_file** out, heddle_wait* at, heddle_frame* self);
int64_t heddle_file_append(heddle_worker* w, heddle_view path, heddle_file** out, heddle_wait* at,
                           heddle_frame* self);
int64_t heddle_file_size(heddle_worker* w, heddle_file* f, int64_t* out, heddle_wait* at,
                         heddle_frame* self);
int64_t heddle_file_read(heddle_worker* w, heddle_file* f, heddle_buffer* to, int64_t at_byte,
                         int64_t* count, heddle_wait* at, heddle_frame* self);
int64_t heddle_file_write(heddle_worker* w, heddle_file* f, heddle_view what, heddle_wait* at,
                          heddle_frame* self);
int64_t heddle_file_sync(heddle_worker* w, heddle_file* f, heddle_wait* at, heddle_frame* self);
void heddle_file_close(heddle_worker* w, heddle_file* f);

/* Calls run(arguments) on a thread of the pool. The `size` bytes are copied there and, when it has
 * ended, back. */
int64_t heddle_blocking(heddle_worker* w, void (*run)(void*), void* arguments, size_t size,
                        heddle_wait* at, heddle_frame* self);

/* ---- Threads: frames that are spawned, called and joined. --------------------------------------
 */

typedef struct heddle_thread_kind {
  const char* name;
  size_t size;   /* of the whole frame */
  size_t head;   /* bytes from its beginning that are zeroed at the start */
  size_t result; /* where its result lies; 0: it has none */
  heddle_link (*run)(heddle_frame*, heddle_worker*);
  const heddle_wait_line* lines;
  uint32_t line_count;
} heddle_thread_kind;

typedef struct heddle_thread {
  heddle_frame frame;
  const heddle_thread_kind* kind;
  uintptr_t owner; /* the runtime's */
} heddle_thread;

/* Null when memory is full. */
void* heddle_thread_new(heddle_worker* w, const heddle_thread_kind* kind);
/* Ends it with 0 or an error; return its answer from the frame's function. */
heddle_link heddle_end(heddle_worker* w, heddle_frame* self, int64_t status);

/* A block whose threads end before it is left. It lies in the frame that opened it. */
typedef struct heddle_scope {
  void* opaque[5];
} heddle_scope;
void heddle_scope_open(heddle_worker* w, heddle_scope* s, heddle_frame* self);
/* 0 when all of its threads have ended; `cancel` asks them to. It waits in a cancelled context. */
int64_t heddle_scope_leave(heddle_worker* w, heddle_scope* s, heddle_frame* self, bool cancel);

/* A null frame counts as a thread that failed at once for lack of memory. */
#define HEDDLE_SAME_COLOR INT64_MIN
void heddle_spawn(heddle_worker* w, heddle_frame* f);
void heddle_spawn_color(heddle_worker* w, heddle_frame* f, uint64_t color);
void heddle_spawn_in(heddle_worker* w, heddle_frame* f, heddle_scope* s);
heddle_job* heddle_job_of(heddle_worker* w, heddle_frame* f, heddle_scope* s, int64_t color,
                          size_t size, heddle_drop drop);
int64_t heddle_join(heddle_worker* w, heddle_job* j, void* out, heddle_wait* at,
                    heddle_frame* self);
void heddle_job_cancel(heddle_worker* w, heddle_job* j);
void heddle_job_release(heddle_worker* w, heddle_job* j);

/* Runs a thread in place of the caller until it ends. At the first call `run` gets the link that
 * the caller must return; afterwards the result is copied and the frame freed. */
int64_t heddle_call(heddle_worker* w, heddle_frame* f, heddle_frame* self, heddle_link* run);
void heddle_call_result(heddle_frame* f, void* out, size_t size);
void heddle_call_end(heddle_worker* w, heddle_frame* f);

/* A deadline for all waits until it is closed; and none at all, for cleaning up. */
typedef struct heddle_within {
  void* opaque[9];
} heddle_within;
void heddle_within_open(heddle_worker* w, heddle_within* x, heddle_frame* self, int64_t span);
void heddle_shield_open(heddle_worker* w, heddle_within* x, heddle_frame* self);
void heddle_within_close(heddle_worker* w, heddle_within* x, heddle_frame* self);

/* ---- For compiled programs. ---------------------------------------------------------------------
 */

heddle_view heddle_error_name(int32_t error);
int64_t heddle_time_now(heddle_worker* w);
int64_t heddle_random_below(heddle_worker* w, int64_t limit, uint32_t* bad);
void heddle_log_begin(heddle_worker* w);
void heddle_log_view(heddle_worker* w, heddle_view v);
void heddle_log_int(heddle_worker* w, int64_t n);
void heddle_log_unsigned(heddle_worker* w, uint64_t n);
void heddle_log_duration(heddle_worker* w, int64_t n);
void heddle_log_end(heddle_worker* w);
/* Reports a fault with its line; answers HEDDLE_FAULT. */
int64_t heddle_fault(heddle_worker* w, uint32_t what, const char* file, uint32_t line);
/* Calls of functions that call themselves: false when they are too deep. */
bool heddle_enter(heddle_worker* w);
void heddle_leave(heddle_worker* w);

enum {
  HEDDLE_PARAMETER_INT,
  HEDDLE_PARAMETER_BOOL,
  HEDDLE_PARAMETER_DURATION,
  HEDDLE_PARAMETER_TEXT
};
typedef struct heddle_parameter {
  const char* name;
  int form;
  int64_t least;
  int64_t most; /* of a text: its length; INT64_MAX: the thread gets its own `bytes` */
  bool has_default;
  int64_t number;
  const char* text;
} heddle_parameter;
typedef struct heddle_argument {
  int64_t number;
  heddle_view text;
  heddle_bytes* bytes;
} heddle_argument;
/* Reads the arguments, makes a runtime, runs the thread until it ends, then ends the others. Gives
 * the exit code: 0, 1 for an error, 2 for wrong arguments. */
int heddle_main(int argc, char** argv,
                heddle_frame* (*start)(heddle_worker*, const heddle_argument*),
                const heddle_parameter* parameters, uint32_t count);

#ifdef __cplusplus
}
#endif

#include "heddle/abi/os.h"

#endif /* HEDDLE_ABI_H */
