/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The edge of a program: its header, the five entry points, and the way back into a thread. The thread pointer holds the address of the
 * control block. The global pointer is nobody's (nothing is relaxed), so the way back can use it to jump.
 */
#include <weir/bare.h>
#include <weir/fp.h>

	.section .header, "a"
	.quad 0x31474d4952494557
	.quad enter_run, enter_fault, enter_fault, enter_fault, enter_lmp
	.quad critical_low, critical_high
	.quad mk_main_entry

	.text
enter_run:
	mv tp, a0
	ld sp, D_STACK(tp)
	j mk_run

enter_fault:
	mv tp, a0
	ld sp, D_STACK(tp)
	j mk_fault

enter_lmp:	/* a0: badge, a1 to a4: words, a5: control block */
	mv tp, a5
	ld sp, D_STACK(tp)
	j mk_lmp_entered

/* mk_resume(area): the control block says that we are disabled; from the first store on the range says so. */
	.globl mk_resume
mk_resume:
critical_low:
	sd zero, D_DISABLED(tp)
	ld gp, 0(a0)
	/* As when the kernel lets one go on: no reservation of another thread remains. */
	sc.d zero, gp, (a0)
	ld x1, 8(a0)
	ld x2, 16(a0)
	ld x5, 40(a0)
	ld x6, 48(a0)
	ld x7, 56(a0)
	ld x8, 64(a0)
	ld x9, 72(a0)
	ld x11, 88(a0)
	ld x12, 96(a0)
	ld x13, 104(a0)
	ld x14, 112(a0)
	ld x15, 120(a0)
	ld x16, 128(a0)
	ld x17, 136(a0)
	ld x18, 144(a0)
	ld x19, 152(a0)
	ld x20, 160(a0)
	ld x21, 168(a0)
	ld x22, 176(a0)
	ld x23, 184(a0)
	ld x24, 192(a0)
	ld x25, 200(a0)
	ld x26, 208(a0)
	ld x27, 216(a0)
	ld x28, 224(a0)
	ld x29, 232(a0)
	ld x30, 240(a0)
	ld x31, 248(a0)
	ld x10, 80(a0)
	jr gp
critical_high:
	nop

/* mk_switch_out(area): keep what a call keeps, then choose another thread. The caller is disabled. */
	.globl mk_switch_out
mk_switch_out:
	sd ra, 0(a0)
	sd ra, 8(a0)
	sd sp, 16(a0)
	sd s0, 64(a0)
	sd s1, 72(a0)
	sd s2, 144(a0)
	sd s3, 152(a0)
	sd s4, 160(a0)
	sd s5, 168(a0)
	sd s6, 176(a0)
	sd s7, 184(a0)
	sd s8, 192(a0)
	sd s9, 200(a0)
	sd s10, 208(a0)
	sd s11, 216(a0)
	ld t0, D_FP(tp)
	beqz t0, 1f
	frcsr t0
	sd t0, 512(a0)
	.irp n, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27
	fsd f\n, 256+8*\n(a0)
	.endr
1:	ld sp, D_STACK(tp)
	j mk_choose

	/* Of a thread, in the dispatcher's registers; the kernel keeps those. The caller is disabled. */
	fp_saver mk_fp_save
	fp_loader mk_fp_load

	.globl mk_entry_end
mk_entry_end:
