# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A third opinion: the textbook schedule of a set, in whole numbers.

Jobs of one task run one after the other; at every instant the `m` most urgent ready jobs run. The oracle
says when a tie decided first: two jobs of equal urgency of which one had to wait. From then on both programs
may rightly differ; before, the schedule's jobs have one finish time each, and a program that disagrees is
wrong.
"""

from simso_side import Job


def rate(job, task, now):
    return task.period


def deadline(job, task, now):
    return task.deadline


def earliest(job, task, now):
    return job.deadline


POLICIES = {"rm": rate, "dm": deadline, "edf": earliest}


def laxity(job, now):
    """EDZL puts jobs first that have none, and leaves open which of those goes before another."""
    return job.deadline - now - job.left


def simulate(made, policy):
    """The jobs by (task, number), and when a tie decided first, or None."""
    edzl = policy == "edzl"
    urgency = POLICIES["edf" if edzl else policy]
    tasks, found, tie = made.tasks, {}, None
    next_release = [t.offset for t in tasks]
    numbers = [0] * len(tasks)
    queues = [[] for _ in tasks]
    now, running = 0, ()
    while True:
        for i, t in enumerate(tasks):
            while next_release[i] <= now:
                job = Job(t.name, numbers[i], next_release[i], next_release[i] + t.deadline)
                job.left = t.wcet
                found[(t.name, numbers[i])] = job
                queues[i].append(job)
                numbers[i] += 1
                next_release[i] += t.period
        ready = []
        for i, queue in enumerate(queues):
            if queue:
                job = queue[0]
                key = (urgency(job, tasks[i], now),)
                if edzl:
                    key = (1,) + key if laxity(job, now) > 0 else (0,)
                ready.append((key, id(job) not in running, i, job))
        ready.sort(key=lambda r: r[:3])
        chosen, waiting = ready[: made.cpus], ready[made.cpus :]
        if waiting and chosen[-1][0] == waiting[0][0] and tie is None:
            tie = now
        step = min(next_release)
        for _, _, _, job in chosen:
            step = min(step, now + job.left)
        if edzl:
            for key, _, _, job in waiting:
                if key[0] == 1:
                    step = min(step, job.deadline - job.left)
        step = min(step, made.duration)
        for _, _, i, job in chosen:
            job.start = now if job.start is None and step > now else job.start
            job.left -= step - now
            if job.left == 0:
                job.finish = step
                queues[i].pop(0)
        running = {id(job) for _, _, _, job in chosen}
        now = step
        if now >= made.duration:
            return found, tie


def simulate_llf(made, tick):
    """Least laxity first: all ready jobs are compared at each arrival, end and multiple of `tick`.

    Gives the jobs and when a tie decided first.
    """
    found, tie = {}, None
    numbers, queues = [0] * len(made.tasks), [[] for _ in made.tasks]
    release = [t.offset for t in made.tasks]
    now, running = 0, []
    key = lambda job: job.deadline - job.left  # noqa: E731
    while now < made.duration:
        for i, t in enumerate(made.tasks):
            while release[i] <= now:
                job = Job(t.name, numbers[i], release[i], release[i] + t.deadline)
                job.left, job.seen = t.wcet, False
                found[(t.name, numbers[i])] = job
                queues[i].append(job)
                numbers[i] += 1
                release[i] += t.period
        ended = [job for job in running if job.left == 0]
        heads = [q[0] for q in queues if q]
        came = [job for job in heads if not job.seen]
        for job in came:
            job.seen = True
        running = [job for job in running if job.left]
        if came or ended or now % tick == 0:
            ordered = sorted(heads, key=lambda job: (key(job), job not in running))
            if len(ordered) > made.cpus and key(ordered[made.cpus - 1]) == key(ordered[made.cpus]):
                tie = now if tie is None else tie
            running = ordered[: made.cpus]
        step = min(min(release), (now // tick + 1) * tick, made.duration, *(now + job.left for job in running))
        for job in running:
            job.start = now if job.start is None else job.start
            job.left -= step - now
            if job.left == 0:
                job.finish = step
                for q in queues:
                    if q and q[0] is job:
                        q.pop(0)
        now = step
    return found, tie
