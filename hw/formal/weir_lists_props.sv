// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_lists promises, for any calls: the next thread is the first of the highest level; an interrupt stands for something more
/// urgent, at the CPU that runs the least urgent thread of those that may be interrupted, and only there; answers come in time.
module weir_lists_props #(
  parameter int unsigned NumThreads = 4,
  parameter int unsigned NumLevels = 2,
  parameter int unsigned NumCpus = 1,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  localparam int unsigned IdWidth = $clog2(NumThreads),
  localparam int unsigned LevelWidth = $clog2(NumLevels)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                req_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic [21:2]         addr_i,
  input logic [NumCpus-1:0]  stop_i
);
  localparam logic [3:0] IsEmpty = 4'd0, Enqueue = 4'd1, Dequeue = 4'd2, IsQueued = 4'd3, GetPriority = 4'd4,
      SetPriority = 4'd5, Preemption = 4'd7, Next = 4'd10, Raise = 4'd12;
  localparam int unsigned Latest = 8;

  logic               rvalid, live_q;
  logic [NumCpus-1:0] irq;
  logic [31:0]        rdata;

  weir_lists #(.NumThreads(NumThreads), .NumLevels(NumLevels), .NumCpus(NumCpus)) u_lists (
    .clk_i, .rst_ni, .req_i, .cpu_i, .addr_i, .rvalid_o(rvalid), .rdata_o(rdata), .stop_i, .irq_o(irq)
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  // Memories keep their contents over a reset, so there is one at the beginning only.
  always_comb assume (rst_ni == begun_q);

  // The call under way, and what should be queued: which threads, at what level, and in which order they came.
  logic                                  open_q;
  logic [CpuWidth-1:0]                   cpu_q;
  logic [3:0]                            cmd_q, age_q;
  logic [IdWidth-1:0]                    id_q;
  logic [7:0]                            arg_q;
  logic [NumThreads-1:0]                 in_q;
  logic [NumThreads-1:0][LevelWidth-1:0] level_q;
  logic [NumThreads-1:0][NumThreads-1:0] older_q;
  // What each CPU runs, and at what priority; whether it may be interrupted, and had to be a clock ago.
  logic [NumCpus-1:0]                    runs_q, preempt_q, stop_q;
  logic [NumCpus-1:0][LevelWidth-1:0]    current_q;
  logic [NumCpus-1:0][IdWidth-1:0]       running_q;
  // Clocks since the last call, up to 4.
  logic [2:0]                            quiet_q;
  logic                                  enters, leaves;
  logic [IdWidth-1:0]                    target;

  // A change of priority; RAISE makes one of what is less.
  logic                                  sets;
  assign sets   = cmd_q == SetPriority || (cmd_q == Raise && arg_q[LevelWidth-1:0] > level_q[id_q]);
  logic                                  front;
  assign front  = cmd_q == Enqueue && arg_q[0];
  assign target = cmd_q == Next ? rdata[IdWidth-1:0] : id_q;
  assign enters = rvalid && ((cmd_q == Enqueue && !in_q[id_q]) || (sets && in_q[id_q]));
  assign leaves = rvalid && (cmd_q == Dequeue || (cmd_q == Next && !rdata[31]));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q    <= 1'b0;
      open_q    <= 1'b0;
      age_q     <= '0;
      cmd_q     <= '0;
      id_q      <= '0;
      arg_q     <= '0;
      in_q      <= '0;
      preempt_q <= '0;
      runs_q    <= '0;
      current_q <= '0;
      running_q <= '0;
      cpu_q     <= '0;
      stop_q    <= '0;
      quiet_q   <= '0;
    end else begin
      live_q  <= 1'b1;
      stop_q  <= stop_i;
      quiet_q <= req_i || open_q ? '0 : quiet_q + 3'(quiet_q != 3'd4);
      if (req_i) begin
        cpu_q  <= cpu_i;
        open_q <= 1'b1;
        age_q  <= 4'd1;
        cmd_q  <= addr_i[5:2];
        id_q   <= addr_i[6+:IdWidth];
        arg_q  <= addr_i[14+:8];
      end else begin
        age_q <= age_q + 4'd1;
      end
      if (rvalid) begin
        open_q <= req_i;
        if (cmd_q == Enqueue) in_q[id_q] <= 1'b1;
        if (leaves) in_q[target] <= 1'b0;
        if (cmd_q == Preemption) preempt_q[cpu_q] <= arg_q[0];
        if (cmd_q == Next) begin
          runs_q[cpu_q] <= !rdata[31];
          if (!rdata[31]) begin
            current_q[cpu_q] <= rdata[8+:LevelWidth];
            running_q[cpu_q] <= target;
          end
        end
        // The priority of what runs counts as soon as it is set.
        for (int c = 0; c < NumCpus; c++) if (sets && runs_q[c] && running_q[c] == id_q) current_q[c] <= arg_q[LevelWidth-1:0];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!begun_q) level_q <= '0;
    else if (rvalid && sets) level_q[id_q] <= arg_q[LevelWidth-1:0];
    if (enters) begin
      // A thread that comes is younger than all that are there; one that was preempted goes before them.
      for (int t = 0; t < NumThreads; t++) older_q[t][id_q] <= front;
      older_q[id_q] <= front ? '0 : in_q;
      older_q[id_q][id_q] <= 1'b0;
    end
  end

  always_comb begin
    // One call at a time.
    if (!live_q || (open_q && !rvalid)) assume (!req_i);
    assume (32'(cpu_i) < NumCpus);
  end

`ifdef LED
  // A way to what a search among all calls does not find in minutes: thread 1 runs on CPU 0, CPU 1 is idle, and a more urgent thread comes.
  logic [2:0] calls_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) calls_q <= '0;
    else calls_q <= calls_q + 3'(req_i);
  end
  always_comb begin
    assume (stop_i == '0 && 32'(cpu_i) == 32'(calls_q == 3'd2) && req_i == (live_q && !open_q && calls_q < 3'd6));
    if (req_i)
      unique case (calls_q)
        3'd0:       assume (addr_i == {8'd1, 8'd2, SetPriority});
        3'd1, 3'd2: assume (addr_i == {8'd1, 8'd0, Preemption});
        3'd3:       assume (addr_i == {8'd0, 8'd1, Enqueue});
        3'd4:       assume (addr_i == {16'd0, Next});
        default:    assume (addr_i == {8'd0, 8'd2, Enqueue});
      endcase
  end
`endif

  // What a CPU runs that is not to leave it, and what is more urgent.
  logic [NumCpus-1:0] runs, more;
  assign runs = runs_q & ~stop_q;
  always_comb begin
    more = '0;
    for (int c = 0; c < NumCpus; c++)
      for (int t = 0; t < NumThreads; t++) if (in_q[t] && (!runs[c] || level_q[t] > current_q[c])) more[c] = 1'b1;
  end

  always_comb if (rst_ni && live_q) begin
    // Every call is answered once, in time.
    if (rvalid) assert (open_q);
    if (open_q) assert (age_q <= Latest);
    if (rvalid) begin
      if (cmd_q == Enqueue) assert (rdata[0] == in_q[id_q]);
      if (cmd_q == Dequeue) assert (rdata[0] == !in_q[id_q]);
      if (cmd_q == IsQueued) assert (rdata[0] == in_q[id_q]);
      if (cmd_q == IsEmpty) assert (rdata[0] == (in_q == '0));
      if (cmd_q == Raise) assert (rdata == 32'(level_q[id_q]));
      if (cmd_q == GetPriority) assert (rdata[LevelWidth-1:0] == level_q[id_q]);
      if (cmd_q == Next) begin
        assert (rdata[31] == (in_q == '0));
        if (!rdata[31]) begin
          assert (in_q[target] && rdata[8+:LevelWidth] == level_q[target]);
          for (int t = 0; t < NumThreads; t++)
            if (in_q[t] && t != target) begin
              // The highest level, and of it the one that came first.
              assert (level_q[t] <= level_q[target]);
              if (level_q[t] == level_q[target]) assert (!older_q[target][t]);
            end
        end
      end
    end
    if (!open_q)
      for (int c = 0; c < NumCpus; c++) begin
        // A CPU is interrupted if it has to leave its thread, or for something more urgent. It runs the least urgent thread then.
        if (irq[c]) assert (preempt_q[c] && (stop_q[c] || more[c]));
        if (irq[c] && !stop_q[c])
          for (int d = 0; d < NumCpus; d++)
            if (d != c && preempt_q[d]) begin
              assert (!runs[c] || (runs[d] && current_q[d] >= current_q[c]));
              // One is enough.
              assert (stop_q[d] || !irq[d]);
            end
        // And some CPU is, if no call comes for a while.
        if (preempt_q[c] && stop_q[c]) assert (irq[c]);
        if (preempt_q[c] && more[c] && quiet_q == 3'd4) assert (irq != '0);
      end
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SRest = 3'd1, SHead = 3'd2, SThread = 3'd3, SChange = 3'd4, SRelink = 3'd5;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]            \u_lists.state_q ;
  (* hierconn *) wire [3:0]            \u_lists.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_lists.id_q ;
  (* hierconn *) wire [7:0]            \u_lists.arg_q ;
  (* hierconn *) wire [1:0]            \u_lists.rest_q ;
  (* hierconn *) wire                  \u_lists.again_q ;
  (* hierconn *) wire [CpuWidth-1:0]   \u_lists.cpu_q ;
  (* hierconn *) wire [NumCpus-1:0]    \u_lists.u_cpus.runs_q ;
  (* hierconn *) wire [NumCpus-1:0]    \u_lists.u_cpus.may_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0]    \u_lists.u_cpus.current_q ;
  (* hierconn *) wire [NumCpus*LevelWidth-1:0] \u_lists.u_cpus.rank_q ;
  (* hierconn *) wire [LevelWidth-1:0] \u_lists.before_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_lists.queued_q ;
  (* hierconn *) wire [LevelWidth-1:0] \u_lists.highest ;
  (* hierconn *) wire [NumThreads*LevelWidth-1:0] \u_lists.prios ;
  (* hierconn *) wire [NumThreads*LevelWidth-1:0] \u_lists.at_q ;
  (* hierconn *) wire [NumThreads*NumThreads-1:0] \u_lists.older_q ;
  logic [2:0]                            state;
  logic [NumThreads-1:0]                 queued, now;
  logic [NumThreads-1:0][LevelWidth-1:0] prios, at;
  logic [NumThreads-1:0][NumThreads-1:0] list_older, older;
  logic [NumCpus-1:0][IdWidth-1:0]       running;
  logic [NumCpus-1:0][LevelWidth-1:0]    current;
  assign running    = \u_lists.u_cpus.current_q ;
  assign current    = \u_lists.u_cpus.rank_q ;
  assign state      = \u_lists.state_q ;
  assign queued     = \u_lists.queued_q ;
  assign prios      = \u_lists.prios ;
  assign at         = \u_lists.at_q ;
  assign list_older = \u_lists.older_q ;

  // What the model will say a clock later, with the answer of this one.
  always_comb begin
    now   = in_q;
    older = older_q;
    if (enters) begin
      now[id_q] = 1'b1;
      for (int t = 0; t < NumThreads; t++) older[t][id_q] = front;
      older[id_q] = front ? '0 : in_q;
      older[id_q][id_q] = 1'b0;
    end
    if (leaves) now[target] = 1'b0;
  end

  logic moves, priority_set;
  assign moves        = state == SRelink || (state == SChange && \u_lists.again_q );
  // Its priority counts before the answer.
  assign priority_set = open_q && sets && state != SThread;
  always_comb if (rst_ni && live_q) begin
    assert (state <= SRelink);
    if (open_q) assert (rvalid != (state != SIdle));
    else assert (!rvalid && state == SIdle);
    if (open_q) assert (\u_lists.cmd_q == cmd_q && \u_lists.arg_q == arg_q && (cmd_q == Next || \u_lists.id_q == id_q));
    if (state == SRest) assert (age_q + 4'(\u_lists.rest_q ) <= 4'd4);
    if (state == SHead) assert (age_q <= 4'd5);
    if (state == SThread) assert (age_q <= (cmd_q == Next ? 4'd6 : 4'd1));
    if (state == SChange) assert (age_q <= (cmd_q == Next ? 4'd7 : moves ? 4'd4 : 4'd2));
    if (state == SRelink) assert (age_q <= 4'd3);
    if (open_q) assert (\u_lists.cpu_q == cpu_q && 32'(cpu_q) < NumCpus);
    if (!open_q) assert (3'(\u_lists.rest_q ) + quiet_q <= 3'd4 || \u_lists.rest_q == '0);
    // What runs: NEXT has changed it when it leaves the queue, or when there is none.
    for (int c = 0; c < NumCpus; c++)
      if (open_q && cmd_q == Next && cpu_q == CpuWidth'(c) && (state == SChange || rvalid)) begin
        assert (\u_lists.u_cpus.runs_q [c] == !(rvalid && rdata[31]));
        if (\u_lists.u_cpus.runs_q [c]) assert (running[c] == \u_lists.id_q && current[c] == prios[\u_lists.id_q ]);
      end else begin
        assert (\u_lists.u_cpus.runs_q [c] == runs_q[c]);
        if (runs_q[c]) assert (running[c] == running_q[c]);
        if (runs_q[c]) assert (current[c] == (priority_set && id_q == running_q[c] ? arg_q[LevelWidth-1:0] : current_q[c]));
      end
    for (int c = 0; c < NumCpus; c++)
      assert (preempt_q[c] == \u_lists.u_cpus.may_q [c] || (rvalid && cmd_q == Preemption && cpu_q == CpuWidth'(c)));
    for (int t = 0; t < NumThreads; t++) begin
      assert (now[t] == (queued[t] || (moves && \u_lists.id_q == IdWidth'(t))));
      if (!(priority_set && id_q == IdWidth'(t))) assert (level_q[t] == prios[t]);
      else assert (prios[t] == arg_q[LevelWidth-1:0]);
      for (int u = 0; u < NumThreads; u++)
        if (queued[t] && queued[u] && at[t] == at[u]) assert (list_older[t][u] == older[t][u]);
    end
    if (cmd_q == Raise && state == SChange) assert (sets);
    if (cmd_q == Raise && (state == SChange || state == SRelink)) assert (\u_lists.before_q == level_q[id_q]);
    if (rvalid && cmd_q == Next && !rdata[31]) assert (target == \u_lists.id_q && rdata[8+:LevelWidth] == prios[target]);
  end
`endif
endmodule
