/* SPDX-License-Identifier: MIT
 * A header of libasync that Heddle does not replace; docs/reference/tame.md lists these headers.
 */
#pragma once

#error "libasync: <crypt.h> is not part of Heddle"
