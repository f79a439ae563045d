// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What the engine as a whole promises its programs, for any traffic on its bus.
module weir_laxity_props #(
  parameter int unsigned NumTasks = 4,
  parameter int unsigned NumCpus = 2,
  parameter int unsigned Width = 4,
  parameter int unsigned Select = 1,
  parameter bit [3:0] Policies = 4'b1111,
  /// 1: also what follows programs over time, which no induction reaches.
  parameter bit Contexts = 1'b0,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  localparam int unsigned IdWidth = $clog2(NumTasks)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                req_i,
  input logic                we_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic [10:2]         addr_i,
  input logic [31:0]         wdata_i
);
  logic                            rvalid, err, decided, live_q;
  logic [31:0]                     rdata;
  logic [NumCpus-1:0]              irq, busy, busy_q;
  logic [NumCpus-1:0][IdWidth-1:0] task_no, task_q;

  weir_laxity #(.NumTasks(NumTasks), .NumCpus(NumCpus), .Width(Width), .Select(Select), .Policies(Policies),
                .TickClocks(1)) u_engine (
    .clk_i, .rst_ni, .req_i, .we_i, .cpu_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .err_o(err), .rdata_o(rdata),
    .irq_o(irq), .decided_o(decided), .busy_o(busy), .task_o(task_no)
  );

  // What programs know: which request is answered now, and whose context each CPU has loaded.
  logic                            sched_1, sched_2, req_1, req_2;
  logic [CpuWidth-1:0]             cpu_1, cpu_2;
  logic [NumCpus-1:0]              loaded_q, loaded;
  logic [NumCpus-1:0][IdWidth-1:0] context_q, context_d;

  always_comb begin
    loaded    = loaded_q;
    context_d = context_q;
    if (rvalid && sched_2) begin
      loaded[cpu_2]    = !rdata[30] && !rdata[29];
      context_d[cpu_2] = rdata[IdWidth-1:0];
    end
  end

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= 1'b0;
      req_1    <= 1'b0;
      req_2    <= 1'b0;
      sched_1  <= 1'b0;
      sched_2  <= 1'b0;
      cpu_1    <= '0;
      cpu_2    <= '0;
      loaded_q <= '0;
      context_q <= '0;
    end else begin
      live_q   <= 1'b1;
      req_1    <= req_i;
      req_2    <= req_1;
      sched_1  <= req_i && !we_i && addr_i == 9'h005;
      sched_2  <= sched_1;
      cpu_1    <= cpu_i;
      cpu_2    <= cpu_1;
      loaded_q <= loaded;
      context_q <= context_d;
    end
  end
  always_ff @(posedge clk_i) begin
    busy_q <= busy;
    task_q <= task_no;
  end

  always_comb begin
    assume (cpu_i < NumCpus);
    // A CPU waits for the answer before it asks again.
    if (req_1 && req_i) assume (cpu_i != cpu_1);
    if (req_2 && req_i) assume (cpu_i != cpu_2);
    if (!live_q) assume (!req_i);
  end

  always_comb if (rst_ni && live_q) begin
    // Every request is answered, two clocks later, and nothing else is.
    assert (rvalid == req_2);
    for (int a = 0; a < NumCpus; a++)
      for (int b = 0; b < a; b++) begin
        // No task is to run on two CPUs.
        assert (!(busy[a] && busy[b] && task_no[a] == task_no[b]));
        // No context is loaded on two CPUs, as programs see it: what one gets, another has handed back before.
        if (Contexts) assert (!(loaded[a] && loaded[b] && context_d[a] == context_d[b]));
      end
    // R1: between decisions nothing moves.
    if (!decided) assert (busy == busy_q && task_no == task_q);
  end

  // ------------------------------------------------------------------ when, for what, and what registers say
  // These wires are joined with those of the module when the hierarchy is flattened.
  (* hierconn *) wire                 \u_engine.tick ;
  (* hierconn *) wire [1:0]           \u_engine.policy_q ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.ready ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.missed_q ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.miss ;
  (* hierconn *) wire                 \u_engine.u_match.stay_i ;
  localparam int unsigned Clocks = ((Select == 0) ? NumTasks + 3 : (Select == 1) ? 1 : $clog2(NumTasks) + 1) + 3;
  localparam logic [8:0] Ctrl = 9'h000, Ready0 = 9'h00c, Ready1 = 9'h00d, Missed0 = 9'h00e, Missed1 = 9'h00f;

  // Ticks whose decision is to come, by their age, and those whose decision MLLF may put off.
  logic [Clocks-1:0]               must_q, may_q;
  // The context that each CPU holds, by what it has claimed.
  logic [NumCpus-1:0]              holds_q, wrong_q, other;
  logic [NumCpus-1:0][IdWidth-1:0] held_q;
  // The request before, and what CTRL has to read.
  logic                            we_1, known_q, tick_q;
  logic [8:0]                      addr_1;
  logic [31:0]                     data_1, want_q;
  logic [9:0]                      ctrl_q;
  logic [NumTasks-1:0]             missed_q, clears_q;
  logic                            built;
  assign built = Policies[data_1[5:4]];
  always_comb for (int c = 0; c < NumCpus; c++)
    other[c] = cpu_1 != CpuWidth'(c) && holds_q[c] && held_q[c] == task_no[cpu_1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tick_q   <= 1'b0;
      must_q   <= '0;
      may_q    <= '0;
      holds_q  <= '0;
      held_q   <= '0;
      wrong_q  <= '0;
      we_1     <= 1'b0;
      known_q  <= 1'b0;
      addr_1   <= '0;
      data_1   <= '0;
      want_q   <= '0;
      ctrl_q   <= Policies[0] ? 10'h000 : Policies[1] ? 10'h010 : Policies[2] ? 10'h020 : 10'h030;
      missed_q <= '0;
      clears_q <= '0;
    end else begin
      // A clock after the tick: the policy of that clock counts.
      tick_q <= \u_engine.tick ;
      must_q <= {must_q[Clocks-2:0], tick_q && \u_engine.policy_q != 2'd3};
      may_q  <= {may_q[Clocks-2:0], tick_q};
      we_1   <= we_i;
      addr_1 <= addr_i;
      data_1 <= wdata_i;
      if (sched_1) begin
        holds_q[cpu_1] <= busy[cpu_1] && other == '0;
        held_q[cpu_1]  <= task_no[cpu_1];
      end
      for (int c = 0; c < NumCpus; c++) wrong_q[c] <= busy[c] != holds_q[c] || (busy[c] && task_no[c] != held_q[c]);
      if (req_1 && we_1 && addr_1 == Ctrl && built) ctrl_q <= {data_1[9:8], 2'b00, data_1[5:4], 3'b000, data_1[0]};
      known_q  <= req_1 && !we_1 && (addr_1 == Ctrl || (addr_1 >= Ready0 && addr_1 <= Missed1));
      want_q   <= addr_1 == Ctrl ? 32'(ctrl_q) : addr_1 == Ready0 ? 32'(\u_engine.ready ) : addr_1 == Missed0 ? 32'(\u_engine.missed_q ) : '0;
      missed_q <= \u_engine.missed_q | \u_engine.miss ;
      clears_q <= req_1 && we_1 && addr_1 == Missed0 ? NumTasks'(data_1) & ~\u_engine.miss : '0;
    end
  end

  always_comb if (rst_ni && live_q) begin
    // R1: a decision as long after its tick as CLOCKS says, whatever tasks and programs do; MLLF only leaves some out.
    if (must_q[Clocks-2]) assert (decided);
    if (!may_q[Clocks-2]) assert (!decided);
    // R4: an interrupt exactly while a CPU does not hold the context of the task that it is to run.
    assert (irq == wrong_q);
    // R5 is off if CTRL says so.
    assert (\u_engine.u_match.stay_i == !ctrl_q[9]);
    // What was read; of 32 tasks at most the second words say nothing, and clear nothing.
    if (known_q) assert (rvalid && rdata == want_q && !err);
    assert (\u_engine.missed_q == (missed_q & ~clears_q));
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire [NumCpus-1:0]              \u_engine.u_context.holds_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0]      \u_engine.u_context.held_q ;
  (* hierconn *) wire                            \u_engine.run_q ;
  (* hierconn *) wire                            \u_engine.loose_q ;
  (* hierconn *) wire                            \u_engine.roam_q ;
  (* hierconn *) wire                            \u_engine.req_q ;
  (* hierconn *) wire                            \u_engine.we_q ;
  (* hierconn *) wire [8:0]                      \u_engine.addr_q ;
  (* hierconn *) wire [31:0]                     \u_engine.data_q ;
  (* hierconn *) wire [CpuWidth-1:0]             \u_engine.cpu_q ;
  always_comb if (rst_ni && live_q) begin
    assert (\u_engine.u_context.holds_q == holds_q);
    for (int c = 0; c < NumCpus; c++) if (holds_q[c]) assert (\u_engine.u_context.held_q [c*IdWidth+:IdWidth] == held_q[c]);
    assert (ctrl_q == {\u_engine.roam_q , \u_engine.loose_q , 2'b00, \u_engine.policy_q , 3'b000, \u_engine.run_q });
    assert (\u_engine.req_q == req_1);
    if (req_1) assert (\u_engine.we_q == we_1 && \u_engine.addr_q == addr_1 && \u_engine.data_q == data_1 && \u_engine.cpu_q == cpu_1);
    assert (sched_1 == (req_1 && !we_1 && addr_1 == 9'h005));
  end
`endif
endmodule
