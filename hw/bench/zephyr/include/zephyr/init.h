/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define SYS_INIT(function, level, priority) int (*const stub_init)(void) = function
