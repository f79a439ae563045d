// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_mutexes promises, for any calls of threads that run: one owner at a time, hand-over in order of arrival, a thread that has to wait
/// is blocked before the answer, and each hand-over wakes its thread. The owner of a mutex with a ceiling is raised to it before it hears of
/// the mutex, and has the priority of before again when its UNLOCK is answered.
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
  input logic        op_done_i,
  input logic [7:0]  op_before_i
);
  localparam logic [3:0] Lock = 4'd0, TryLock = 4'd1, Unlock = 4'd2, Owner = 4'd3, Ceiling = 4'd6;

  logic               rvalid, op_req, op_block, op_raise, op_lower, op_wake;
  logic [7:0]         op_level;
  logic [31:0]        rdata;
  logic [IdWidth-1:0] op_id;
  weir_mutexes #(.NumMutexes(NumMutexes), .NumThreads(NumThreads)) u_mutexes (
    .clk_i, .rst_ni, .req_i, .addr_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .op_req_o(op_req), .op_block_o(op_block), .op_raise_o(op_raise), .op_lower_o(op_lower), .op_level_o(op_level), .op_id_o(op_id),
    .op_done_i, .op_before_i
  );
  assign op_wake = op_req && !op_block && !op_raise && !op_lower;

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // The call under way; owners and waiters, and the order in which waiters came.
  logic                                   open_q, live_q, blocked_q, owed_q;
  // Ceilings, the priorities of before, what has been done for the call, and what is owed to the next owner.
  logic [NumMutexes-1:0][7:0]             ceiling_q, saved_q;
  logic                                   raised_q, lowered_q, owes_raise_q;
  logic [MutexWidth-1:0]                  passed_q;
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
      ceiling_q <= '0;
      raised_q  <= 1'b0;
      lowered_q <= 1'b0;
      owes_raise_q <= 1'b0;
      passed_q  <= '0;
    end else begin
      live_q <= 1'b1;
      if (req_i) begin
        open_q    <= 1'b1;
        addr_q    <= addr_i;
        blocked_q <= 1'b0;
        raised_q  <= 1'b0;
        lowered_q <= 1'b0;
      end
      if (op_req && op_done_i) begin
        if (op_block) blocked_q <= 1'b1;
        if (op_lower) lowered_q <= 1'b1;
        if (op_raise && owes_raise_q) owes_raise_q <= 1'b0;
        else if (op_raise) raised_q <= 1'b1;
        if (op_wake) owed_q <= 1'b0;
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
        if (cmd == Ceiling && !locked_q[m]) ceiling_q[m] <= 8'(id);
        if (cmd == Unlock && mine) begin
          if (waits_q[m] == '0) locked_q[m] <= 1'b0;
          else begin
            owes_raise_q       <= ceiling_q[m] != '0;
            passed_q           <= m;
            owner_q[m]         <= oldest;
            waits_q[m][oldest] <= 1'b0;
            owed_q             <= 1'b1;
            woken_q            <= oldest;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (op_req && op_raise && op_done_i) saved_q[owes_raise_q ? passed_q : m] <= op_before_i;

  always_comb begin
    // The caller holds its address, and asks again after the answer only; a waiting thread does not call.
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q);
    if (req_i) assume ((addr_i[5:2] == Ceiling || (addr_i[5:2] <= Owner && !anywhere[addr_i[6+:IdWidth]])) &&
                       addr_i[13:6+IdWidth] == '0 && addr_i[21:14+MutexWidth] == '0);
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
      if (cmd == Ceiling) assert (rdata == 32'(ceiling_q[m]));
      // The priority is that of the ceiling before the owner hears of the mutex, and no more when its UNLOCK is answered.
      if ((cmd == Lock || cmd == TryLock) && rdata == '0) assert (raised_q == (ceiling_q[m] != '0));
      if (cmd == Unlock && rdata == '0) assert (lowered_q == (ceiling_q[m] != '0));
      // Blocked before it hears of it.
      if (cmd == Lock && rdata == 32'd1) assert (blocked_q);
    end
    if (op_req && op_block) assert (open_q && cmd == Lock && op_id == id && locked_q[m] && !mine);
    if (op_req && op_raise) begin
      if (owes_raise_q) assert (op_id == woken_q && op_level == ceiling_q[passed_q]);
      else assert (open_q && (cmd == Lock || cmd == TryLock) && op_id == id && !locked_q[m] && op_level == ceiling_q[m]);
    end
    if (op_req && op_lower) assert (open_q && cmd == Unlock && mine && op_id == id && op_level == saved_q[m]);
    // The woken thread is the one that was given the mutex, with its ceiling; no other is woken, and no call is answered before.
    if (op_wake) assert (owed_q && op_id == woken_q && !owes_raise_q);
    assert (!(owed_q && rvalid && open_q));
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SLook = 3'd1, SAct = 3'd2, SBlock = 3'd3, SPop = 3'd4, SWake = 3'd5, SRaise = 3'd6, SLower = 3'd7;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]            \u_mutexes.state_q ;
  (* hierconn *) wire                  \u_mutexes.held_q ;
  (* hierconn *) wire [3:0]            \u_mutexes.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_mutexes.id_q ;
  (* hierconn *) wire [MutexWidth-1:0] \u_mutexes.mutex_q ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.locked_q ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.recursive_q ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.once ;
  (* hierconn *) wire [NumMutexes-1:0] \u_mutexes.ceils_q ;
  (* hierconn *) wire                  \u_mutexes.passes_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_mutexes.next_q ;
  (* hierconn *) wire [7:0]            \u_mutexes.level_q ;
  (* hierconn *) wire [7:0]            \u_mutexes.ceiling ;
  (* hierconn *) wire [7:0]            \u_mutexes.saved ;
  (* hierconn *) wire [NumMutexes*8-1:0] \u_mutexes.ceilings ;
  (* hierconn *) wire [NumMutexes*8-1:0] \u_mutexes.saveds ;
  (* hierconn *) wire [NumMutexes*IdWidth-1:0]    \u_mutexes.owners ;
  (* hierconn *) wire [NumMutexes*NumThreads-1:0] \u_mutexes.u_waits.waiting ;
  (* hierconn *) wire [NumThreads*NumThreads-1:0] \u_mutexes.u_waits.older_q ;
  logic [2:0]                            state;
  logic                                  held, busy, passes, takes;
  logic [NumMutexes-1:0][IdWidth-1:0]    owners;
  logic [NumMutexes-1:0][NumThreads-1:0] lists;
  logic [NumThreads-1:0][NumThreads-1:0] list_older;
  assign state      = \u_mutexes.state_q ;
  assign held       = \u_mutexes.held_q ;
  assign owners     = \u_mutexes.owners ;
  assign lists      = \u_mutexes.u_waits.waiting ;
  assign list_older = \u_mutexes.u_waits.older_q ;
  assign passes     = \u_mutexes.passes_q ;
  assign takes      = state == SRaise && !passes;
  assign busy       = state == SLook || state == SAct || state == SBlock || takes || state == SLower;

  // What the model will say a clock later, with the answer of this one.
  logic [NumMutexes-1:0]                 locked;
  logic [NumMutexes-1:0][IdWidth-1:0]    owner;
  logic [NumMutexes-1:0][NumThreads-1:0] waits;
  logic [NumThreads-1:0][NumThreads-1:0] older;
  logic [IdWidth-1:0]                    woken;
  logic                                  owed, owes_raise;
  logic [MutexWidth-1:0]                 passed;
  logic [NumMutexes-1:0][7:0]            ceiling;
  always_comb begin
    ceiling    = ceiling_q;
    owes_raise = owes_raise_q;
    passed     = passed_q;
    if (rvalid && cmd == Ceiling && !locked_q[m]) ceiling[m] = 8'(id);
    locked = locked_q;
    owner  = owner_q;
    waits  = waits_q;
    older  = older_q;
    woken  = woken_q;
    owed   = owed_q;
    // It is the owner from before it is raised.
    if ((rvalid || takes) && (cmd == Lock || cmd == TryLock) && !locked_q[m]) begin
      locked[m] = 1'b1;
      owner[m]  = id;
    end else if (((rvalid && cmd == Lock) || state == SBlock) && !mine) begin
      // It waits from before it is blocked.
      waits[m][id] = 1'b1;
      older[id]    = waits_q[m];
      for (int t = 0; t < NumThreads; t++) if (t != id) older[t][id] = 1'b0;
    end
    // It is no more from before its priority is changed back.
    if ((rvalid || state == SLower) && cmd == Unlock && mine) begin
      if (waits_q[m] == '0) locked[m] = 1'b0;
      else begin
        owner[m]         = oldest;
        waits[m][oldest] = 1'b0;
        if (rvalid) begin
          owed       = 1'b1;
          woken      = oldest;
          owes_raise = ceiling_q[m] != '0;
          passed     = m;
        end
      end
    end
  end

  always_comb if (rst_ni && live_q) begin
    assert (\u_mutexes.recursive_q == '0);
    if (open_q) assert (32'(rvalid) + 32'(held) + 32'(busy) == 32'd1);
    else assert (!rvalid && !held && !busy);
    if (busy) assert (\u_mutexes.cmd_q == cmd && \u_mutexes.id_q == id && \u_mutexes.mutex_q == m);
    if (held) assert (state == SIdle || state == SWake || (state == SRaise && passes));
    if (rvalid) assert (state == SIdle || state == SPop);
    if (state == SPop) assert (rvalid && cmd == Unlock && passes);
    if (busy && cmd == Ceiling) assert (\u_mutexes.level_q == 8'(id));
    if (takes) assert ((cmd == Lock || cmd == TryLock) && !locked_q[m] && op_id == id && ceiling_q[m] != '0);
    if (state == SLower) begin
      assert (cmd == Unlock && mine && op_id == id && ceiling_q[m] != '0 && passes == (waits_q[m] != '0));
      if (passes) assert (\u_mutexes.next_q == oldest);
    end
    if (open_q && !rvalid) assert (!raised_q && !lowered_q);
    if (state == SAct || state == SRaise || state == SLower)
      assert (\u_mutexes.ceiling == \u_mutexes.ceilings [\u_mutexes.mutex_q *8+:8]);
    if (state == SAct || state == SLower) assert (\u_mutexes.saved == \u_mutexes.saveds [\u_mutexes.mutex_q *8+:8]);
    assert (owes_raise == ((state == SPop && ceiling[passed] != '0) || (state == SRaise && passes)));
    if (state == SPop || state == SWake || owes_raise) assert (\u_mutexes.mutex_q == passed);
    if (owes_raise) assert (\u_mutexes.mutex_q == passed && locked[passed] && ceiling[passed] != '0);
    if (state == SBlock) assert (cmd == Lock && locked_q[m] && !mine && op_id == id);
    if (open_q && !rvalid) assert (!blocked_q);
    if (open_q) assert ((cmd == Ceiling || (cmd <= Owner && !anywhere[id])) && addr_q[13:6+IdWidth] == '0 && addr_q[21:14+MutexWidth] == '0);
    assert (owed == (state == SPop || state == SWake || (state == SRaise && passes)));
    if (owed) assert (op_id == woken);
    for (int x = 0; x < NumMutexes; x++) begin
      assert (\u_mutexes.locked_q [x] == locked[x]);
      assert (\u_mutexes.ceils_q [x] == (ceiling[x] != '0));
      if (ceiling[x] != '0) assert (\u_mutexes.ceilings [x*8+:8] == ceiling[x]);
      // Saved from the raise on.
      if (locked_q[x] && ceiling[x] != '0 && !(owes_raise && passed == MutexWidth'(x))) assert (\u_mutexes.saveds [x*8+:8] == saved_q[x]);
      if (locked[x] && !locked_q[x] && ceiling[x] != '0 && rvalid) assert (\u_mutexes.saveds [x*8+:8] == saved_q[x]);
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
