/* SPDX-License-Identifier: MIT
 *
 * The plain frame, for C11, C23 and C++23: what code outside of C++ coroutines implements to be
 * scheduled by Heddle beside them. A frame is 32 bytes and the owner's data follow it. Its links
 * carry a 1 in the lowest bit; a link without it is a C++ coroutine frame and is not for C to
 * touch.
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

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_ABI_VERSION 1

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
  uint32_t at;      /* wait number << 2, and the two bits below */
  uint32_t color;
};

#define HEDDLE_AT_QUEUED 1u   /* in a ready queue: a second wake changes nothing */
#define HEDDLE_AT_CANCELED 2u /* cancellation was requested: end soon */
#define HEDDLE_AT_NUMBER(at) ((at) >> 2)

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
void heddle_free(heddle_worker* w, void* memory, size_t bytes);

/* Gives a fresh frame to the root scope and queues it. The runtime drains it at shutdown: it sets
 * HEDDLE_AT_CANCELED and wakes it. */
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

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_ABI_H */
