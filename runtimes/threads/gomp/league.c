/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Leagues of teams. On the host a league's teams run one after the other, each by an initial thread of its own with a number. */
#include "api.h"

static u32 capped(u32 limit)
{
	return limit > MAX_LEVELS ? MAX_LEVELS : limit;
}

/* @limit: threads of each team; 0: as the environment or the program says. */
GOMP_API void GOMP_teams_reg(void (*run)(void *), void *data, unsigned teams, unsigned limit,
			     unsigned flags)
{
	(void)flags;
	me();
	if (!limit)
		limit = env.teams_limit;
	if (!teams)
		teams = env.teams ? env.teams : 1;
	for (u32 i = 0; i < teams; i++) {
		u32 before = me()->task->settings.limit;
		struct member *m;

		initial_begin();
		m = me();
		m->task->settings = m->outer->task->settings;
		m->task->settings.limit = limit ? capped(limit) : before;
		m->nr_teams = teams;
		m->nth_team = i;
		run(data);
		initial_end();
	}
}

/* In a target region: each call begins a team, until false is returned. The lower bound of their number is what the league has. */
GOMP_API bool GOMP_teams4(unsigned least, unsigned most, unsigned limit, bool first)
{
	struct member *m = me();

	(void)most;
	if (first) {
		if (limit)
			m->task->settings.limit = capped(limit);
		m->nr_teams = least ? least : 1;
		m->nth_team = 0;
		return true;
	}
	if (m->nth_team + 1 >= m->nr_teams)
		return false;
	m->nth_team++;
	return true;
}

GOMP_API void GOMP_teams(unsigned teams, unsigned limit)
{
	(void)teams;
	if (limit)
		me()->task->settings.limit = capped(limit);
}

ASKS(int, omp_get_num_teams)
{
	return (int)me()->nr_teams;
}

ASKS(int, omp_get_team_num)
{
	return (int)me()->nth_team;
}

SETS(omp_set_num_teams)
{
	me();
	env.teams = value > 0 ? (u32)value : 0;
}

ASKS(int, omp_get_max_teams)
{
	me();
	return (int)env.teams;
}

SETS(omp_set_teams_thread_limit)
{
	me();
	env.teams_limit = value > 0 ? (u32)value : 0;
}

ASKS(int, omp_get_teams_thread_limit)
{
	me();
	return (int)env.teams_limit;
}
