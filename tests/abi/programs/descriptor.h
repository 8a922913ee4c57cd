/* SPDX-License-Identifier: MIT
 * A descriptor of a C library: the reading end of a pipe that holds a byte. */
#pragma once

#include <stdint.h>
#include <unistd.h>

static int held_end[2];

static inline int64_t held_open(void) {
  if (pipe(held_end) != 0) return -1;
  return write(held_end[1], "x", 1) == 1 ? held_end[0] : -1;
}
static inline int64_t held_read(void) {
  char byte = 0;
  return read(held_end[0], &byte, 1);
}
/* The library closes its own: what was adopted stays open. */
static inline void held_close(void) {
  close(held_end[0]);
  close(held_end[1]);
}
