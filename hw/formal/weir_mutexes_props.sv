// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_mutexes promises, for any calls of threads that run: one owner at a time, hand-over in order of arrival, a thread that has to wait
/// is blocked before the answer, and each hand-over wakes its thread.
module weir_mutexes_props #(
  parameter int unsigned NumMutexes = 2,
  parameter int unsigned NumThreads = 4,
  localparam int unsigned MutexWidth = $clog2(NumMutexes),
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        req_i,
  input logic [21:2] addr_i,
  input logic        op_done_i
);
  localparam logic [3:0] Lock = 4'd0, TryLock = 4'd1, Unlock = 4'd2, Owner = 4'd3;

  logic               rvalid, op_req, op_block;
  logic [31:0]        rdata;
  logic [IdWidth-1:0] op_id;
  weir_mutexes #(.NumMutexes(NumMutexes), .NumThreads(NumThreads)) u_mutexes (
    .clk_i, .rst_ni, .req_i, .addr_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .op_req_o(op_req), .op_block_o(op_block), .op_id_o(op_id), .op_done_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // The call under way; owners and waiters, and the order in which waiters came.
  logic                                   open_q, live_q, blocked_q, owed_q;
  logic [21:2]                            addr_q;
  logic [NumMutexes-1:0]                  locked_q;
  logic [NumMutexes-1:0][IdWidth-1:0]     owner_q;
  logic [NumMutexes-1:0][NumThreads-1:0]  waits_q;
  logic [NumThreads-1:0][NumThreads-1:0]  older_q;
  logic [IdWidth-1:0]                     woken_q;
  logic [3:0]                             cmd;
  logic [IdWidth-1:0]                     id;
  logic [MutexWidth-1:0]                  m;
  logic [NumThreads-1:0]                  anywhere;
  logic                                   mine;

  assign cmd  = addr_q[5:2];
  assign id   = addr_q[6+:IdWidth];
  assign m    = addr_q[14+:MutexWidth];
  assign mine = locked_q[m] && owner_q[m] == id;
  always_comb begin
    anywhere = '0;
    for (int x = 0; x < NumMutexes; x++) anywhere = anywhere | waits_q[x];
  end

  // The oldest of the threads that wait for m.
  logic [IdWidth-1:0] oldest;
  always_comb begin
    oldest = '0;
    for (int t = 0; t < NumThreads; t++) if (waits_q[m][t] && (older_q[t] & waits_q[m]) == '0) oldest = IdWidth'(t);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q    <= 1'b0;
      live_q    <= 1'b0;
      blocked_q <= 1'b0;
      owed_q    <= 1'b0;
      addr_q    <= '0;
      locked_q  <= '0;
      owner_q   <= '0;
      waits_q   <= '0;
      older_q   <= '0;
      woken_q   <= '0;
    end else begin
      live_q <= 1'b1;
      if (req_i) begin
        open_q    <= 1'b1;
        addr_q    <= addr_i;
        blocked_q <= 1'b0;
      end
      if (op_req && op_done_i) begin
        if (op_block) blocked_q <= 1'b1;
        else owed_q <= 1'b0;
      end
      if (rvalid) begin
        open_q <= 1'b0;
        if ((cmd == Lock || cmd == TryLock) && !locked_q[m]) begin
          locked_q[m] <= 1'b1;
          owner_q[m]  <= id;
        end else if (cmd == Lock && !mine) begin
          waits_q[m][id] <= 1'b1;
          older_q[id]    <= waits_q[m];
          for (int t = 0; t < NumThreads; t++) if (t != id) older_q[t][id] <= 1'b0;
        end
        if (cmd == Unlock && mine) begin
          if (waits_q[m] == '0) locked_q[m] <= 1'b0;
          else begin
            owner_q[m]         <= oldest;
            waits_q[m][oldest] <= 1'b0;
            owed_q             <= 1'b1;
            woken_q            <= oldest;
          end
        end
      end
    end
  end

  always_comb begin
    // The caller holds its address, and asks again after the answer only; a waiting thread does not call.
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q);
    if (req_i) assume (addr_i[5:2] <= Owner && !anywhere[addr_i[6+:IdWidth]] && addr_i[13:6+IdWidth] == '0 &&
                       addr_i[21:14+MutexWidth] == '0);
    if (!op_req) assume (!op_done_i);
  end

  always_comb if (rst_ni && live_q) begin
    if (rvalid) begin
      assert (open_q);
      if (cmd == Lock) assert (rdata == (!locked_q[m] ? 32'd0 : mine ? 32'h8000_0000 : 32'd1));
      if (cmd == TryLock) assert (rdata == (locked_q[m] ? 32'd1 : 32'd0));
      if (cmd == Unlock) assert (rdata == (mine ? 32'd0 : 32'h8000_0000));
      if (cmd == Owner) begin
        assert (rdata[31] == !locked_q[m]);
        if (locked_q[m]) assert (rdata[IdWidth-1:0] == owner_q[m]);
      end
      // Blocked before it hears of it.
      if (cmd == Lock && rdata == 32'd1) assert (blocked_q);
    end
    if (op_req && op_block) assert (open_q && cmd == Lock && op_id == id && locked_q[m] && !mine);
    // The woken thread is the one that was given the mutex; no other is woken, and no call is answered before.
    if (op_req && !op_block) assert (owed_q && op_id == woken_q);
    if (owed_q && rvalid && open_q) assert (0);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SLook = 3'd1, SAct = 3'd2, SBlock = 3'd3, SPop = 3'd4, SWake = 3'd5;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]            \u_mutexes.state_q ;
  (* hierconn *) wire                  \u_mutexes.held_q ;
  (* hierconn *) wire [3:0]            \u_mutexes.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_mutexes.id_q ;
  (* hierconn *) wire [MutexWidth-1:0] \u_mutexes.mutex_q ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.locked_q ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.recursive_q ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.once ;
  (* hierconn *) wire [NumMutexes*IdWidth-1:0]    \u_mutexes.owners ;
  (* hierconn *) wire [NumMutexes*NumThreads-1:0] \u_mutexes.u_waits.waiting ;
  (* hierconn *) wire [NumThreads*NumThreads-1:0] \u_mutexes.u_waits.older_q ;
  logic [2:0]                            state;
  logic                                  held, busy;
  logic [NumMutexes-1:0][IdWidth-1:0]    owners;
  logic [NumMutexes-1:0][NumThreads-1:0] lists;
  logic [NumThreads-1:0][NumThreads-1:0] list_older;
  assign state      = \u_mutexes.state_q ;
  assign held       = \u_mutexes.held_q ;
  assign owners     = \u_mutexes.owners ;
  assign lists      = \u_mutexes.u_waits.waiting ;
  assign list_older = \u_mutexes.u_waits.older_q ;
  assign busy       = state == SLook || state == SAct || state == SBlock;

  // What the model will say a clock later, with the answer of this one.
  logic [NumMutexes-1:0]                 locked;
  logic [NumMutexes-1:0][IdWidth-1:0]    owner;
  logic [NumMutexes-1:0][NumThreads-1:0] waits;
  logic [NumThreads-1:0][NumThreads-1:0] older;
  logic [IdWidth-1:0]                    woken;
  logic                                  owed;
  always_comb begin
    locked = locked_q;
    owner  = owner_q;
    waits  = waits_q;
    older  = older_q;
    woken  = woken_q;
    owed   = owed_q;
    if (rvalid && (cmd == Lock || cmd == TryLock) && !locked_q[m]) begin
      locked[m] = 1'b1;
      owner[m]  = id;
    end else if (((rvalid && cmd == Lock) || state == SBlock) && !mine) begin
      // It waits from before it is blocked.
      waits[m][id] = 1'b1;
      older[id]    = waits_q[m];
      for (int t = 0; t < NumThreads; t++) if (t != id) older[t][id] = 1'b0;
    end
    if (rvalid && cmd == Unlock && mine) begin
      if (waits_q[m] == '0) locked[m] = 1'b0;
      else begin
        owner[m]         = oldest;
        waits[m][oldest] = 1'b0;
        owed             = 1'b1;
        woken            = oldest;
      end
    end
  end

  always_comb if (rst_ni && live_q) begin
    assert (state <= SWake && \u_mutexes.recursive_q == '0);
    if (open_q) assert (32'(rvalid) + 32'(held) + 32'(busy) == 32'd1);
    else assert (!rvalid && !held && !busy);
    if (busy) assert (\u_mutexes.cmd_q == cmd && \u_mutexes.id_q == id && \u_mutexes.mutex_q == m);
    if (held) assert (state == SIdle || state == SWake);
    if (rvalid) assert (state == SIdle || state == SPop);
    if (state == SPop) assert (rvalid && cmd == Unlock);
    if (state == SBlock) assert (cmd == Lock && locked_q[m] && !mine && op_id == id);
    if (open_q && !rvalid) assert (!blocked_q);
    if (open_q) assert (cmd <= Owner && addr_q[13:6+IdWidth] == '0 && addr_q[21:14+MutexWidth] == '0 && !anywhere[id]);
    assert (owed == (state == SPop || state == SWake));
    if (owed) assert (op_id == woken);
    for (int x = 0; x < NumMutexes; x++) begin
      assert (\u_mutexes.locked_q [x] == locked[x]);
      if (locked[x]) assert (owners[x] == owner[x] && \u_mutexes.once [x]);
      else assert (waits[x] == '0);
      assert (lists[x] == waits[x]);
      for (int t = 0; t < NumThreads; t++) begin
        if (waits[x][t]) assert ((list_older[t] & waits[x]) == (older[t] & waits[x]));
        if (waits[x][t]) for (int y = 0; y < x; y++) assert (!waits[y][t]);
      end
    end
  end
`endif
endmodule
