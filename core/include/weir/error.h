/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Error numbers. Functions return 0 or the negated number; sizes are shared with Rust. */
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

enum weir_error {
	WEIR_ENOMEM = 1, /* the arena is full */
	WEIR_EINVAL = 2, /* an argument or a plan is invalid */
	WEIR_EAGAIN = 3, /* the wait for another CPU took too long; the call may be repeated */
	WEIR_ESTATE = 4, /* the task's state does not allow the call */
	WEIR_ENOENT = 5, /* no such task, pipe, topic, instance */
	/* already there: second responder, task already in a pipe of this depth */
	WEIR_EEXIST = 6,
	WEIR_EBUSY = 7,	  /* topic in use; another reconfiguration runs */
	WEIR_EDEADLK = 8, /* reconfiguration requested from inside a call */
	WEIR_EPROTO = 9,  /* topic UUID or version differs from the registered one */
	WEIR_EPORTS = 10, /* a component refuses the number or kind of its pipes */
	/* a component refuses a parameter: its offset in the state struct may stand above (WEIR_REFUSE) */
	WEIR_EPARAM = 11,
	WEIR_EPERM = 12,   /* the topic accepts no messages from this caller */
	WEIR_ETOPICS = 13, /* the table of topics is full */
};

#define WEIR_EPARAM_SHIFT 8

#endif
