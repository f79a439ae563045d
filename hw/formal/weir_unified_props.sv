// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_unified promises, for any calls, edges, levels and timers: what each call answers; NEXT gives something that is there,
/// and nothing that has been there for a while precedes it; the CPU is interrupted for something strictly more urgent than what runs
/// and, once all is quiet, always for that; answers are in time.
module weir_unified_props #(
  /// Bits of the clock.
  parameter int unsigned ClockWidth = 34
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [1:0]  lines_i,
  input logic        req_i,
  input logic        we_i,
  input logic [27:2] addr_i,
  input logic [31:0] wdata_i
);
  localparam logic [3:0] Current = 4'd0, Next = 4'd1, SetThread = 4'd2, Associate = 4'd3, Clear = 4'd4, Read = 4'd5,
                         AddTimer = 4'd6, TimerStatus = 4'd7, CancelTimer = 4'd8, Clock = 4'd9;
  // The clocks that a timer may be late, those to an interrupt, and those to an answer of NEXT: 5, and 2 for each line and timer.
  localparam int unsigned Late = 7, Prompt = 8, NextLatest = 13, Latest = 3;

  logic        rvalid, irq;
  logic [31:0] rdata;
  // Line 0 is an edge, line 1 a level.
  weir_unified #(.NumLines(2), .Edges(2'b01), .NumTimers(2), .NumThreads(2), .NumLevels(4), .ClockWidth(ClockWidth)) u_unified (
    .clk_i, .rst_ni, .lines_i, .req_i, .we_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .rdata_o(rdata), .irq_o(irq)
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // ------------------------------------------------------------------ the call
  logic        open_q, live_q, we_q, id, number, known, of_timer;
  logic [27:2] addr_q;
  logic [31:0] wdata_q;
  logic [3:0]  cmd, age_q, quiet_q;
  logic [1:0]  level, item;
  assign cmd      = addr_q[5:2];
  assign id       = addr_q[6];
  assign level    = addr_q[15:14];
  assign number   = addr_q[22];
  assign of_timer = cmd == AddTimer || cmd == TimerStatus || cmd == CancelTimer;
  assign known    = addr_q[27:22] < 6'd2;
  assign item     = {of_timer, number};

  always_comb begin
    if (!live_q || open_q) assume (!req_i);
    if (open_q) assume (addr_i == addr_q && we_i == we_q && wdata_i == wdata_q);
    if (req_i) assume (addr_i[13:7] == '0 && addr_i[21:16] == '0);
    // The clock has not come round.
    assume (!now_q[ClockWidth-1]);
  end

  // ------------------------------------------------------------------ what is there, as seen from outside
  // A call takes effect in the clock before its answer: the words without _q are what counts in this clock.
  logic [1:0]                 high_q, was_high_q, enabled_q, enabled, posted_q, posted, armed_q, armed, pending, was_pending_q, was_armed_q;
  logic                       latched_q, latched, edge_before;
  logic [3:0]                 known_q, knowns, ids_q, ids, some_q, some, head_q, heads;
  logic [3:0][1:0]            prio_q, prios;
  logic [1:0][ClockWidth-1:0] expiry_q, expiries;
  logic [ClockWidth-1:0]      now_q, before;
  logic                       runs_q, runs, current_q, current;
  logic [1:0]                 current_level_q, current_level;
  assign edge_before = high_q[0] && !was_high_q[0];
  assign before      = now_q - ClockWidth'(1);
  assign pending     = {high_q[1], latched};

  always_comb begin
    enabled       = enabled_q;
    posted        = posted_q;
    armed         = armed_q;
    latched       = latched_q;
    knowns        = known_q;
    ids           = ids_q;
    prios         = prio_q;
    some          = some_q;
    heads         = head_q;
    expiries      = expiry_q;
    runs          = runs_q;
    current       = current_q;
    current_level = current_level_q;
    if (rvalid) begin
      unique case (cmd)
        SetThread: begin
          some[level]  = !number;
          heads[level] = id;
        end
        Associate, Clear: if (known) begin
          enabled[number] = cmd == Associate && !rdata[0];
          posted[number]  = 1'b0;
          if (!number) latched = edge_before;
          if (cmd == Associate) begin
            prios[item]  = level;
            ids[item]    = id;
            knowns[item] = 1'b1;
          end
        end
        AddTimer: if (known && we_q) begin
          armed[number]    = 1'b1;
          expiries[number] = before + ClockWidth'(wdata_q);
          prios[item]      = level;
          ids[item]        = id;
          knowns[item]     = 1'b1;
        end
        CancelTimer: if (known) armed[number] = 1'b0;
        Next: begin
          runs = !rdata[31];
          if (!rdata[31]) begin
            current       = rdata[0];
            current_level = rdata[9:8];
            if (rdata[25:24] == 2'd2) begin
              enabled[rdata[16]] = 1'b0;
              posted[rdata[16]]  = 1'b0;
              if (!rdata[16]) latched = edge_before;
            end
            if (rdata[25:24] == 2'd1) armed[rdata[16]] = 1'b0;
          end
        end
        default: ;
      endcase
    end
  end

  // Lines and timers that NEXT can take, and those that it must not pass over: timers may be late. For how long, and two clocks ago.
  logic [3:0]      can, must, must_q, must_qq, some_p, some_pp;
  logic [3:0][3:0] must_age_q, some_age_q;
  always_comb begin
    can[1:0]  = posted;
    must[1:0] = posted;
    for (int t = 0; t < 2; t++) begin
      can[2+t]  = armed[t] && expiries[t] < now_q;
      must[2+t] = armed[t] && expiries[t] + ClockWidth'(Late) < now_q;
    end
  end
  // Greater: goes first. The level, the kind, the number.
  function automatic logic [4:0] rank(input logic [1:0] at, input logic [1:0] kind, input logic no);
    rank = {at, kind, !no};
  endfunction
  logic [3:0][4:0] ranks;
  logic [4:0]      given;
  always_comb begin
    for (int i = 0; i < 4; i++) ranks[i] = rank(prio_q[i], i < 2 ? 2'd2 : 2'd1, i[0]);
    given = rank(rdata[9:8], rdata[25:24], rdata[16]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q          <= 1'b0;
      live_q          <= 1'b0;
      we_q            <= 1'b0;
      addr_q          <= '0;
      wdata_q         <= '0;
      age_q           <= '0;
      quiet_q         <= '0;
      high_q          <= '0;
      was_high_q      <= '0;
      enabled_q       <= '0;
      posted_q        <= '0;
      armed_q         <= '0;
      was_pending_q   <= '0;
      was_armed_q     <= '0;
      latched_q       <= 1'b0;
      known_q         <= '0;
      ids_q           <= '0;
      some_q          <= '0;
      head_q          <= '0;
      prio_q          <= '0;
      expiry_q        <= '0;
      now_q           <= '0;
      runs_q          <= 1'b0;
      current_q       <= 1'b0;
      current_level_q <= '0;
      must_q          <= '0;
      must_qq         <= '0;
      some_p          <= '0;
      some_pp         <= '0;
      must_age_q      <= '0;
      some_age_q      <= '0;
    end else begin
      live_q <= 1'b1;
      if (req_i) begin
        open_q  <= 1'b1;
        we_q    <= we_i;
        addr_q  <= addr_i;
        wdata_q <= wdata_i;
      end
      if (rvalid) open_q <= 1'b0;
      age_q           <= req_i ? 4'd1 : open_q && age_q != '1 ? age_q + 4'd1 : age_q;
      quiet_q         <= req_i || open_q ? '0 : quiet_q == '1 ? '1 : quiet_q + 4'd1;
      high_q          <= lines_i;
      was_high_q      <= high_q;
      latched_q       <= latched || (lines_i[0] && !high_q[0]);
      enabled_q       <= enabled;
      posted_q        <= posted | (pending & enabled);
      armed_q         <= armed;
      was_pending_q   <= pending;
      was_armed_q     <= armed;
      known_q         <= knowns;
      ids_q           <= ids;
      prio_q          <= prios;
      some_q          <= some;
      head_q          <= heads;
      expiry_q        <= expiries;
      now_q           <= now_q + ClockWidth'(1);
      runs_q          <= runs;
      current_q       <= current;
      current_level_q <= current_level;
      must_q          <= must;
      must_qq         <= must_q;
      some_p          <= some;
      some_pp         <= some_p;
      for (int i = 0; i < 4; i++) begin
        must_age_q[i] <= !must[i] ? '0 : must_age_q[i] == '1 ? '1 : must_age_q[i] + 4'd1;
        some_age_q[i] <= !some[i] ? '0 : some_age_q[i] == '1 ? '1 : some_age_q[i] + 4'd1;
      end
    end
  end

  // ------------------------------------------------------------------ promises
  logic urgent, surely;
  // Of the timer that the call names.
  logic [ClockWidth-1:0] left;
  always_comb begin
    left   = armed_q[number] && expiry_q[number] >= before ? expiry_q[number] - before : '0;
    urgent = 1'b0;
    surely = 1'b0;
    for (int i = 0; i < 4; i++) begin
      if (can[i] && (!runs || prios[i] > current_level)) urgent = 1'b1;
      if (some[i] && (!runs || 2'(i) > current_level)) urgent = 1'b1;
      if (must[i] && must_age_q[i] >= Prompt && (!runs || prios[i] > current_level)) surely = 1'b1;
      if (some[i] && some_age_q[i] >= Prompt && (!runs || 2'(i) > current_level)) surely = 1'b1;
    end
  end

  always_comb if (rst_ni && live_q) begin
    // Without an answer the data are 0.
    assert (rvalid ? open_q : rdata == '0);
    if (open_q) assert (age_q <= (cmd == Next ? NextLatest : Latest));
    // Strictly more urgent; and always, once no call has changed anything for a while.
    if (irq) assert (urgent);
    if (surely && quiet_q >= Prompt) assert (irq);
    if (rvalid) begin
      unique case (cmd)
        Current: begin
          assert (rdata == {!runs_q, 15'd0, 6'd0, current_level_q, 7'd0, current_q});
        end
        SetThread: begin
          assert (rdata == '0);
        end
        Associate, Clear, Read: begin
          assert (rdata == (known ? {31'd0, was_pending_q[number]} : '1));
        end
        AddTimer: begin
          assert (rdata == (known && we_q ? '0 : '1));
        end
        TimerStatus: begin
          assert (rdata == (known ? left[31:0] : '1));
        end
        CancelTimer: begin
          assert (rdata == (known ? {31'd0, was_armed_q[number]} : '1));
        end
        Clock: begin
          assert (rdata == 32'(before));
        end
        Next: if (rdata[31]) begin
          assert (rdata[30:0] == '0 && must_qq == '0 && some_pp == '0);
        end else begin
          assert (rdata[30:26] == '0 && rdata[23:17] == '0 && rdata[15:10] == '0 && rdata[7:1] == '0);
          // It is there.
          unique case (rdata[25:24])
            2'd0: begin
              assert (!rdata[16] && some_q[rdata[9:8]] && head_q[rdata[9:8]] == rdata[0]);
            end
            2'd1: begin
              assert (armed_q[rdata[16]] && expiry_q[rdata[16]] < before && prio_q[{1'b1, rdata[16]}] == rdata[9:8] &&
                          ids_q[{1'b1, rdata[16]}] == rdata[0]);
            end
            2'd2: begin
              assert (posted_q[rdata[16]] && prio_q[{1'b0, rdata[16]}] == rdata[9:8] && ids_q[{1'b0, rdata[16]}] == rdata[0]);
            end
            default: ;
          endcase
          assert (rdata[25:24] != 2'd3);
          // Nothing that was there when it was chosen goes before it.
          for (int i = 0; i < 4; i++) begin
            if (must_qq[i]) assert (ranks[i] <= given);
            if (some_pp[i]) assert (rank(2'(i), 2'd0, 1'b0) <= given);
          end
        end
        default: begin
          assert (rdata == '1);
        end
      endcase
    end
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SDo = 3'd1, SRest = 3'd2, SPick = 3'd3, STell = 3'd4;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]              \u_unified.state_q ;
  (* hierconn *) wire [1:0]              \u_unified.lines_q ;
  (* hierconn *) wire [1:0]              \u_unified.latched_q ;
  (* hierconn *) wire [1:0]              \u_unified.enabled_q ;
  (* hierconn *) wire [3:0]              \u_unified.posted_q ;
  (* hierconn *) wire [3:0]              \u_unified.seen_q ;
  (* hierconn *) wire                    \u_unified.picked_q ;
  (* hierconn *) wire [1:0]              \u_unified.armed_q ;
  (* hierconn *) wire [ClockWidth-1:0]   \u_unified.now_q ;
  (* hierconn *) wire                    \u_unified.runs_q ;
  (* hierconn *) wire                    \u_unified.current_q ;
  (* hierconn *) wire [1:0]              \u_unified.current_level_q ;
  (* hierconn *) wire [4*3-1:0]          \u_unified.items ;
  (* hierconn *) wire [2*ClockWidth-1:0] \u_unified.expiries ;
  (* hierconn *) wire [3:0]              \u_unified.heads ;
  (* hierconn *) wire [1:0]              \u_unified.u_tasks.state_q ;
  (* hierconn *) wire [3:0]              \u_unified.u_tasks.field ;
  logic [2:0]                 state;
  logic [3:0]                 there, seen, seen_q;
  logic [3:0][2:0]            items;
  logic [1:0][ClockWidth-1:0] kept;
  logic [1:0]                 running;
  logic [3:0]                 newly, unsettled;
  assign state   = \u_unified.state_q ;
  assign there   = \u_unified.posted_q ;
  assign seen    = \u_unified.seen_q ;
  assign items   = \u_unified.items ;
  assign kept    = \u_unified.expiries ;
  assign running = \u_unified.armed_q ;
  // Lines and timers that were read since NEXT has begun to wait, and the clocks until the threads' top is known.
  always_ff @(posedge clk_i) if (state == SIdle) seen_q <= seen;
  always_comb begin
    newly = '0;
    for (int i = 0; i < 4; i++) if (seen[i] && !seen_q[i]) newly = newly + 4'd1;
    unsettled = \u_unified.u_tasks.state_q == 2'd0 ? 4'd0 : 4'd4 - 4'(\u_unified.u_tasks.state_q );
  end

  always_comb if (rst_ni) begin
    if (!live_q) assert (!open_q);
    assert (state <= STell && \u_unified.now_q == now_q);
    assert (open_q ? rvalid != (state != SIdle) : !rvalid && state == SIdle);
    if (open_q) assert (addr_q[13:7] == '0 && addr_q[21:16] == '0);
    if (state == SRest || state == SPick) assert (cmd == Next);
    if (state == SDo) assert (cmd != Next);
    if (state == STell) assert (cmd == TimerStatus && known && age_q == 4'd2);
    if (state == SDo) assert (age_q + unsettled <= 4'd2 && age_q != '0 && (cmd == SetThread || age_q == 4'd1));
    if (state == SRest || state == SPick) assert ((seen_q & ~seen) == '0);
    if (state == SRest) assert (age_q != '0 && age_q + unsettled <= 4'd2 + 4'(!\u_unified.picked_q ) + {newly[2:0], 1'b0});
    if (state == SPick) assert (unsettled == '0 && age_q <= 4'd4 + {newly[2:0], 1'b0});
    if (rvalid) assert (unsettled <= 4'd3 && (cmd == SetThread || unsettled <= 4'd0));
    if (!open_q) assert (unsettled <= 4'd2);
    // The module keeps what the calls have said.
    assert (\u_unified.lines_q == high_q && \u_unified.latched_q [0] == latched && \u_unified.enabled_q == enabled);
    assert (there[1:0] == posted && (running | there[3:2]) == armed);
    assert (\u_unified.runs_q == runs && \u_unified.current_q == current && \u_unified.current_level_q == current_level);
    assert (\u_unified.u_tasks.field == some);
    for (int l = 0; l < 4; l++) if (some[l]) assert (\u_unified.heads [l] == heads[l]);
    for (int i = 0; i < 4; i++) if (knowns[i]) assert (items[i] == {prios[i], ids[i]});
    for (int i = 0; i < 2; i++) if (enabled[i] || posted[i]) assert (knowns[i]);
    for (int t = 0; t < 2; t++) begin
      if (armed[t]) assert (knowns[2+t] && kept[t] == expiries[t] && expiries[t] < now_q + (ClockWidth'(1) << 32));
      if (there[2+t]) assert (expiries[t] < now_q);
      // In time.
      if (running[t]) assert (expiries[t] + ClockWidth'(Late) >= now_q);
    end
    // What was there in the clock before is compared.
    if (state == SPick) assert ((must_q & ~seen) == '0 && some_p == some);
    assert ((must_q & ~must) == '0 || rvalid);
    assert (some_p == some || rvalid);
  end
`endif
endmodule
