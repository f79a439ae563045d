// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_ordered promises, for any calls: the next thread is the most urgent, by priority and then by key, and of equals the one that
/// was preempted, and then the one that came first; an interrupt stands for something more urgent, at the CPU that runs the least urgent
/// thread of those that may be interrupted, and only there; answers come in time. The queue is weir_pq_array, which weir_pq_systolic equals.
module weir_ordered_props #(
  parameter int unsigned NumThreads = 4,
  parameter int unsigned NumLevels = 2,
  parameter int unsigned KeyWidth = 2,
  parameter int unsigned NumCpus = 1,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  localparam int unsigned IdWidth = $clog2(NumThreads),
  localparam int unsigned LevelWidth = $clog2(NumLevels),
  localparam int unsigned RankWidth = LevelWidth + KeyWidth
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                req_i,
  input logic                we_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic [21:2]         addr_i,
  input logic [31:0]         wdata_i,
  input logic [NumCpus-1:0]  stop_i
);
  localparam logic [3:0] IsEmpty = 4'd0, Enqueue = 4'd1, Dequeue = 4'd2, IsQueued = 4'd3, GetPriority = 4'd4,
      SetPriority = 4'd5, Preemption = 4'd7, Next = 4'd10, Raise = 4'd12, SetKey = 4'd13, GetKey = 4'd14;
  localparam int unsigned Latest = 4;

  logic               rvalid, live_q;
  logic [NumCpus-1:0] irq;
  logic [31:0]        rdata;
  weir_ordered #(.NumThreads(NumThreads), .NumLevels(NumLevels), .KeyWidth(KeyWidth), .NumCpus(NumCpus), .Systolic(1'b0)) u_ordered (
    .clk_i, .rst_ni, .req_i, .we_i, .cpu_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .rdata_o(rdata), .stop_i, .irq_o(irq)
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  // Memories keep their contents over a reset, so there is one at the beginning only.
  always_comb assume (rst_ni == begun_q);

  // The call under way, and what should be queued: which threads, how urgent, preempted or not, and in which order they came. A rank is
  // priority and inverted key: the greatest is the most urgent.
  logic                                  open_q, we_q;
  logic [CpuWidth-1:0]                   cpu_q;
  logic [3:0]                            cmd_q, age_q;
  logic [IdWidth-1:0]                    id_q;
  logic [7:0]                            arg_q;
  logic [31:0]                           data_q;
  logic [NumThreads-1:0]                 in_q, front_q;
  logic [NumThreads-1:0][RankWidth-1:0]  rank_q;
  logic [NumThreads-1:0][NumThreads-1:0] older_q;
  logic [NumCpus-1:0]                    runs_q, may_q, stop_q;
  logic [NumCpus-1:0][RankWidth-1:0]     current_q;
  logic [NumCpus-1:0][IdWidth-1:0]       running_q;
  logic [2:0]                            quiet_q;
  logic                                  enters, leaves, sets, front;
  logic [IdWidth-1:0]                    target;
  logic [RankWidth-1:0]                  changed;

  assign sets    = cmd_q == SetPriority || (cmd_q == Raise && arg_q[LevelWidth-1:0] > rank_q[id_q][KeyWidth+:LevelWidth]) || (cmd_q == SetKey && we_q);
  assign changed = cmd_q == SetKey ? {rank_q[id_q][KeyWidth+:LevelWidth], ~data_q[KeyWidth-1:0]} : {arg_q[LevelWidth-1:0], rank_q[id_q][KeyWidth-1:0]};
  assign front   = cmd_q == Enqueue && arg_q[0];
  assign target  = cmd_q == Next ? rdata[IdWidth-1:0] : id_q;
  assign enters  = rvalid && ((cmd_q == Enqueue && !in_q[id_q]) || (sets && in_q[id_q]));
  assign leaves  = rvalid && (cmd_q == Dequeue || (cmd_q == Next && !rdata[31]));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q    <= 1'b0;
      open_q    <= 1'b0;
      age_q     <= '0;
      cmd_q     <= '0;
      we_q      <= 1'b0;
      id_q      <= '0;
      arg_q     <= '0;
      data_q    <= '0;
      in_q      <= '0;
      may_q     <= '0;
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
        open_q <= 1'b1;
        age_q  <= 4'd1;
        cpu_q  <= cpu_i;
        cmd_q  <= addr_i[5:2];
        we_q   <= we_i;
        id_q   <= addr_i[6+:IdWidth];
        arg_q  <= addr_i[14+:8];
        data_q <= wdata_i;
      end else begin
        age_q <= age_q + 4'd1;
      end
      if (rvalid) begin
        open_q <= req_i;
        if (cmd_q == Enqueue) in_q[id_q] <= 1'b1;
        if (leaves) in_q[target] <= 1'b0;
        if (cmd_q == Preemption) may_q[cpu_q] <= arg_q[0];
        if (cmd_q == Next) begin
          runs_q[cpu_q] <= !rdata[31];
          if (!rdata[31]) begin
            current_q[cpu_q] <= rank_q[target];
            running_q[cpu_q] <= target;
          end
        end
        for (int c = 0; c < NumCpus; c++) if (sets && runs_q[c] && running_q[c] == id_q) current_q[c] <= changed;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!begun_q) rank_q <= {NumThreads{{LevelWidth{1'b0}}, {KeyWidth{1'b1}}}};
    else if (rvalid && sets) rank_q[id_q] <= changed;
    if (enters) begin
      for (int t = 0; t < NumThreads; t++) older_q[t][id_q] <= 1'b0;
      older_q[id_q]       <= in_q;
      older_q[id_q][id_q] <= 1'b0;
      front_q[id_q]       <= front;
    end
  end

  always_comb begin
    // One call at a time.
    if (!live_q || (open_q && !rvalid)) assume (!req_i);
    assume (32'(cpu_i) < NumCpus);
  end

`ifdef LED
  // A way to what a search among all calls does not find in minutes: thread 1 runs, its key changes, and thread 2 comes before it.
  logic [2:0] calls_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) calls_q <= '0;
    else calls_q <= calls_q + 3'(req_i);
  end
  always_comb begin
    assume (stop_i == '0 && cpu_i == '0 && req_i == (live_q && !open_q && calls_q < 3'd5) && wdata_i == 32'd3 && we_i == (calls_q == 3'd3));
    if (req_i)
      unique case (calls_q)
        3'd0:    assume (addr_i == {8'd1, 8'd0, Preemption});
        3'd1:    assume (addr_i == {8'd0, 8'd1, Enqueue});
        3'd2:    assume (addr_i == {16'd0, Next});
        3'd3:    assume (addr_i == {8'd0, 8'd1, SetKey});
        default: assume (addr_i == {8'd0, 8'd2, Enqueue});
      endcase
  end
`endif

  logic [NumCpus-1:0] runs, more;
  assign runs = runs_q & ~stop_q;
  always_comb begin
    more = '0;
    for (int c = 0; c < NumCpus; c++)
      for (int t = 0; t < NumThreads; t++) if (in_q[t] && (!runs[c] || rank_q[t] > current_q[c])) more[c] = 1'b1;
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
      if (cmd_q == Raise || cmd_q == GetPriority) assert (rdata == 32'(rank_q[id_q][KeyWidth+:LevelWidth]));
      if (cmd_q == GetKey) assert (rdata[KeyWidth-1:0] == ~rank_q[id_q][KeyWidth-1:0]);
      if (cmd_q == SetKey) assert (rdata == (we_q ? '0 : '1));
      if (cmd_q == Next) begin
        assert (rdata[31] == (in_q == '0));
        if (!rdata[31]) begin
          assert (in_q[target] && rdata[8+:LevelWidth] == rank_q[target][KeyWidth+:LevelWidth]);
          for (int t = 0; t < NumThreads; t++)
            if (in_q[t] && t != target) begin
              assert (rank_q[t] <= rank_q[target]);
              if (rank_q[t] == rank_q[target]) begin
                assert (!front_q[t] || front_q[target]);
                if (front_q[t] == front_q[target]) assert (!older_q[target][t]);
              end
            end
        end
      end
    end
    if (!open_q)
      for (int c = 0; c < NumCpus; c++) begin
        // As of weir_lists.
        if (irq[c]) assert (may_q[c] && (stop_q[c] || more[c]));
        if (irq[c] && !stop_q[c])
          for (int d = 0; d < NumCpus; d++)
            if (d != c && may_q[d]) begin
              assert (!runs[c] || (runs[d] && current_q[d] >= current_q[c]));
              assert (stop_q[d] || !irq[d]);
            end
        if (may_q[c] && stop_q[c]) assert (irq[c]);
        if (may_q[c] && more[c] && quiet_q == 3'd4) assert (irq != '0);
      end
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [1:0] SIdle = 2'd0, SThread = 2'd1, SMoves = 2'd2;
  localparam int unsigned PlaceWidth = RankWidth + 1;
  (* hierconn *) wire [1:0]                           \u_ordered.state_q ;
  (* hierconn *) wire [3:0]                           \u_ordered.cmd_q ;
  (* hierconn *) wire                                 \u_ordered.we_q ;
  (* hierconn *) wire [IdWidth-1:0]                   \u_ordered.id_q ;
  (* hierconn *) wire [7:0]                           \u_ordered.arg_q ;
  (* hierconn *) wire [31:0]                          \u_ordered.data_q ;
  (* hierconn *) wire [CpuWidth-1:0]                  \u_ordered.cpu_q ;
  (* hierconn *) wire [1:0]                           \u_ordered.rest_q ;
  (* hierconn *) wire [NumThreads-1:0]                \u_ordered.queued_q ;
  (* hierconn *) wire [LevelWidth-1:0]                \u_ordered.level_q ;
  (* hierconn *) wire [LevelWidth-1:0]                \u_ordered.before_q ;
  (* hierconn *) wire [LevelWidth-1:0]                \u_ordered.prio ;
  (* hierconn *) wire [KeyWidth-1:0]                  \u_ordered.key ;
  (* hierconn *) wire [KeyWidth-1:0]                  \u_ordered.key_q ;
  (* hierconn *) wire [NumThreads*RankWidth-1:0]      \u_ordered.ranks ;
  (* hierconn *) wire [NumCpus-1:0]                   \u_ordered.u_cpus.runs_q ;
  (* hierconn *) wire [NumCpus-1:0]                   \u_ordered.u_cpus.may_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0]           \u_ordered.u_cpus.current_q ;
  (* hierconn *) wire [NumCpus*RankWidth-1:0]         \u_ordered.u_cpus.rank_q ;
  (* hierconn *) wire [NumThreads-1:0]                \u_ordered.gen_array.u_queue.valid_q ;
  (* hierconn *) wire [NumThreads*PlaceWidth-1:0]     \u_ordered.gen_array.u_queue.key_q ;
  (* hierconn *) wire [NumThreads*IdWidth-1:0]        \u_ordered.gen_array.u_queue.id_q ;
  logic [1:0]                            state;
  logic [NumThreads-1:0]                 queued, valid, now, now_front;
  logic [NumThreads-1:0][RankWidth-1:0]  ranks;
  logic [NumThreads-1:0][PlaceWidth-1:0] places;
  logic [NumThreads-1:0][IdWidth-1:0]    ids;
  logic [NumCpus-1:0]                    run;
  logic [NumCpus-1:0][IdWidth-1:0]       running;
  logic [NumCpus-1:0][RankWidth-1:0]     current;
  logic [NumThreads-1:0][NumThreads-1:0] older;
  assign state   = \u_ordered.state_q ;
  assign queued  = \u_ordered.queued_q ;
  assign ranks   = \u_ordered.ranks ;
  assign valid   = \u_ordered.gen_array.u_queue.valid_q ;
  assign places  = \u_ordered.gen_array.u_queue.key_q ;
  assign ids     = \u_ordered.gen_array.u_queue.id_q ;
  assign run     = \u_ordered.u_cpus.runs_q ;
  assign running = \u_ordered.u_cpus.current_q ;
  assign current = \u_ordered.u_cpus.rank_q ;

  // What the model will say a clock later, with the answer of this one.
  always_comb begin
    now       = in_q;
    now_front = front_q;
    older     = older_q;
    if (enters) begin
      now[id_q]         = 1'b1;
      now_front[id_q]   = front;
      for (int t = 0; t < NumThreads; t++) older[t][id_q] = 1'b0;
      older[id_q]       = in_q;
      older[id_q][id_q] = 1'b0;
    end
    if (leaves) now[target] = 1'b0;
  end

  logic changes;
  // Its rank counts before the answer.
  assign changes = open_q && sets && state != SThread;
  always_comb if (rst_ni && live_q) begin
    assert (state <= SMoves);
    if (open_q) assert (rvalid != (state != SIdle));
    else assert (!rvalid && state == SIdle);
    if (open_q) assert (\u_ordered.cmd_q == cmd_q && \u_ordered.arg_q == arg_q && \u_ordered.id_q == id_q && \u_ordered.we_q == we_q &&
                        \u_ordered.data_q == data_q && \u_ordered.cpu_q == cpu_q && 32'(cpu_q) < NumCpus);
    if (!open_q) assert (3'(\u_ordered.rest_q ) + quiet_q <= 3'd4 || \u_ordered.rest_q == '0);
    if (state == SThread) assert (age_q == 4'd1 && {\u_ordered.prio , ~\u_ordered.key } == ranks[id_q]);
    if (state == SMoves) assert (age_q == 4'd2 && sets && in_q[id_q] && !queued[id_q] && {\u_ordered.level_q , ~\u_ordered.key_q } == changed);
    if (state == SMoves && cmd_q == Raise) assert (\u_ordered.before_q == rank_q[id_q][KeyWidth+:LevelWidth]);
    if (rvalid && cmd_q == Next && !rdata[31]) assert (rdata[8+:LevelWidth] == rank_q[target][KeyWidth+:LevelWidth]);
    for (int c = 0; c < NumCpus; c++) begin
      if (open_q && cmd_q == Next && cpu_q == CpuWidth'(c) && rvalid) begin
        assert (run[c] == !rdata[31]);
        if (run[c]) assert (running[c] == target && current[c] == rank_q[target]);
      end else begin
        assert (run[c] == runs_q[c]);
        if (runs_q[c]) assert (running[c] == running_q[c]);
        if (runs_q[c]) assert (current[c] == (changes && id_q == running_q[c] ? changed : current_q[c]));
      end
      assert (may_q[c] == \u_ordered.u_cpus.may_q [c] || (rvalid && cmd_q == Preemption && cpu_q == CpuWidth'(c)));
    end
    for (int t = 0; t < NumThreads; t++) begin
      logic there;
      assert (ranks[t] == (changes && id_q == IdWidth'(t) ? changed : rank_q[t]));
      assert (now[t] == (queued[t] || (state == SMoves && id_q == IdWidth'(t))));
      there = 1'b0;
      for (int e = 0; e < NumThreads; e++) if (valid[e] && ids[e] == IdWidth'(t)) there = 1'b1;
      assert (there == queued[t]);
    end
    for (int e = 0; e < NumThreads; e++) if (valid[e]) begin
      // Each entry is where its thread belongs, before younger equals.
      assert (places[e] == {~ranks[ids[e]], !now_front[ids[e]]});
      if (e > 0) assert (valid[e-1] && places[e-1] <= places[e]);
      for (int f = 0; f < e; f++) begin
        assert (ids[e] != ids[f]);
        if (places[e] == places[f]) assert (older[ids[e]][ids[f]] && !older[ids[f]][ids[e]]);
      end
    end
  end
`endif
endmodule
