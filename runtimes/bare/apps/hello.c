/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Says hello from every core. */
#include <weir/mk.h>

static u32 left;

static void greet(void *arg)
{
	mk_print("hello from core %u, %s\n", (u32)mk_self()->core, (const char *)arg);
	weir_fetch_add(&left, -1u);
}

int main(int argc, char **argv)
{
	u32 nr = (u32)mk_self()->nr_cores;

	left = nr;
	for (u32 core = 1; core < nr; core++)
		if (mk_spawn(core, greet, "spawned") < 0)
			return 1;
	mk_print("hello from core %u, %s with %d arguments\n", (u32)mk_self()->core,
		 argc ? argv[0] : "", argc);
	weir_fetch_add(&left, -1u);
	while (weir_load(&left))
		mk_sleep(100000);
	return 0;
}
