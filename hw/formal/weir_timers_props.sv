// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_timers promises, for any calls: a thread is woken at its expiry and not before, in time if nothing else is under way, once,
/// and not after it was cancelled.
module weir_timers_props #(
  parameter int unsigned NumThreads = 2,
  /// Clocks within which a wake-up leaves if there are no calls: others that are due go first.
  parameter int unsigned Latest = 5,
  localparam int unsigned IdWidth = $clog2(NumThreads),
  localparam int unsigned ClockWidth = 34
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        req_i,
  input logic        we_i,
  input logic [21:2] addr_i,
  input logic [31:0] wdata_i
);
  localparam logic [3:0] AddTimer = 4'd0, Status = 4'd1, Cancel = 4'd2;

  logic               rvalid, op_req, op_block, op_q;
  logic [31:0]        rdata;
  logic [IdWidth-1:0] op_id;
  weir_timers #(.NumTimers(2), .NumThreads(NumThreads), .ClockWidth(ClockWidth)) u_timers (
    .clk_i, .rst_ni, .req_i, .we_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .op_req_o(op_req), .op_block_o(op_block), .op_id_o(op_id), .op_done_i(op_req)
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  logic                                  open_q, live_q, we_q;
  logic [21:2]                           addr_q;
  logic [31:0]                           wdata_q;
  logic [3:0]                            cmd, quiet_q;
  logic [IdWidth-1:0]                    id;
  logic [NumThreads-1:0]                 armed_q;
  // Between the request and the answer the unit takes the time: no earlier and no later than these.
  logic [NumThreads-1:0][ClockWidth-1:0] from_q, to_q;
  logic [ClockWidth-1:0]                 now_q, asked_q;
  logic                                  due;
  assign cmd = addr_q[5:2];
  assign id  = addr_q[6+:IdWidth];
  always_comb begin
    due = 1'b0;
    for (int t = 0; t < NumThreads; t++) if (armed_q[t] && to_q[t] <= now_q) due = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q  <= 1'b0;
      live_q  <= 1'b0;
      we_q    <= 1'b0;
      addr_q  <= '0;
      wdata_q <= '0;
      armed_q <= '0;
      from_q  <= '0;
      to_q    <= '0;
      asked_q <= '0;
      now_q   <= '0;
      quiet_q <= '0;
    end else begin
      live_q <= 1'b1;
      now_q  <= now_q + ClockWidth'(1);
      if (req_i) begin
        open_q  <= 1'b1;
        we_q    <= we_i;
        addr_q  <= addr_i;
        wdata_q <= wdata_i;
      end
      if (rvalid) open_q <= 1'b0;
      if (req_i) asked_q <= now_q;
      if (op_req && !op_block) armed_q[op_id] <= 1'b0;
      if (rvalid && cmd == AddTimer) begin
        armed_q[id] <= 1'b1;
        from_q[id]  <= asked_q + ClockWidth'(wdata_q);
        to_q[id]    <= now_q + ClockWidth'(wdata_q);
      end
      if (rvalid && cmd == Cancel) armed_q[id] <= 1'b0;
      quiet_q <= (req_i || open_q || !due) ? '0 : quiet_q + 4'd1;
    end
  end
  always_comb begin
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    // The clock has not come round.
    assume (!now_q[ClockWidth-1]);
    if (open_q) assume (addr_i == addr_q && wdata_i == wdata_q && we_i == we_q);
    if (req_i) assume (addr_i[5:2] <= Cancel && addr_i[13:6+IdWidth] == '0 && we_i == (addr_i[5:2] == AddTimer));
  end

  always_comb if (rst_ni && live_q) begin
    if (rvalid) assert (open_q);
    // Not before its time, not without a timer.
    if (op_req && !op_block) assert (armed_q[op_id] && from_q[op_id] <= now_q);
    if (op_req && op_block) assert (open_q && cmd == AddTimer && op_id == id);
    assert (quiet_q <= Latest);
    if (rvalid && cmd == Cancel) assert (rdata[0] == armed_q[id]);
    if (rvalid && cmd == Status && armed_q[id] && from_q[id] > now_q)
      assert (rdata >= 32'(from_q[id] - now_q) && rdata <= 32'(to_q[id] - now_q) + 32'd2);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SLook = 3'd1, SDo = 3'd2, SPush = 3'd3, SBlock = 3'd4, SWake = 3'd5;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]            \u_timers.state_q ;
  (* hierconn *) wire                  \u_timers.held_q ;
  (* hierconn *) wire                  \u_timers.we_q ;
  (* hierconn *) wire [3:0]            \u_timers.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_timers.id_q ;
  (* hierconn *) wire                  \u_timers.alarm_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_timers.wake_q ;
  (* hierconn *) wire [ClockWidth-1:0] \u_timers.now_q ;
  (* hierconn *) wire [ClockWidth-1:0] \u_timers.at_q ;
  (* hierconn *) wire [ClockWidth-1:0] \u_timers.expiry ;
  (* hierconn *) wire [NumThreads-1:0] \u_timers.armed_q ;
  (* hierconn *) wire [NumThreads*ClockWidth-1:0] \u_timers.expiries ;
  (* hierconn *) wire [1:0]              \u_timers.u_queue.valid_q ;
  (* hierconn *) wire [2*ClockWidth-1:0] \u_timers.u_queue.key_q ;
  (* hierconn *) wire [2*IdWidth-1:0]    \u_timers.u_queue.id_q ;
  logic [2:0]                            state;
  logic                                  held, busy;
  logic [NumThreads-1:0]                 armed, now_armed, there;
  logic [NumThreads-1:0][ClockWidth-1:0] expiries, from, to;
  logic [1:0]                            e_valid;
  logic [1:0][ClockWidth-1:0]            e_key;
  logic [1:0][IdWidth-1:0]               e_id;
  logic [3:0]                            running;
  assign state    = \u_timers.state_q ;
  assign held     = \u_timers.held_q ;
  assign armed    = \u_timers.armed_q ;
  assign expiries = \u_timers.expiries ;
  assign e_valid  = \u_timers.u_queue.valid_q ;
  assign e_key    = \u_timers.u_queue.key_q ;
  assign e_id     = \u_timers.u_queue.id_q ;
  assign busy     = state == SLook || state == SDo || state == SPush || state == SBlock;

  // What the model will say a clock later: a timer runs before its ADD is answered.
  always_comb begin
    now_armed = armed_q;
    from      = from_q;
    to        = to_q;
    if ((rvalid && cmd == AddTimer) || state == SBlock) begin
      now_armed[id] = 1'b1;
      from[id]      = asked_q + ClockWidth'(wdata_q);
      to[id]        = now_q + ClockWidth'(wdata_q);
    end
    if (rvalid && cmd == Cancel) now_armed[id] = 1'b0;
    there = '0;
    for (int e = 0; e < 2; e++) if (e_valid[e]) there[e_id[e]] = 1'b1;
    running = '0;
    for (int t = 0; t < NumThreads; t++) running = running + 4'(armed_q[t]);
  end

  always_comb if (rst_ni && live_q) begin
    assert (state <= SWake && \u_timers.now_q == now_q);
    if (open_q) assert (32'(rvalid) + 32'(held) + 32'(busy) == 32'd1);
    else assert (!rvalid && !held && !busy);
    if (open_q) assert (cmd <= Cancel && we_q == (cmd == AddTimer) && addr_q[13:6+IdWidth] == '0 && asked_q <= now_q);
    if (held) assert (state == SIdle || state == SWake);
    if (rvalid) assert (state == SIdle);
    if (busy) assert (\u_timers.cmd_q == cmd && \u_timers.id_q == id && \u_timers.we_q == we_q && \u_timers.alarm_q == addr_q[14]);
    if (busy) assert (\u_timers.at_q >= asked_q + ClockWidth'(wdata_q) && \u_timers.at_q <= now_q + ClockWidth'(wdata_q));
    if (state == SPush || state == SBlock) assert (cmd == AddTimer);
    if (state == SBlock) assert (!addr_q[14]);
    if (state == SDo) assert (\u_timers.expiry == expiries[id]);
    // The queue: what runs, in order.
    assert (there == armed);
    if (e_valid[1]) assert (e_valid[0] && e_key[0] <= e_key[1] && e_id[0] != e_id[1]);
    for (int e = 0; e < 2; e++) if (e_valid[e]) assert (e_key[e] == expiries[e_id[e]]);
    for (int t = 0; t < NumThreads; t++) begin
      assert (armed[t] == (now_armed[t] && !(state == SWake && \u_timers.wake_q == IdWidth'(t)) &&
                           !(state == SPush && id == IdWidth'(t))));
      if (armed[t]) assert (from[t] <= expiries[t] && expiries[t] <= to[t] && to[t] <= now_q + (ClockWidth'(1) << 32));
      if (armed_q[t]) assert (from_q[t] <= to_q[t] && to_q[t] <= now_q + (ClockWidth'(1) << 32));
    end
    if (state == SWake) assert (armed_q[\u_timers.wake_q ] && from_q[\u_timers.wake_q ] <= now_q);
    // Each of the running timers takes two clocks.
    if (open_q) assert (quiet_q <= 4'd5);
    if (state == SIdle) assert (quiet_q <= 4'd4 - {running[2:0], 1'b0});
    if (state == SWake) assert (quiet_q <= 4'd5 - {running[2:0], 1'b0});
  end
`endif
endmodule
