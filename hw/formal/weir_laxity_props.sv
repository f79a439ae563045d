// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What the engine as a whole promises its programs, for any traffic on its bus.
module weir_laxity_props #(
  parameter int unsigned NumTasks = 4,
  parameter int unsigned NumCpus = 2,
  parameter int unsigned Width = 4,
  parameter int unsigned Select = 1,
  parameter bit [3:0] Policies = 4'b1111,
  parameter bit Hold = 1'b0,
  parameter bit Budget = 1'b0,
  parameter bit Criticality = 1'b0,
  /// 1: also what follows programs over time, which no induction reaches.
  parameter bit Contexts = 1'b0,
  /// 1: also what becomes of commands over time, the same.
  parameter bit Commands = 1'b0,
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
                .Hold(Hold), .Budget(Budget), .Criticality(Criticality), .TickClocks(1)) u_engine (
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
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.empty ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.aside ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.high ;
  (* hierconn *) wire                 \u_engine.mode ;
  (* hierconn *) wire [15:0]          \u_engine.switches ;
  (* hierconn *) wire [NumTasks*Width-1:0] \u_engine.left_now ;
  (* hierconn *) wire [NumTasks*(Width+1)-1:0] \u_engine.deadline_now ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.missed_q ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.miss ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.valid ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.waits ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.chosen ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.report ;
  (* hierconn *) wire [NumTasks-1:0]  \u_engine.drop ;
  (* hierconn *) wire [NumTasks*8-1:0] \u_engine.job ;
  (* hierconn *) wire [NumTasks*Width-1:0] \u_engine.left ;
  (* hierconn *) wire [NumTasks*(Width+1)-1:0] \u_engine.deadline ;
  (* hierconn *) wire [23:0]        \u_engine.period_q ;
  (* hierconn *) wire [23:0]        \u_engine.clock_q ;
  (* hierconn *) wire [31:0]        \u_engine.ticks_q ;
  (* hierconn *) wire [31:0]        \u_engine.param0_q ;
  (* hierconn *) wire [31:0]        \u_engine.param1_q ;
  (* hierconn *) wire [31:0]        \u_engine.param2_q ;
  (* hierconn *) wire [31:0]        \u_engine.param3_q ;
  (* hierconn *) wire               \u_engine.refused_q ;
  (* hierconn *) wire [6:0]         \u_engine.count_q ;
  (* hierconn *) wire [31:0]        \u_engine.misses_q ;
  (* hierconn *) wire                 \u_engine.u_match.valid_i ;
  (* hierconn *) wire [NumCpus-1:0]   \u_engine.u_match.some_i ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0] \u_engine.u_match.best_i ;
  (* hierconn *) wire                 \u_engine.u_match.stay_i ;
  (* hierconn *) wire [NumCpus-1:0]   \u_engine.u_match.hold_i ;
  localparam int unsigned Clocks = ((Select == 0) ? NumTasks + 3 : (Select == 1) ? 1 : $clog2(NumTasks) + 1) + 3;
  localparam int unsigned MinTick = Clocks + 2 + (Policies[3] ? NumTasks + 3 : 0);
  localparam logic [8:0] Ctrl = 9'h000, Tick = 9'h001, Param0 = 9'h002, Param1 = 9'h003, Cmd = 9'h004, Sched = 9'h005, Done = 9'h006,
                         Peek = 9'h007, Cpu = 9'h008, Status = 9'h009, Ticks = 9'h00a, Misses = 9'h00b, Ready0 = 9'h00c, Ready1 = 9'h00d,
                         Missed0 = 9'h00e, Missed1 = 9'h00f, ClocksAt = 9'h010, HoldAt = 9'h011, Param2 = 9'h012, Param3 = 9'h013,
                         Mode = 9'h014, State = 9'h100;

  // Ticks whose decision is to come, by their age, and those whose decision MLLF may put off.
  logic [Clocks-1:0]               must_q, may_q;
  // The context that each CPU holds, by what it has claimed.
  logic [NumCpus-1:0]              holds_q, wrong_q, other, hold_q;
  logic [NumCpus-1:0][IdWidth-1:0] held_q;
  // The request before, and what CTRL has to read.
  logic                            we_1, known_q, tick_q, err_q;
  logic [8:0]                      addr_1;
  logic [31:0]                     data_1, want_q, want, rdata_q;
  logic [9:0]                      ctrl_q;
  logic [NumTasks-1:0]             missed_q, clears_q;
  logic                            built;
  assign built = Policies[data_1[5:4]];
  always_comb for (int c = 0; c < NumCpus; c++)
    other[c] = cpu_1 != CpuWidth'(c) && holds_q[c] && held_q[c] == task_no[cpu_1];

  // What CTRL, TICK, PARAM and CMD have been told, when ticks are, and what is counted; a miss is counted two clocks later.
  logic [23:0] every_q, until_q;
  logic [31:0] param0_q, param1_q, param2_q, param3_q, ticks_q, misses_q, sum_1, sum_2, sum;
  logic        refused_q, apart, takes, fits, fits_high, fits_budget, ticks;
  logic [15:0] period, wcet, relative, phase, wcet_high, sooner;
  logic [7:0]  about;
  assign apart    = data_1 >= MinTick && data_1[31:24] == '0;
  assign ticks    = ctrl_q[0] && until_q == '0;
  assign period   = param0_q[15:0];
  assign wcet     = param0_q[31:16];
  assign relative = param1_q[15:0] == '0 ? period : param1_q[15:0];
  assign phase    = param1_q[31:16];
  assign fits     = wcet != '0 && wcet < period && wcet <= relative && relative <= period && 32'(period) < 32'd1 << Width &&
                    32'(phase) < (32'd1 << Width) - 32'd1 && (!data_1[5] || fits_high) && fits_budget;
  // Of a high task: the time of the high mode, and the deadline of the low one; and of one with a server.
  assign wcet_high   = param2_q[15:0];
  assign sooner      = param2_q[31:16] == '0 ? relative : param2_q[31:16];
  assign fits_high   = Criticality && wcet_high >= wcet && wcet_high < period && wcet_high <= relative && sooner >= wcet &&
                       sooner <= relative;
  assign fits_budget = param3_q[15:0] == '0 || (param3_q[15:0] <= param3_q[31:16] && 32'(param3_q[31:16]) < 32'd1 << Width);
  // Set, delete, release, the high mode.
  assign about    = data_1[15:8];
  assign takes    = (about < NumTasks && ((data_1[3:0] == 4'd1 && fits) || data_1[3:0] == 4'd2 || data_1[3:0] == 4'd3)) ||
                    (Criticality && data_1[3:0] == 4'd4);
  always_comb begin
    sum = '0;
    for (int t = 0; t < NumTasks; t++) sum = sum + 32'(\u_engine.miss [t]);
  end

  // What a register has to say, and whether it is there.
  logic [8:0]         beyond;
  logic [IdWidth-1:0] of;
  logic               is_task, errs;
  logic [31:0]        sched;
  assign beyond  = addr_1 - State;
  assign is_task = addr_1 >= State && 32'(beyond[8:1]) < NumTasks;
  assign of      = IdWidth'(beyond[8:1]);
  assign sched   = {busy[cpu_1] != holds_q[cpu_1] || (busy[cpu_1] && task_no[cpu_1] != held_q[cpu_1]), !busy[cpu_1],
                    busy[cpu_1] && other != '0, 13'd0, \u_engine.job [task_no[cpu_1]*8+:8], 8'(task_no[cpu_1])};
  always_comb begin
    errs = 1'b0;
    want = '0;
    unique case (addr_1)
      Ctrl: want = 32'(ctrl_q);
      Tick: want = 32'(every_q);
      Param0: want = param0_q;
      Param1: want = param1_q;
      Cmd: want = 32'(refused_q);
      Sched, Peek: want = sched;
      Done: errs = 1'b1;
      Cpu: want = 32'(cpu_1);
      Status: want = {4'd1, 4'd0, Budget, Hold, 1'b1, 1'b1, Policies, 3'd0, Criticality, 4'(NumCpus), 8'(NumTasks)};
      Ticks: want = ticks_q;
      Misses: want = misses_q;
      Ready0: want = 32'(\u_engine.ready );
      Missed0: want = 32'(\u_engine.missed_q );
      // Of 32 tasks at most the second words say nothing.
      Ready1, Missed1: want = '0;
      HoldAt: begin
        want = 32'(hold_q[cpu_1]);
        errs = !Hold;
      end
      Param2: begin
        want = param2_q;
        errs = !Criticality;
      end
      Param3: begin
        want = param3_q;
        errs = !Budget;
      end
      Mode: begin
        want = {\u_engine.switches , 15'd0, \u_engine.mode };
        errs = !Criticality;
      end
      ClocksAt: want = {16'(MinTick), 16'(Clocks)};
      default: if (!is_task) errs = 1'b1;
      else if (beyond[0]) want = {16'(\u_engine.left [of*Width+:Width]), 16'($signed(\u_engine.deadline [of*(Width+1)+:Width+1]))};
      else want = {\u_engine.valid [of], \u_engine.ready [of], \u_engine.chosen [of], \u_engine.missed_q [of], \u_engine.waits [of],
                   \u_engine.empty [of], \u_engine.aside [of], \u_engine.high [of], 8'd0, \u_engine.job [of*8+:8], 8'(of)};
    endcase
    if (we_1) begin
      want = '0;
      errs = !(addr_1 <= Cmd || addr_1 == Done || addr_1 == Missed0 || addr_1 == Missed1 || (Hold && addr_1 == HoldAt) ||
               (Criticality && addr_1 == Param2) || (Budget && addr_1 == Param3));
    end
  end

  // Jobs that come and end, and what is asked of tasks: in the clock in which it takes effect.
  logic [NumTasks-1:0]   set_q, del_q, ask_q, done_q, ready_q, chosen_q, empty_q;
  logic [NumTasks*8-1:0] job_q;
  logic [7:0]            done_job_q;
  logic                  moves, mode_q;
  // So is a job that its budget withholds or lets go on, and another mode.
  assign moves = \u_engine.job != job_q || (ready_q & (~\u_engine.ready | (\u_engine.empty ^ empty_q))) != '0 ||
                 \u_engine.mode != mode_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tick_q   <= 1'b0;
      every_q  <= 24'(MinTick);
      until_q  <= '0;
      param0_q <= '0;
      param1_q <= '0;
      param2_q <= '0;
      param3_q <= '0;
      empty_q  <= '0;
      mode_q   <= 1'b0;
      ticks_q  <= '0;
      misses_q <= '0;
      sum_1    <= '0;
      sum_2    <= '0;
      refused_q <= 1'b0;
      err_q    <= 1'b0;
      rdata_q  <= '0;
      set_q    <= '0;
      del_q    <= '0;
      ask_q    <= '0;
      done_q   <= '0;
      ready_q  <= '0;
      chosen_q <= '0;
      job_q    <= '0;
      must_q   <= '0;
      may_q    <= '0;
      holds_q  <= '0;
      held_q   <= '0;
      wrong_q  <= '0;
      hold_q   <= '0;
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
      // MLLF puts off no decision after a job has come or ended in the tick.
      must_q <= {must_q[Clocks-2:0], tick_q && (\u_engine.policy_q != 2'd3 || moves)};
      may_q  <= {may_q[Clocks-2:0], tick_q};
      we_1   <= we_i;
      addr_1 <= addr_i;
      data_1 <= wdata_i;
      if (sched_1) begin
        holds_q[cpu_1] <= busy[cpu_1] && other == '0;
        held_q[cpu_1]  <= task_no[cpu_1];
      end
      for (int c = 0; c < NumCpus; c++) wrong_q[c] <= !hold_q[c] && (busy[c] != holds_q[c] || (busy[c] && task_no[c] != held_q[c]));
      if (Hold && req_1 && we_1 && addr_1 == HoldAt) hold_q[cpu_1] <= data_1[0];
      if (req_1 && we_1 && addr_1 == Ctrl && built) ctrl_q <= {data_1[9:8], 2'b00, data_1[5:4], 3'b000, data_1[0]};
      until_q <= !ctrl_q[0] ? '0 : ticks ? every_q - 24'd1 : until_q - 24'd1;
      if (ticks) ticks_q <= ticks_q + 32'd1;
      sum_1    <= sum;
      sum_2    <= sum_1;
      misses_q <= misses_q + sum_2;
      if (req_1 && we_1 && addr_1 == Tick && apart) every_q <= data_1[23:0];
      if (req_1 && we_1 && addr_1 == Param0) param0_q <= data_1;
      if (req_1 && we_1 && addr_1 == Param1) param1_q <= data_1;
      if (Criticality && req_1 && we_1 && addr_1 == Param2) param2_q <= data_1;
      if (Budget && req_1 && we_1 && addr_1 == Param3) param3_q <= data_1;
      if (req_1 && we_1 && (addr_1 == Ctrl || addr_1 == Tick || addr_1 == Cmd))
        refused_q <= addr_1 == Ctrl ? !built : addr_1 == Tick ? !apart : !takes;
      for (int t = 0; t < NumTasks; t++) begin
        set_q[t]  <= req_1 && we_1 && addr_1 == Cmd && takes && about == t && data_1[3:0] == 4'd1;
        del_q[t]  <= req_1 && we_1 && addr_1 == Cmd && takes && about == t && data_1[3:0] == 4'd2;
        ask_q[t]  <= req_1 && we_1 && addr_1 == Cmd && takes && about == t && data_1[3:0] == 4'd3;
        done_q[t] <= req_1 && we_1 && addr_1 == Done && data_1[7:0] == t;
      end
      done_job_q <= data_1[15:8];
      ready_q    <= \u_engine.ready ;
      empty_q    <= \u_engine.empty ;
      mode_q     <= \u_engine.mode ;
      chosen_q   <= \u_engine.chosen ;
      job_q      <= \u_engine.job ;
      rdata_q  <= rdata;
      known_q  <= req_1;
      want_q   <= want;
      err_q    <= errs;
      missed_q <= \u_engine.missed_q | \u_engine.miss ;
      clears_q <= req_1 && we_1 && addr_1 == Missed0 ? NumTasks'(data_1) & ~\u_engine.miss : '0;
    end
  end

  // Proved without Contexts, for all time; with it, only what programs over time add is looked for.
  always_comb if (!Contexts && rst_ni && live_q) begin
    // R1: a decision as long after its tick as CLOCKS says, whatever tasks and programs do; MLLF only leaves some out.
    if (must_q[Clocks-2]) assert (decided);
    if (!may_q[Clocks-2]) assert (!decided);
    // R4: an interrupt exactly while a CPU does not hold the context of the task that it is to run, and is in no section.
    assert (irq == wrong_q);
    // R5 is off if CTRL says so.
    assert (\u_engine.u_match.stay_i == !ctrl_q[9]);
    // A CPU in a section keeps what it holds.
    assert (\u_engine.u_match.hold_i == (hold_q & holds_q));
    // The settings are what was written and not refused, and the counters count.
    assert (\u_engine.period_q == every_q && \u_engine.clock_q == until_q && \u_engine.ticks_q == ticks_q);
    assert (\u_engine.param0_q == param0_q && \u_engine.param1_q == param1_q && \u_engine.refused_q == refused_q);
    assert (\u_engine.param2_q == param2_q && \u_engine.param3_q == param3_q);
    // Without a budget and without levels there is none.
    if (!Budget) assert (\u_engine.empty == '0);
    if (!Criticality) assert (\u_engine.aside == '0 && \u_engine.left_now == \u_engine.left && \u_engine.deadline_now == \u_engine.deadline );
    assert (32'(\u_engine.count_q ) == sum_2 && \u_engine.misses_q == misses_q);
    // What was read, of each register; what is not there is an error. Of 32 tasks at most the second words clear nothing.
    if (known_q) assert (rvalid && rdata == want_q && err == err_q);
    // Without an answer, the data do not move.
    if (!known_q) assert (!err && rdata == rdata_q);
    assert (\u_engine.missed_q == (missed_q & ~clears_q));
    // Ticks are as far apart as TICK says, the first when CTRL says run.
    assert (\u_engine.tick == ticks);
    for (int t = 0; t < NumTasks; t++) begin
      // A report is of the job that there is; it counts in a decision that is made, as a set and a delete do.
      assert (\u_engine.report [t] == (done_q[t] && done_job_q == \u_engine.job [t*8+:8]));
      assert (\u_engine.drop [t] == (\u_engine.report [t] || set_q[t] || del_q[t]));
    end
  end

  // ------------------------------------------------------------------ which tasks
  // The order of a decision, by the rules: the tasks that are able to run at its start, by what is left to them in the mode, and how many of them go before each. The serial
  // selector reads them one after the other, and is not compared; nor are more than four tasks, for the time that it takes.
  localparam int unsigned Wait = Clocks - 3;
  logic [NumTasks-1:0][NumTasks-1:0]          before;
  logic [NumTasks-1:0][Width+1:0]             time_left, laxity;
  logic [NumTasks-1:0]                        first, keep, able;
  assign able = \u_engine.ready & ~\u_engine.empty ;
  logic [NumCpus-1:0]                         some;
  logic [NumCpus-1:0][IdWidth-1:0]            best;
  logic [Wait-1:0][NumCpus-1:0]               some_q;
  logic [Wait-1:0][NumCpus-1:0][IdWidth-1:0]  best_q;
  always_comb begin
    some = '0;
    best = '0;
    for (int t = 0; t < NumTasks; t++) begin
      time_left[t] = (Width + 2)'($signed(\u_engine.deadline_now [t*(Width+1)+:Width+1]));
      laxity[t]    = time_left[t] - (Width + 2)'(\u_engine.left_now [t*Width+:Width]);
      keep[t]      = 1'b0;
      for (int c = 0; c < NumCpus; c++) if (hold_q[c] && holds_q[c] && held_q[c] == IdWidth'(t)) keep[t] = 1'b1;
      first[t]     = ctrl_q[5:4] == 2'd2 && $signed(laxity[t]) <= 0;
    end
    for (int a = 0; a < NumTasks; a++)
      for (int b = 0; b < NumTasks; b++) begin
        // a goes before b: first those in sections, last those that are set aside. Equals: the one that the decision before chose, then the lower number.
        logic equal, less;
        equal = ctrl_q[5:4] == 2'd1 ? time_left[a] == time_left[b] :
                ctrl_q[5:4] == 2'd2 ? (first[a] && first[b]) || (!first[a] && !first[b] && time_left[a] == time_left[b]) :
                laxity[a] == laxity[b];
        less  = ctrl_q[5:4] == 2'd1 ? $signed(time_left[a]) < $signed(time_left[b]) :
                ctrl_q[5:4] == 2'd2 ? !first[b] && (first[a] || $signed(time_left[a]) < $signed(time_left[b])) :
                $signed(laxity[a]) < $signed(laxity[b]);
        before[b][a] = a != b && able[a] && keep[a] >= keep[b] &&
                       (keep[a] != keep[b] || (\u_engine.aside [a] != \u_engine.aside [b] ? \u_engine.aside [b] :
                        less || (equal && (!ctrl_q[8] && \u_engine.chosen [a] != \u_engine.chosen [b] ? \u_engine.chosen [a] : a < b))));
      end
    for (int t = 0; t < NumTasks; t++) begin
      logic [IdWidth:0] place;
      place = '0;
      for (int a = 0; a < NumTasks; a++) place = place + (IdWidth+1)'(before[t][a]);
      for (int o = 0; o < NumCpus; o++)
        if (able[t] && place == (IdWidth+1)'(o)) begin
          some[o] = 1'b1;
          best[o] = IdWidth'(t);
        end
    end
  end
  always_ff @(posedge clk_i) begin
    some_q[0] <= some;
    best_q[0] <= best;
    for (int w = 1; w < Wait; w++) begin
      some_q[w] <= some_q[w-1];
      best_q[w] <= best_q[w-1];
    end
  end
  always_comb if (!Contexts && Select != 0 && NumTasks <= 4 && rst_ni && live_q && \u_engine.u_match.valid_i && may_q[Wait-1])
    for (int o = 0; o < NumCpus; o++) begin
      assert (\u_engine.u_match.some_i [o] == some_q[Wait-1][o]);
      if (some_q[Wait-1][o]) assert (\u_engine.u_match.best_i [o*IdWidth+:IdWidth] == best_q[Wait-1][o]);
    end

  // ------------------------------------------------------------------ what becomes of commands
  logic [NumTasks-1:0]           valid_q, sporadic_q, asked_q, taken_q;
  logic [NumTasks-1:0][15:0]     period_q, wcet_q, relative_q, next_q;
  logic                          set_sporadic_q, ticked_q;
  logic [NumTasks*Width-1:0]     left_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q    <= '0;
      sporadic_q <= '0;
      asked_q    <= '0;
      taken_q    <= '0;
      period_q   <= '0;
      wcet_q     <= '0;
      relative_q <= '0;
      next_q     <= '0;
      ticked_q   <= 1'b0;
      left_q     <= '0;
      set_sporadic_q <= 1'b0;
    end else begin
      set_sporadic_q <= data_1[4];
      ticked_q       <= ticks;
      left_q         <= \u_engine.left ;
      asked_q        <= ask_q & valid_q & sporadic_q;
      for (int t = 0; t < NumTasks; t++) begin
        taken_q[t] <= 1'b0;
        if (set_q[t]) begin
          valid_q[t]    <= 1'b1;
          sporadic_q[t] <= set_sporadic_q;
          period_q[t]   <= period;
          wcet_q[t]     <= wcet;
          relative_q[t] <= relative;
          next_q[t]     <= phase + 16'd1;
        end else if (del_q[t]) valid_q[t] <= 1'b0;
        else if (ticks) begin
          // A periodic task: one job a period, the first of them after the phase.
          taken_q[t] <= valid_q[t] && !sporadic_q[t] && next_q[t] == 16'd1;
          next_q[t]  <= next_q[t] == 16'd1 ? period_q[t] : next_q[t] - 16'd1;
        end
      end
    end
  end
  logic followed;
  always_comb begin
    followed = \u_engine.valid == valid_q;
    for (int t = 0; t < NumTasks; t++) begin
      if (asked_q[t] && !\u_engine.waits [t]) followed = 1'b0;
      if (\u_engine.waits [t] && !(valid_q[t] && sporadic_q[t])) followed = 1'b0;
      if (!sporadic_q[t] && (\u_engine.job [t*8+:8] != job_q[t*8+:8]) != taken_q[t]) followed = 1'b0;
      if (\u_engine.job [t*8+:8] != job_q[t*8+:8]) begin
        if (16'(\u_engine.left [t*Width+:Width]) != wcet_q[t] || 16'(\u_engine.deadline [t*(Width+1)+:Width+1]) != relative_q[t])
          followed = 1'b0;
      end else if (ready_q[t] && \u_engine.ready [t] &&
                   \u_engine.left [t*Width+:Width] != left_q[t*Width+:Width] - Width'(ticked_q && chosen_q[t])) followed = 1'b0;
    end
  end
  // Its name is how mutate.sh leaves it out where the tasks may be in any state.
  always_comb if (Commands && rst_ni && live_q) commands: assert (followed);

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire [NumCpus-1:0]              \u_engine.u_context.holds_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0]      \u_engine.u_context.held_q ;
  (* hierconn *) wire [NumCpus-1:0]              \u_engine.hold_q ;
  (* hierconn *) wire                            \u_engine.run_q ;
  (* hierconn *) wire                            \u_engine.loose_q ;
  (* hierconn *) wire                            \u_engine.roam_q ;
  (* hierconn *) wire                            \u_engine.req_q ;
  (* hierconn *) wire                            \u_engine.we_q ;
  (* hierconn *) wire [8:0]                      \u_engine.addr_q ;
  (* hierconn *) wire [31:0]                     \u_engine.data_q ;
  (* hierconn *) wire [CpuWidth-1:0]             \u_engine.cpu_q ;
  always_comb if (rst_ni && live_q) begin
    assert (\u_engine.u_context.holds_q == holds_q && \u_engine.hold_q == hold_q);
    // What weir_laxity_context promises: no context twice.
    for (int a = 0; a < NumCpus; a++)
      for (int b = 0; b < a; b++) assert (!(holds_q[a] && holds_q[b] && held_q[a] == held_q[b]));
    for (int c = 0; c < NumCpus; c++) if (holds_q[c]) assert (\u_engine.u_context.held_q [c*IdWidth+:IdWidth] == held_q[c]);
    assert (ctrl_q == {\u_engine.roam_q , \u_engine.loose_q , 2'b00, \u_engine.policy_q , 3'b000, \u_engine.run_q });
    assert (\u_engine.req_q == req_1);
    if (req_1) assert (\u_engine.we_q == we_1 && \u_engine.addr_q == addr_1 && \u_engine.data_q == data_1 && \u_engine.cpu_q == cpu_1);
    assert (sched_1 == (req_1 && !we_1 && addr_1 == Sched));
  end
`endif
endmodule
