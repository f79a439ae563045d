/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For the assembler, which must know of floating point: all its registers to and from 264 bytes. */
#ifndef WEIR_BARE_FP_H
#define WEIR_BARE_FP_H

/* clang-format off */

	.macro each_fp op
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\op f\n, 8*\n(a0)
	.endr
	.endm

	/* A function: save to a0. */
	.macro fp_saver name
	.globl \name
\name:
	each_fp fsd
	frcsr t0
	sd t0, 256(a0)
	ret
	.endm

	/* Likewise: load from a0. */
	.macro fp_loader name
	.globl \name
\name:
	each_fp fld
	ld t0, 256(a0)
	fscsr t0
	ret
	.endm

#endif
