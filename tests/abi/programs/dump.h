/* SPDX-License-Identifier: MIT
 *
 * What dump.draft calls in C: the signal that makes a program list its threads. It goes to the
 * process, because raise() would send it to the calling worker, and all workers but the first block
 * signals.
 * With -std=c11 the system's headers do not declare kill().
 */
#pragma once
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

extern int kill(int process, int signal_number);

static inline int32_t dump_now(void) { return kill(getpid(), SIGQUIT); }
