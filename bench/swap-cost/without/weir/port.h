/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Port: the native one without reconfiguration, for measuring what being able to do it costs. */
#ifndef WEIR_SWAPS
#define WEIR_SWAPS 0
#include "../../../../core/port/native/weir/port.h"
#endif
