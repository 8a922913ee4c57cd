/* SPDX-License-Identifier: MIT
 * What abi_test.cc asks of the frames in abi_frames.c. */
#ifndef HEDDLE_TESTS_SCHED_ABI_FRAMES_H
#define HEDDLE_TESTS_SCHED_ABI_FRAMES_H

#include "heddle/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct frame_log {
  int steps;
  int destroyed;
  int canceled;
  int64_t woken_late; /* nanoseconds after the time that was asked for */
};

/* Runs `steps` times, behind what is ready each time. */
void start_counter(heddle_worker* w, struct frame_log* log, int steps);
/* Sleeps once. */
void start_sleeper(heddle_worker* w, struct frame_log* log, uint64_t nanoseconds);
/* Two frames that hand the worker to each other `throws` times. */
void start_players(heddle_worker* w, struct frame_log* log, int throws);

#ifdef __cplusplus
}
#endif

#endif
