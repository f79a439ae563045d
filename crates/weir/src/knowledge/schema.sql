-- SPDX-License-Identifier: MIT OR GPL-2.0-only
-- The facts. CPUs have the numbers of the machine's description; `linux` is the number that Linux gives them.

CREATE TABLE machine (name TEXT NOT NULL, description TEXT NOT NULL, smt_percent INTEGER NOT NULL);
CREATE TABLE cpu (
    cpu INTEGER PRIMARY KEY,
    linux INTEGER NOT NULL,
    core INTEGER NOT NULL, l2 INTEGER NOT NULL, cluster INTEGER NOT NULL, llc INTEGER NOT NULL,
    node INTEGER NOT NULL, package INTEGER NOT NULL, domain INTEGER NOT NULL,
    kind TEXT NOT NULL, capacity INTEGER NOT NULL, hz INTEGER NOT NULL,
    isa TEXT NOT NULL, host INTEGER,
    online INTEGER NOT NULL,
    usable INTEGER NOT NULL -- by this process
);
CREATE INDEX cpu_core ON cpu (core);
CREATE INDEX cpu_l2 ON cpu (l2);
CREATE INDEX cpu_cluster ON cpu (cluster);
CREATE INDEX cpu_llc ON cpu (llc);
CREATE INDEX cpu_node ON cpu (node);
CREATE INDEX cpu_package ON cpu (package);
CREATE INDEX cpu_domain ON cpu (domain);
CREATE TABLE cache (llc INTEGER PRIMARY KEY, level INTEGER NOT NULL, bytes INTEGER);
-- `ns`: a message between CPUs of these nodes, by the table of costs.
CREATE TABLE node_distance (
    a INTEGER NOT NULL, b INTEGER NOT NULL, distance INTEGER NOT NULL, ns REAL NOT NULL,
    PRIMARY KEY (a, b)
) WITHOUT ROWID;
-- A message between two CPUs of one node, or of two domains, by the table of costs.
CREATE TABLE message (distance TEXT PRIMARY KEY, ns REAL NOT NULL) WITHOUT ROWID;
-- A message between two CPUs, measured or stated.
CREATE TABLE measured (a INTEGER NOT NULL, b INTEGER NOT NULL, ns REAL NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE device (name TEXT PRIMARY KEY, class TEXT NOT NULL, node INTEGER) WITHOUT ROWID;
-- CPUs that the device is attached to.
CREATE TABLE device_cpu (device TEXT NOT NULL, cpu INTEGER NOT NULL, PRIMARY KEY (device, cpu)) WITHOUT ROWID;
CREATE TABLE load (cpu INTEGER PRIMARY KEY, busy_percent REAL NOT NULL);
-- `share_percent`: of each of its CPUs, in its largest phase.
CREATE TABLE gang (
    name TEXT PRIMARY KEY, threads INTEGER NOT NULL, share_percent REAL NOT NULL,
    running INTEGER NOT NULL, phase INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE gang_cpu (gang TEXT NOT NULL, cpu INTEGER NOT NULL, thread INTEGER, PRIMARY KEY (gang, cpu)) WITHOUT ROWID;
-- A line of a manifest; no slot: best effort.
CREATE TABLE phase (
    gang TEXT NOT NULL, phase INTEGER NOT NULL, priority INTEGER,
    slot_ns INTEGER, period_ns INTEGER, offset_ns INTEGER, release_ns INTEGER,
    PRIMARY KEY (gang, phase)
) WITHOUT ROWID;
-- `kind`: kernel, or the threads of a program, or of several.
CREATE TABLE policy (
    pid INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, topology TEXT NOT NULL, uptime_ns INTEGER NOT NULL
);
CREATE TABLE policy_cpu (policy INTEGER NOT NULL, cpu INTEGER NOT NULL, PRIMARY KEY (policy, cpu)) WITHOUT ROWID;
CREATE TABLE program (pid INTEGER PRIMARY KEY, name TEXT NOT NULL, policy INTEGER NOT NULL);
-- `cpu`: where it runs, or ran last.
CREATE TABLE thread (
    policy INTEGER NOT NULL, tid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
    cpu INTEGER, run_ns INTEGER NOT NULL, wait_ns INTEGER NOT NULL
);
CREATE INDEX thread_cpu ON thread (cpu);

-- What follows from them.

CREATE VIEW shared AS
    SELECT a.cpu, 'core' AS unit, 1 AS rank, b.cpu AS other FROM cpu a JOIN cpu b ON b.core = a.core
    UNION ALL SELECT a.cpu, 'l2', 2, b.cpu FROM cpu a JOIN cpu b ON b.l2 = a.l2
    UNION ALL SELECT a.cpu, 'cluster', 3, b.cpu FROM cpu a JOIN cpu b ON b.cluster = a.cluster
    UNION ALL SELECT a.cpu, 'llc', 4, b.cpu FROM cpu a JOIN cpu b ON b.llc = a.llc
    UNION ALL SELECT a.cpu, 'node', 5, b.cpu FROM cpu a JOIN cpu b ON b.node = a.node
    UNION ALL SELECT a.cpu, 'package', 6, b.cpu FROM cpu a JOIN cpu b ON b.package = a.package
    UNION ALL SELECT a.cpu, 'domain', 7, b.cpu FROM cpu a JOIN cpu b ON b.domain = a.domain;

CREATE VIEW distance AS
    SELECT a.cpu AS a, b.cpu AS b, a.node AS node_a, b.node AS node_b,
        CASE
            WHEN a.cpu = b.cpu THEN 'same'
            WHEN a.domain <> b.domain THEN 'domain'
            WHEN a.core = b.core THEN 'sibling'
            WHEN a.l2 = b.l2 THEN 'l2'
            WHEN a.llc = b.llc THEN 'llc'
            WHEN a.node = b.node THEN 'node'
            ELSE 'remote'
        END AS distance
    FROM cpu a CROSS JOIN cpu b;

CREATE VIEW latency AS
    SELECT d.a, d.b, d.distance,
        coalesce(m.ns, CASE d.distance WHEN 'remote' THEN n.ns ELSE g.ns END) AS ns,
        m.ns IS NOT NULL AS measured
    FROM distance d
        LEFT JOIN measured m ON m.a = d.a AND m.b = d.b
        LEFT JOIN node_distance n ON n.a = d.node_a AND n.b = d.node_b
        LEFT JOIN message g ON g.distance = d.distance;

CREATE VIEW booked AS
    SELECT c.cpu, coalesce(sum(g.share_percent), 0.0) AS percent
    FROM cpu c LEFT JOIN gang_cpu gc ON gc.cpu = c.cpu LEFT JOIN gang g ON g.name = gc.gang
    GROUP BY c.cpu;

-- What a CPU has to do already, in percent: gangs, a whole CPU for each policy of programs, and other load that is more than noise.
CREATE VIEW burden AS
    SELECT c.cpu,
        CAST(round(b.percent + 100 * (SELECT count(*) FROM policy_cpu pc JOIN policy p ON p.pid = pc.policy
                                      WHERE pc.cpu = c.cpu AND p.kind <> 'kernel')
            + CASE WHEN l.busy_percent >= 20 THEN l.busy_percent ELSE 0 END) AS INTEGER) AS percent
    FROM cpu c JOIN booked b ON b.cpu = c.cpu LEFT JOIN load l ON l.cpu = c.cpu;

CREATE VIEW idle AS
    SELECT c.cpu FROM cpu c
    WHERE c.online
        AND NOT EXISTS (SELECT 1 FROM thread t WHERE t.cpu = c.cpu AND t.state = 'running')
        AND NOT EXISTS (SELECT 1 FROM load l WHERE l.cpu = c.cpu AND l.busy_percent >= 20);
