// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_conditions promises, for any calls of threads that wait once at a time: a signal wakes the one that has waited longest, a
/// broadcast wakes all in order, no other thread is woken, and SLEEP blocks exactly those that have not been woken.
module weir_conditions_props #(
  parameter int unsigned NumConditions = 2,
  parameter int unsigned NumThreads = 4,
  localparam int unsigned CondWidth = $clog2(NumConditions),
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        req_i,
  input logic [21:2] addr_i,
  input logic        op_done_i
);
  localparam logic [3:0] Wait = 4'd0, Signal = 4'd1, Broadcast = 4'd2, Sleep = 4'd3;

  logic               rvalid, op_req, op_block;
  logic [31:0]        rdata;
  logic [IdWidth-1:0] op_id;
  weir_conditions #(.NumConditions(NumConditions), .NumThreads(NumThreads)) u_conditions (
    .clk_i, .rst_ni, .req_i, .addr_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .op_req_o(op_req), .op_block_o(op_block), .op_id_o(op_id), .op_done_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // The call under way; who waits for what, in order of arrival; what a signal still has to do.
  logic                                     open_q, live_q, owed_q, owed, blocked_q;
  logic [21:2]                              addr_q;
  logic [NumConditions-1:0][NumThreads-1:0] waits_q, waits;
  logic [NumThreads-1:0][NumThreads-1:0]    older_q, older;
  logic [IdWidth-1:0]                       woken_q, woken, id, oldest;
  logic [CondWidth-1:0]                     c;
  logic [3:0]                               cmd;
  logic [8:0]                               count_q;
  logic [6:0]                               age_q;
  logic [NumThreads-1:0]                    anywhere_q, anywhere;

  assign cmd = addr_q[5:2];
  assign id  = addr_q[6+:IdWidth];
  assign c   = addr_q[14+:CondWidth];
  always_comb begin
    anywhere_q = '0;
    anywhere   = '0;
    for (int x = 0; x < NumConditions; x++) anywhere_q = anywhere_q | waits_q[x];
    for (int x = 0; x < NumConditions; x++) anywhere = anywhere | waits[x];
    oldest = '0;
    for (int t = 0; t < NumThreads; t++) if (waits_q[c][t] && (older_q[t] & waits_q[c]) == '0) oldest = IdWidth'(t);
  end
  // With what this clock's answer says.
  always_comb begin
    waits = waits_q;
    older = older_q;
    owed  = owed_q;
    woken = woken_q;
    if (rvalid && cmd == Wait) begin
      waits[c][id] = 1'b1;
      for (int t = 0; t < NumThreads; t++) older[t][id] = 1'b0;
      older[id] = waits_q[c];
    end
    if (rvalid && cmd == Signal && waits_q[c] != '0) begin
      waits[c][oldest] = 1'b0;
      owed             = 1'b1;
      woken            = oldest;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q    <= 1'b0;
      live_q    <= 1'b0;
      owed_q    <= 1'b0;
      blocked_q <= 1'b0;
      addr_q    <= '0;
      waits_q   <= '0;
      older_q   <= '0;
      woken_q   <= '0;
      count_q   <= '0;
      age_q     <= '0;
    end else begin
      live_q  <= 1'b1;
      waits_q <= waits;
      older_q <= older;
      owed_q  <= owed;
      woken_q <= woken;
      if (open_q && !op_req) age_q <= age_q + 7'd1;
      if (req_i) begin
        open_q    <= 1'b1;
        addr_q    <= addr_i;
        blocked_q <= 1'b0;
        count_q   <= '0;
        age_q     <= '0;
      end
      if (rvalid) open_q <= 1'b0;
      if (op_req && op_done_i) begin
        if (op_block) blocked_q <= 1'b1;
        else if (owed_q) owed_q <= 1'b0;
        else begin
          // One of a broadcast.
          waits_q[c][oldest] <= 1'b0;
          count_q            <= count_q + 9'd1;
        end
      end
    end
  end

  always_comb begin
    // The caller holds its address, and asks again after the answer only; a thread does not wait twice.
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q);
    if (req_i) assume (addr_i[5:2] <= Sleep && addr_i[13:6+IdWidth] == '0 && addr_i[21:14+CondWidth] == '0);
    if (req_i && addr_i[5:2] == Wait) assume (!anywhere_q[addr_i[6+:IdWidth]]);
    if (!op_req) assume (!op_done_i);
  end

  always_comb if (rst_ni && live_q) begin
    if (rvalid) begin
      assert (open_q && !owed_q);
      if (cmd == Wait) assert (rdata == '0);
      if (cmd == Signal) assert (rdata == (waits_q[c] != '0 ? 32'd1 : 32'd0));
      // All that waited were woken.
      if (cmd == Broadcast) assert (waits_q[c] == '0 && rdata == 32'(count_q));
      if (cmd == Sleep) assert (rdata == 32'(anywhere_q[id]) && blocked_q == anywhere_q[id]);
    end
    // Who has been woken is not blocked, and who is blocked has not been woken.
    if (op_req && op_block) assert (open_q && cmd == Sleep && op_id == id && anywhere_q[id]);
    // Who is woken was owed it by a signal, or is the next of a broadcast: so none twice.
    if (op_req && !op_block) begin
      if (owed_q) assert (op_id == woken_q);
      else assert (open_q && cmd == Broadcast && waits_q[c] != '0 && op_id == oldest);
    end
    // A call waits for nothing but the manager: at most four clocks, and three for each thread that it wakes.
    if (open_q) assert (age_q <= 7'd4 + 7'd3 * 7'(count_q));
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SLook = 3'd1, SAct = 3'd2, SBlock = 3'd3, SPop = 3'd4, SWake = 3'd5;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]            \u_conditions.state_q ;
  (* hierconn *) wire                  \u_conditions.held_q ;
  (* hierconn *) wire [3:0]            \u_conditions.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_conditions.id_q ;
  (* hierconn *) wire [CondWidth-1:0]  \u_conditions.cond_q ;
  (* hierconn *) wire [8:0]            \u_conditions.woken_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_conditions.waits_q ;
  (* hierconn *) wire [NumConditions*NumThreads-1:0] \u_conditions.u_waits.waiting ;
  (* hierconn *) wire [NumThreads*NumThreads-1:0]    \u_conditions.u_waits.older_q ;
  logic [2:0]                              state;
  logic                                    held;
  logic [3:0]                              did;
  logic [NumConditions-1:0][NumThreads-1:0] lists;
  logic [NumThreads-1:0][NumThreads-1:0]   list_older;
  assign state      = \u_conditions.state_q ;
  assign held       = \u_conditions.held_q ;
  assign did        = \u_conditions.cmd_q ;
  assign lists      = \u_conditions.u_waits.waiting ;
  assign list_older = \u_conditions.u_waits.older_q ;

  logic       busy, popped;
  logic [7:0] left;
  always_comb begin
    left = '0;
    for (int t = 0; t < NumThreads; t++) if (waits_q[c][t]) left = left + 8'd1;
  end
  assign busy   = state == SLook || state == SAct || state == SBlock || ((state == SPop || state == SWake) && did == Broadcast);
  assign popped = (state == SPop || state == SWake) && did == Broadcast;
  always_comb if (rst_ni && live_q) begin
    assert (state <= SWake);
    if (open_q) assert (32'(rvalid) + 32'(held) + 32'(busy) == 32'd1);
    else assert (!rvalid && !held && !busy);
    if (busy) assert (did == cmd && \u_conditions.id_q == id && \u_conditions.cond_q == c);
    if (busy && cmd == Broadcast) assert (\u_conditions.woken_q == count_q + 9'(popped));
    if (held) assert ((state == SIdle || state == SWake) && age_q == '0);
    if (state == SLook) assert (age_q <= 7'd1 + 7'd3 * 7'(count_q));
    if (state == SAct) assert (age_q <= 7'd2 + 7'd3 * 7'(count_q));
    if (popped && state == SPop) assert (age_q <= 7'd3 + 7'd3 * 7'(count_q));
    if (open_q && cmd != Broadcast || held) assert (count_q == '0);
    if (open_q) assert (cmd <= Sleep && addr_q[13:6+IdWidth] == '0 && addr_q[21:14+CondWidth] == '0);
    if (open_q && cmd == Wait) assert (!anywhere_q[id]);
    if (open_q) assert (32'(count_q) + 32'(left) <= NumThreads);
    if (rvalid) assert (state == SIdle || state == SPop);
    if (state == SBlock) assert (did == Sleep);
    if (open_q && !rvalid) assert (!blocked_q);
    if (state == SPop || state == SWake) assert (did == Signal || did == Broadcast);
    if (state == SPop && did == Signal) assert (rvalid);
    assert (owed == ((state == SPop || state == SWake) && did == Signal));
    if (owed) assert (op_id == woken);
    for (int t = 0; t < NumThreads; t++) begin
      assert (\u_conditions.waits_q [t] == (anywhere[t] && !(popped && op_id == IdWidth'(t))));
      for (int x = 0; x < NumConditions; x++) begin
        assert (lists[x][t] == (waits[x][t] && !(popped && op_id == IdWidth'(t))));
        if (lists[x][t]) assert ((list_older[t] & lists[x]) == (older[t] & lists[x]));
        if (waits[x][t]) for (int y = 0; y < x; y++) assert (!waits[y][t]);
      end
    end
    // The one that a broadcast wakes came before all that still wait.
    if (popped) assert (op_id == oldest && waits_q[c][op_id] && (older_q[op_id] & waits_q[c]) == '0);
  end
`endif
endmodule
