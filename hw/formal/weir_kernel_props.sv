// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_kernel promises, for any calls, lines and timers: a call is answered by its unit, and not twice. The units meet the thread
/// manager, and the manager meets the scheduler, as the proofs of each assume: one request at a time, held until it is done, and
/// the answer goes to the one that asked. No unit waits while another is served twice. A thread that was woken is queued or runs
/// until it is blocked or ends; nothing else is queued.
module weir_kernel_props #(
  parameter int unsigned NumThreads = 4,
  parameter int unsigned NumCpus = 1,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  localparam int unsigned NumLevels = 2,
  localparam int unsigned NumLines = 2,
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic [NumLines-1:0] lines_i,
  input logic                req_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic                we_i,
  input logic [24:2]         addr_i,
  input logic [31:0]         wdata_i
);
  localparam logic [3:0] ListEnqueue = 4'd1, ListDequeue = 4'd2, ListIsQueued = 4'd3, ListSetPriority = 4'd5, ListNext = 4'd10, ListRaise = 4'd12;
  localparam logic [3:0] Create = 4'd0, Next = 4'd2, Yield = 4'd3, Clear = 4'd4, IsQueued = 4'd5, Exit = 4'd6, Add = 4'd9,
      Block = 4'd10, Raise = 4'd12, Lower = 4'd13;

  logic               rvalid, wake;
  logic [NumCpus-1:0] irq;
  logic [31:0]        rdata;
  logic [IdWidth-1:0] wake_id;
  weir_kernel #(.NumThreads(NumThreads), .NumLevels(NumLevels), .NumMutexes(2), .NumConditions(2), .NumLines(NumLines),
                .Edges(2'b01), .NumTimers(2), .NumCpus(NumCpus)) u_kernel (
    .clk_i, .rst_ni, .lines_i, .req_i, .cpu_i, .we_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .irq_o(irq), .wake_o(wake), .wake_id_o(wake_id)
  );

  // Wires between the units, and registers in them, joined with these when the hierarchy is flattened.
  (* hierconn *) wire [5:0]            \u_kernel.rvalid ;
  (* hierconn *) wire                  \u_kernel.none_q ;
  (* hierconn *) wire [3:0]            \u_kernel.ops ;
  (* hierconn *) wire [3:0]            \u_kernel.done ;
  (* hierconn *) wire                  \u_kernel.op_req ;
  (* hierconn *) wire                  \u_kernel.op_block ;
  (* hierconn *) wire                  \u_kernel.op_raise ;
  (* hierconn *) wire                  \u_kernel.op_lower ;
  (* hierconn *) wire                  \u_kernel.op_done ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.op_id ;
  (* hierconn *) wire                  \u_kernel.from_threads ;
  (* hierconn *) wire [19:0]           \u_kernel.threads_addr ;
  (* hierconn *) wire                  \u_kernel.lists_req ;
  (* hierconn *) wire [19:0]           \u_kernel.lists_addr ;
  (* hierconn *) wire                  \u_kernel.lists_rvalid ;
  (* hierconn *) wire                  \u_kernel.direct ;
  (* hierconn *) wire [2:0]            \u_kernel.u_threads.state_q ;
  (* hierconn *) wire [3:0]            \u_kernel.u_threads.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.u_threads.id_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0] \u_kernel.u_threads.current_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.u_threads.parent ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.u_threads.top ;
  (* hierconn *) wire [NumCpus-1:0]    \u_kernel.u_threads.runs_q ;
  (* hierconn *) wire                  \u_kernel.u_threads.mine ;
  (* hierconn *) wire                  \u_kernel.u_threads.joined ;
  (* hierconn *) wire [NumThreads-1:0] \u_kernel.u_threads.used_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_kernel.u_threads.exited_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_kernel.u_threads.blocked_q ;
  (* hierconn *) wire [2:0]            \u_kernel.gen_lists.u_lists.state_q ;
  (* hierconn *) wire [3:0]            \u_kernel.gen_lists.u_lists.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.gen_lists.u_lists.id_q ;
  (* hierconn *) wire                  \u_kernel.gen_lists.u_lists.again_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_kernel.gen_lists.u_lists.queued_q ;
  localparam logic [2:0] TIdle = 3'd1, TDo = 3'd3, TAsk = 3'd4, TAgain = 3'd5;
  localparam logic [2:0] LIdle = 3'd0, LThread = 3'd3, LChange = 3'd4, LRelink = 3'd5;
  logic [3:0]            ops, done, tcmd, lcmd;
  logic [2:0]            tstate, lstate;
  logic [IdWidth-1:0]    tid, current, parent, lid;
  logic [NumThreads-1:0] used, exited, blocked, queued, alive;
  logic                  runs;
  // What the CPUs run; the one that calls runs `current`.
  logic [NumCpus-1:0]              all_run;
  logic [NumCpus-1:0][IdWidth-1:0] all_current;
  logic [NumThreads-1:0]           placed;
  assign all_run     = \u_kernel.u_threads.runs_q ;
  assign all_current = \u_kernel.u_threads.current_q ;
  always_comb begin
    placed = '0;
    for (int c = 0; c < NumCpus; c++) if (all_run[c]) placed[all_current[c]] = 1'b1;
  end
  assign ops     = \u_kernel.ops ;
  assign done    = \u_kernel.done ;
  assign tstate  = \u_kernel.u_threads.state_q ;
  assign tcmd    = \u_kernel.u_threads.cmd_q ;
  assign tid     = \u_kernel.u_threads.id_q ;
  assign current = all_current[cpu_i];
  assign parent  = \u_kernel.u_threads.parent ;
  assign runs    = all_run[cpu_i];
  assign used    = \u_kernel.u_threads.used_q ;
  assign exited  = \u_kernel.u_threads.exited_q ;
  assign blocked = \u_kernel.u_threads.blocked_q ;
  assign lstate  = \u_kernel.gen_lists.u_lists.state_q ;
  assign lcmd    = \u_kernel.gen_lists.u_lists.cmd_q ;
  assign lid     = \u_kernel.gen_lists.u_lists.id_q ;
  assign queued  = \u_kernel.gen_lists.u_lists.queued_q ;
  assign alive   = used & ~exited;

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // The call under way; the request that the manager has; calls of the scheduler: in it, and of the manager; whom each unit has
  // seen served since it asked; threads that were woken since they were created.
  logic                  open_q, live_q, op_q, op_block_q, op_raise_q, op_lower_q, list_open_q, list_ours_q, asked_q, we_q;
  logic [24:2]           addr_q;
  logic [31:0]           wdata_q;
  logic [CpuWidth-1:0]   cpu_q;
  logic [IdWidth-1:0]    op_id_q;
  logic [19:0]           asked_addr_q;
  logic [3:0][3:0]       served_q;
  logic [NumThreads-1:0] added_q;
  logic [2:0]            unit_no;
  logic [4:0]            list_age_q, asked_age_q;
  assign unit_no = addr_q[24:22];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q       <= 1'b0;
      live_q       <= 1'b0;
      op_q         <= 1'b0;
      op_block_q   <= 1'b0;
      op_raise_q   <= 1'b0;
      op_lower_q   <= 1'b0;
      list_open_q  <= 1'b0;
      list_ours_q  <= 1'b0;
      asked_q      <= 1'b0;
      we_q         <= 1'b0;
      addr_q       <= '0;
      wdata_q      <= '0;
      cpu_q        <= '0;
      op_id_q      <= '0;
      asked_addr_q <= '0;
      served_q     <= '0;
      added_q      <= '0;
      list_age_q   <= '0;
      asked_age_q  <= '0;
    end else begin
      live_q <= 1'b1;
      if (req_i) begin
        open_q  <= 1'b1;
        we_q    <= we_i;
        addr_q  <= addr_i;
        wdata_q <= wdata_i;
        cpu_q   <= cpu_i;
      end
      if (rvalid) open_q <= 1'b0;
      list_age_q  <= \u_kernel.lists_req ? '0 : list_age_q + 5'(list_open_q);
      asked_age_q <= \u_kernel.from_threads ? '0 : asked_age_q + 5'(asked_q);
      op_q       <= \u_kernel.op_req && !\u_kernel.op_done ;
      op_block_q <= \u_kernel.op_block ;
      op_raise_q <= \u_kernel.op_raise ;
      op_lower_q <= \u_kernel.op_lower ;
      op_id_q    <= \u_kernel.op_id ;
      if (\u_kernel.lists_req ) begin
        list_open_q <= 1'b1;
        list_ours_q <= \u_kernel.direct ;
      end else if (\u_kernel.lists_rvalid ) list_open_q <= 1'b0;
      if (\u_kernel.from_threads ) begin
        asked_q      <= 1'b1;
        asked_addr_q <= \u_kernel.threads_addr ;
      end else if (\u_kernel.lists_rvalid && !list_ours_q) asked_q <= 1'b0;
      for (int u = 0; u < 4; u++) begin
        if (!ops[u] || done[u]) served_q[u] <= '0;
        else served_q[u] <= served_q[u] | done;
      end
      if (tstate == TDo) begin
        if (tcmd == Create) added_q[\u_kernel.u_threads.top ] <= 1'b0;
        if (tcmd == Add && alive[tid]) added_q[tid] <= 1'b1;
        if (tcmd == Exit && \u_kernel.u_threads.mine && \u_kernel.u_threads.joined ) added_q[parent] <= 1'b1;
      end
    end
  end

  always_comb begin
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q && we_i == we_q && wdata_i == wdata_q && cpu_i == cpu_q);
    assume (32'(cpu_i) < NumCpus);
    // Only the manager changes queues.
    if (req_i && addr_i[24:22] == 3'd0) assume (addr_i[5:2] != ListEnqueue && addr_i[5:2] != ListDequeue && addr_i[5:2] != ListNext);
    // A thread that joins another does not end before that one.
    if (tstate == TDo && tcmd == Exit && \u_kernel.u_threads.mine && \u_kernel.u_threads.joined ) assume (alive[parent]);
  end

`ifdef GUIDED
  // All threads in queues, and one on each CPU, by the shortest way, which a search among all calls does not find in minutes: threads
  // are created, then added, and each CPU calls NEXT.
  logic [4:0] calls_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) calls_q <= '0;
    else calls_q <= calls_q + 5'(req_i);
  end
  always_comb begin
    assume (lines_i == '0 && wdata_i == '0 && !we_i && req_i == (live_q && !open_q && calls_q < 2 * NumThreads + NumCpus));
    if (req_i && calls_q < 2 * NumThreads)
      assume (cpu_i == '0 && addr_i == {3'd1, 8'd0, 8'(calls_q[IdWidth-1:0]), calls_q < NumThreads ? Create : Add});
    else if (req_i) assume (32'(cpu_i) == 32'(calls_q) - 2 * NumThreads && addr_i == {3'd1, 16'd0, Next});
  end
`endif

  // What the manager wants of the scheduler.
  logic               rests;
  logic [3:0]         want;
  logic [IdWidth-1:0] whom;
  assign rests = runs && !blocked[current];
  always_comb begin
    want = ListEnqueue;
    whom = tid;
    unique case (tcmd)
      Next, Yield: begin
        want = rests ? ListEnqueue : ListNext;
        whom = current;
      end
      Exit:         whom = parent;
      Clear, Block: want = ListDequeue;
      IsQueued:     want = ListIsQueued;
      Raise:        want = ListRaise;
      Lower:        want = ListSetPriority;
      default: ;
    endcase
  end
  logic lists_answer;
  assign lists_answer = \u_kernel.lists_rvalid && !list_ours_q;

  always_comb if (rst_ni && live_q) begin
    // A call is answered by its unit, and not twice.
    if (rvalid) assert (open_q);
    for (int u = 0; u < 6; u++) if (\u_kernel.rvalid [u]) assert (open_q && unit_no == 3'(u) && !\u_kernel.none_q );
    if (\u_kernel.none_q ) assert (unit_no > 3'd5 && rdata == '1);
    // What a unit asks of the manager stands until it is done, and it is done to the one that asked.
    if (op_q) assert (\u_kernel.op_req && \u_kernel.op_block == op_block_q && \u_kernel.op_id == op_id_q &&
                      \u_kernel.op_raise == op_raise_q && \u_kernel.op_lower == op_lower_q);
    assert ((done & ~ops) == '0 && (done & (done - 4'd1)) == '0);
    assert ((done != '0) == \u_kernel.op_done );
    assert (wake == (\u_kernel.op_done && !\u_kernel.op_block && !\u_kernel.op_raise && !\u_kernel.op_lower ));
    if (wake) assert (wake_id == tid);
    // Nobody is served twice while another one waits.
    for (int u = 0; u < 4; u++) if (ops[u] && !done[u]) assert ((served_q[u] & done) == '0);
    // The scheduler has one call at a time, that which was asked for; the manager gets the answers to its own.
    if (\u_kernel.lists_req ) begin
      assert (!list_open_q);
      if (\u_kernel.direct ) assert (\u_kernel.lists_addr == addr_i[21:2]);
      else assert (\u_kernel.lists_addr == (asked_q ? asked_addr_q : \u_kernel.threads_addr ));
    end
    if (\u_kernel.lists_rvalid ) assert (list_open_q);
    if (\u_kernel.from_threads ) assert (!asked_q);
    if (lists_answer) assert (asked_q);
    // It begins as soon as the scheduler is free.
    if (asked_q && !list_open_q) assert (\u_kernel.lists_req && !\u_kernel.direct );
    // In time: 8 clocks for a call of the scheduler, and as many for one that is before it.
    if (list_open_q) assert (list_age_q <= 5'd8);
    if (asked_q) assert (asked_age_q <= 5'd18);
    // In a queue is what may run and does not, and, but for the clocks in which the manager and the scheduler change that, all of it.
    if (tstate == TIdle && lstate == LIdle)
      for (int t = 0; t < NumThreads; t++) begin
        if (queued[t]) assert (alive[t] && !blocked[t] && !placed[t]);
        if (alive[t] && added_q[t] && !blocked[t]) assert (queued[t] || placed[t]);
      end
    // No thread is on two CPUs.
    for (int c = 0; c < NumCpus; c++)
      for (int d = 0; d < c; d++) if (all_run[c] && all_run[d]) assert (all_current[c] != all_current[d]);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire       \u_kernel.ours_q ;
  (* hierconn *) wire       \u_kernel.busy_q ;
  (* hierconn *) wire       \u_kernel.wait_q ;
  (* hierconn *) wire       \u_kernel.late_q ;
  (* hierconn *) wire [19:0] \u_kernel.late_addr_q ;
  (* hierconn *) wire [1:0] \u_kernel.gen_lists.u_lists.rest_q ;
  (* hierconn *) wire       \u_kernel.taken_q ;
  (* hierconn *) wire [1:0] \u_kernel.turn_q ;
  (* hierconn *) wire       \u_kernel.u_threads.op_q ;
  (* hierconn *) wire       \u_kernel.u_threads.held_q ;
  (* hierconn *) wire       \u_kernel.u_mutexes.held_q ;
  (* hierconn *) wire       \u_kernel.u_conditions.held_q ;
  (* hierconn *) wire       \u_kernel.u_interrupts.held_q ;
  (* hierconn *) wire       \u_kernel.u_timers.held_q ;
  (* hierconn *) wire [2:0] \u_kernel.u_mutexes.state_q ;
  (* hierconn *) wire       \u_kernel.u_mutexes.passes_q ;
  (* hierconn *) wire [2:0] \u_kernel.u_conditions.state_q ;
  (* hierconn *) wire [3:0] \u_kernel.u_conditions.cmd_q ;
  (* hierconn *) wire [2:0] \u_kernel.u_interrupts.state_q ;
  (* hierconn *) wire       \u_kernel.u_interrupts.deliver_q ;
  (* hierconn *) wire [2:0] \u_kernel.u_timers.state_q ;

  (* hierconn *) wire [31:0] \u_kernel.gen_lists.u_lists.rdata_o ;

  // A thread waits for one thing at a time: what the steps of the lists of waiting threads ask of programs.
  (* hierconn *) wire                  \u_kernel.u_mutexes.append ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.u_mutexes.id_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_kernel.u_mutexes.u_waits.in_q ;
  (* hierconn *) wire                  \u_kernel.u_conditions.append ;
  (* hierconn *) wire [IdWidth-1:0]    \u_kernel.u_conditions.id_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_kernel.u_conditions.u_waits.in_q ;
  always_comb begin
    if (\u_kernel.u_mutexes.append ) assume (!\u_kernel.u_mutexes.u_waits.in_q [\u_kernel.u_mutexes.id_q ]);
    if (\u_kernel.u_conditions.append ) assume (!\u_kernel.u_conditions.u_waits.in_q [\u_kernel.u_conditions.id_q ]);
  end

  // Which units have a call: waiting for them, under way in them, or answered in this clock.
  logic [5:0] held, busy;
  logic [2:0] ms, cs, is, ts;
  assign ms = \u_kernel.u_mutexes.state_q ;
  assign cs = \u_kernel.u_conditions.state_q ;
  assign is = \u_kernel.u_interrupts.state_q ;
  assign ts = \u_kernel.u_timers.state_q ;
  assign held = {\u_kernel.u_timers.held_q , \u_kernel.u_interrupts.held_q , \u_kernel.u_conditions.held_q ,
                 \u_kernel.u_mutexes.held_q , \u_kernel.u_threads.held_q , \u_kernel.wait_q };
  assign busy[0] = list_open_q && list_ours_q && !\u_kernel.lists_rvalid ;
  assign busy[1] = tstate > TIdle && !\u_kernel.u_threads.op_q ;
  assign busy[2] = ms == 3'd1 || ms == 3'd2 || ms == 3'd3 || ms == 3'd7 || (ms == 3'd6 && !\u_kernel.u_mutexes.passes_q );
  assign busy[3] = cs == 3'd1 || cs == 3'd2 || cs == 3'd3 || (cs > 3'd3 && \u_kernel.u_conditions.cmd_q == 4'd2);
  assign busy[4] = (is == 3'd1 && !\u_kernel.u_interrupts.deliver_q ) || is == 3'd2 || is == 3'd3;
  assign busy[5] = ts != 3'd0 && ts != 3'd5;

  // A thread whose priority changes is in no list for a moment.
  logic [NumThreads-1:0] in;
  logic                  moves;
  assign moves = (lcmd == ListSetPriority || lcmd == ListRaise) && list_open_q && (lstate == LRelink || (lstate == LChange && \u_kernel.gen_lists.u_lists.again_q ));
  always_comb begin
    in = queued;
    if (moves) in[lid] = 1'b1;
  end
  // Changes of queues that the manager has begun: threads that leave, that come, that NEXT puts back or takes.
  logic [NumThreads-1:0] leaving, coming, resting, taken;
  always_comb begin
    leaving = '0;
    coming  = '0;
    resting = '0;
    taken   = '0;
    if (tstate == TAsk && want == ListDequeue) leaving[tid] = 1'b1;
    if (tstate == TAsk && (tcmd == Add || tcmd == Exit)) coming[whom] = 1'b1;
    if ((tstate == TAsk || tstate == TAgain) && (tcmd == Next || tcmd == Yield) && rests) resting[current] = 1'b1;
    if (lists_answer && lcmd == ListNext && !\u_kernel.gen_lists.u_lists.rdata_o [31]) taken[lid] = 1'b1;
  end

  always_comb if (rst_ni && live_q) begin
    assert (tstate <= TAgain && lstate <= LRelink && cs <= 3'd5 && is <= 3'd4 && ts <= 3'd5);
    for (int u = 0; u < 6; u++)
      if (!open_q || unit_no != 3'(u)) assert (!held[u] && !busy[u] && !\u_kernel.rvalid [u]);
      else assert (32'(held[u]) + 32'(busy[u]) + 32'(\u_kernel.rvalid [u]) <= 32'd1);
    if (!open_q) assert (!\u_kernel.none_q );
    if (open_q && unit_no == 3'd0) assert (addr_q[5:2] != ListEnqueue && addr_q[5:2] != ListDequeue && addr_q[5:2] != ListNext);
    if (\u_kernel.none_q ) assert (unit_no > 3'd5);
    // The manager: what it does for others, it does for the one whose turn it is.
    if (tstate > TIdle && \u_kernel.u_threads.op_q )
      assert (\u_kernel.op_req && tid == \u_kernel.op_id && tcmd == (\u_kernel.op_raise ? Raise : \u_kernel.op_lower ? Lower : \u_kernel.op_block ? Block : Add));
    if (\u_kernel.op_done ) assert (\u_kernel.op_req && tstate == TIdle && tid == \u_kernel.op_id );
    assert (op_q == \u_kernel.taken_q );
    if (\u_kernel.taken_q ) assert (ops[\u_kernel.turn_q ]);
    for (int u = 0; u < 4; u++)
      for (int v = 0; v < 4; v++)
        if (ops[u] && served_q[u][v]) begin
          assert (!(\u_kernel.taken_q && \u_kernel.turn_q == 2'(v)));
          assert (u != v && ((\u_kernel.taken_q && \u_kernel.turn_q == 2'(u)) ||
                             2'(2'(u) - \u_kernel.turn_q - 2'd1) < 2'(2'(v) - \u_kernel.turn_q - 2'd1)));
        end
    // The scheduler.
    assert (list_open_q == \u_kernel.busy_q );
    assert (list_open_q == (lstate != LIdle || \u_kernel.lists_rvalid ));
    if (list_open_q) assert (list_ours_q == \u_kernel.ours_q );
    if (list_open_q && list_ours_q)
      assert (lcmd != ListEnqueue && lcmd != ListDequeue && lcmd != ListNext);
    assert (asked_q == (\u_kernel.late_q || (list_open_q && !list_ours_q)));
    if (\u_kernel.late_q ) assert (!(list_open_q && !list_ours_q) && \u_kernel.late_addr_q == asked_addr_q);
    assert (asked_q == (tstate == TAsk));
    if (asked_q) assert (asked_addr_q[3:0] == want && (want == ListNext || asked_addr_q[4+:IdWidth] == whom));
    if (list_open_q && !list_ours_q) assert (lcmd == want && (want == ListNext || lid == whom));
    if (tstate == TAgain) assert (rests && (tcmd == Next || tcmd == Yield) && queued[current]);
    if (tstate == TAsk) assert (tcmd == Add || tcmd == Exit || tcmd == Clear || tcmd == Block || tcmd == IsQueued || tcmd == Next ||
                                tcmd == Yield || tcmd == Raise || tcmd == Lower);
    if (lstate == 3'd1 || lstate == 3'd2) assert (lcmd == ListNext);
    if (lstate == 3'd1) assert (list_age_q + 5'(\u_kernel.gen_lists.u_lists.rest_q ) <= 5'd3);
    if (lstate == 3'd2) assert (list_age_q <= 5'd4);
    if (lstate == LThread) assert (list_age_q <= (lcmd == ListNext ? 5'd5 : 5'd0));
    if (lstate == LChange) assert (list_age_q <= (lcmd == ListNext ? 5'd6 : moves ? 5'd3 : 5'd1));
    if (lstate == LRelink) assert (list_age_q <= 5'd2 && \u_kernel.gen_lists.u_lists.again_q );
    if (\u_kernel.late_q ) assert (asked_age_q <= (list_open_q ? list_age_q : 5'd8));
    if (list_open_q && !list_ours_q) assert (asked_age_q <= 5'd9 + list_age_q);
    if (lstate == LRelink) assert (lcmd == ListSetPriority || lcmd == ListRaise);
    if (lstate == LChange)
      assert (lcmd == ListEnqueue || lcmd == ListDequeue || lcmd == ListNext || lcmd == ListSetPriority || lcmd == ListRaise);
    for (int c = 0; c < NumCpus; c++) if (all_run[c] && !blocked[all_current[c]]) assert (alive[all_current[c]]);
    if (open_q) assert (32'(cpu_q) < NumCpus);
    // NEXT is a call, and it is the caller's thread that goes back.
    if (tstate > TIdle && (tcmd == Next || tcmd == Yield || tcmd == Exit)) assert (open_q && !\u_kernel.u_threads.op_q );
    if ((lstate == LThread || lstate == LChange) && lcmd == ListNext) assert (queued[lid]);
    if (moves) assert (!queued[lid]);
    if (lstate == LChange && lcmd == ListEnqueue) assert (!queued[lid]);
    if (lists_answer && lcmd == ListEnqueue) assert (queued[lid]);
    if (lists_answer && (lcmd == ListDequeue || (lcmd == ListNext && !\u_kernel.gen_lists.u_lists.rdata_o [31]))) assert (!queued[lid]);
    if (lists_answer && lcmd == ListNext && !\u_kernel.gen_lists.u_lists.rdata_o [31]) assert (\u_kernel.gen_lists.u_lists.rdata_o [IdWidth-1:0] == lid);
    if (tstate == TAsk && (tcmd == Add || tcmd == Exit)) assert (alive[whom] && !blocked[whom] && !placed[whom]);
    if (tstate == TAsk && tcmd == Exit) assert (runs && current == tid && exited[tid] && blocked[tid]);
    if (tstate == TAsk && want == ListDequeue) assert (!placed[tid] && (blocked[tid] || !used[tid]));
    for (int t = 0; t < NumThreads; t++) begin
      if (in[t]) assert (leaving[t] || resting[t] || (alive[t] && !blocked[t]));
      if (in[t]) assert (resting[t] || !placed[t]);
      if (alive[t] && added_q[t] && !blocked[t]) assert (in[t] || coming[t] || taken[t] || placed[t]);
    end
  end
`endif
endmodule
