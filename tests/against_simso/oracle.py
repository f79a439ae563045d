# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A third opinion: the textbook schedule of a set, in whole numbers.

Jobs of one task run one after the other; at every instant the `m` most urgent ready jobs run. The oracle
says whether a tie ever decided: two jobs of equal urgency of which one had to wait. Then both programs may
rightly differ; where no tie decided, the schedule's jobs have one finish time each, and a program that
disagrees is wrong.
"""

from simso_side import Job


def rate(job, task, now):
    return task.period


def deadline(job, task, now):
    return task.deadline


def earliest(job, task, now):
    return job.deadline


POLICIES = {"rm": rate, "dm": deadline, "edf": earliest}


def zero_laxity(job, left, now):
    """EDZL: jobs without slack come first."""
    return 0 if job.deadline - now - left <= 0 else 1


def simulate(made, policy):
    """The jobs by (task, number), and whether a tie decided."""
    edzl = policy == "edzl"
    urgency = POLICIES["edf" if edzl else policy]
    tasks, found, tie = made.tasks, {}, False
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
                key = (zero_laxity(job, job.left, now),) if edzl else ()
                ready.append((key + (urgency(job, tasks[i], now),), id(job) not in running, i, job))
        ready.sort(key=lambda r: r[:3])
        chosen, waiting = ready[: made.cpus], ready[made.cpus :]
        if waiting and chosen[-1][0] == waiting[0][0]:
            tie = True
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
