/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Load tracking (weir/kit/pelt.h). */
#include <weir/kit/pelt.h>

/* (2^32 - 1) y^n, rounded down. */
static const u32 pelt_power[32] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb,
	0xdbfbb796, 0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9,
	0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9,
	0xa2704302, 0x9ef5325f, 0x9b8d39b9, 0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a,
	0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

WEIR_FLAT u64 weir_pelt_decay(u64 value, u64 n)
{
	u64 power;

	if (n > 32 * 63)
		return 0;
	value >>= n / 32;
	power = pelt_power[n & 31];
	return ((value & 0xffffffffull) * power >> 32) + (value >> 32) * power;
}

WEIR_GLOBAL int weir_pelt_update(struct weir_pelt weir_mem *p weir_arg, u64 now, u64 load,
				 u64 capacity)
{
	u64 delta, periods, time;

	if (now < p->at || !p->at) {
		p->at = now;
		return 0;
	}
	delta = (now - p->at) >> 10;
	if (!delta)
		return 0;
	p->at += delta << 10;
	time = delta;
	delta += p->part;
	periods = delta / 1024;
	if (periods) {
		p->load_sum = weir_pelt_decay(p->load_sum, periods);
		p->util_sum = weir_pelt_decay(p->util_sum, periods);
		delta %= 1024;
		/* The rest of the old period, the full ones between, what there is of the new one. */
		time = weir_pelt_decay(1024 - p->part, periods) + WEIR_PELT_MAX -
		       weir_pelt_decay(WEIR_PELT_MAX, periods) - 1024 + delta;
	}
	p->part = (u32)delta;
	p->load_sum += load * time;
	p->util_sum += capacity * time;
	return 0;
}
