// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_mutexes - mutexes, called by reading: waiters get the mutex in order of arrival, and are woken by the hand-over. A mutex can
/// have a priority ceiling.
///
/// Word address, from bit 2: command (4 bits), thread (8), mutex (8). Commands and answers: docs/hardware-registers.md. A thread that must
/// wait is blocked in the thread manager before it gets its answer, so no wake-up is lost; it then gives up its CPU.
/// The owner of a mutex with a ceiling has that priority at least, from before it hears of the mutex until it unlocks it; then it has
/// the one of before. Such mutexes are unlocked in the reverse order.
///
/// twin:     hw/models/src/kernel.rs
/// latency:  answers within 5 clocks of the call if the module is idle; 3 + the manager's for a thread that must wait, and for one
///           that takes or gives back a mutex with a ceiling. An UNLOCK answers before the next owner is woken; the next call waits for
///           that
/// area:     memories of NumMutexes words of 16 bits, two of 8 bits, and wait lists; three bits per mutex
/// source:   Preston, 2011, 3.2.6; owner, kind and count are kept here, errors and ceilings are ours
module weir_mutexes #(
  /// Mutexes, 2..256, a power of two.
  parameter int unsigned NumMutexes = 64,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Dependent, do not override: bits of a mutex number.
  localparam int unsigned MutexWidth = $clog2(NumMutexes),
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic               clk_i,      /// Clock, rising edge.
  input  logic               rst_ni,     /// Reset, asynchronous, active low: all are free.
  input  logic               req_i,      /// A call; the next one only after its answer.
  input  logic [21:2]        addr_i,     /// Word address: the call.
  output logic               rvalid_o,   /// The answer.
  output logic [31:0]        rdata_o,    /// Its value.
  output logic               op_req_o,   /// To the thread manager: block or wake a thread; held until op_done_i.
  output logic               op_block_o, /// Block it.
  output logic               op_raise_o, /// Raise its priority, if that is less.
  output logic               op_lower_o, /// Set its priority.
  output logic [7:0]         op_level_o, /// To this. Nothing of the three: wake it.
  output logic [IdWidth-1:0] op_id_o,    /// The thread.
  input  logic               op_done_i,  /// The manager has done it.
  input  logic [7:0]         op_before_i /// With it, after a raise: the priority before.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumMutexes < 2 || NumMutexes > 256 || (NumMutexes & (NumMutexes - 1)) != 0)
    $error("weir_mutexes: NumMutexes is a power of two, 2 to 256, not %0d", NumMutexes);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_mutexes: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);

  localparam logic [31:0] Blocked = 32'd1, Failed = 32'h8000_0000;

  // Look: the mutex is read. Act: the answer is known. Block: the caller must wait. Pop, Wake: hand over. Raise, Lower: the owner's
  // priority, of a mutex with a ceiling.
  typedef enum logic [2:0] {Idle, Look, Act, Block, Pop, Wake, Raise, Lower} state_e;
  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;

  logic                  held_q, go;
  logic [3:0]            cmd_q;
  logic [IdWidth-1:0]    id_q, first, owner, next_q;
  logic [7:0]            level_q;
  logic [MutexWidth-1:0] mutex_q;
  logic [NumMutexes-1:0] locked_q, recursive_q, ceils_q;
  logic [7:0]            count;
  logic                  some, append, pop;

  logic [IdWidth-1:0] owner_mem[NumMutexes];
  logic [7:0]         count_mem[NumMutexes];
  logic               owner_we, count_we;
  logic [IdWidth-1:0] owner_wdata;
  logic [7:0]         count_wdata;
  logic [7:0]         ceiling_mem[NumMutexes];
  logic [7:0]         saved_mem[NumMutexes];
  logic [7:0]         ceiling, saved;
  logic               ceiling_we, saved_we, takes, passes_q;

  weir_wait_lists #(.NumLists(NumMutexes), .NumThreads(NumThreads)) u_waits (
    .clk_i, .rst_ni, .list_i(mutex_q), .append_i(append), .pop_i(pop), .id_i(id_q), .some_o(some), .first_o(first)
  );

  logic locked, mine, again, waits, last;
  assign locked = locked_q[mutex_q];
  assign mine   = locked && owner == id_q;
  assign again  = mine && recursive_q[mutex_q] && count != '1;
  assign waits  = state_q == Act && cmd_q == weir_regs_pkg::MutexesLock && locked && !mine;
  assign last   = state_q == Act && cmd_q == weir_regs_pkg::MutexesUnlock && mine && count == 8'd1;
  assign takes  = state_q == Act && (cmd_q == weir_regs_pkg::MutexesLock || cmd_q == weir_regs_pkg::MutexesTryLock) && !locked;
  assign append = waits;
  assign pop    = last && some;

  always_comb begin
    owner_we    = 1'b0;
    count_we    = 1'b0;
    owner_wdata = id_q;
    count_wdata = 8'd1;
    if (state_q == Act && (cmd_q == weir_regs_pkg::MutexesLock || cmd_q == weir_regs_pkg::MutexesTryLock)) begin
      owner_we    = !locked;
      count_we    = !locked || again;
      count_wdata = locked ? count + 8'd1 : 8'd1;
    end
    if (state_q == Act && cmd_q == weir_regs_pkg::MutexesUnlock && mine) begin
      // Handed over, it is locked once again.
      owner_we    = last && some;
      owner_wdata = first;
      count_we    = 1'b1;
      count_wdata = last ? 8'd1 : count - 8'd1;
    end
  end

  assign ceiling_we = state_q == Act && cmd_q == weir_regs_pkg::MutexesCeiling && !locked;
  assign saved_we   = state_q == Raise && op_done_i;

  always_ff @(posedge clk_i) begin
    ceiling <= ceiling_mem[mutex_q];
    saved   <= saved_mem[mutex_q];
    if (ceiling_we) ceiling_mem[mutex_q] <= level_q;
    if (saved_we) saved_mem[mutex_q] <= op_before_i;
    owner <= owner_mem[mutex_q];
    count <= count_mem[mutex_q];
    if (owner_we) owner_mem[mutex_q] <= owner_wdata;
    if (count_we) count_mem[mutex_q] <= count_wdata;
  end

  assign go         = req_i || held_q;
  assign op_req_o   = state_q == Block || state_q == Wake || state_q == Raise || state_q == Lower;
  assign op_block_o = state_q == Block;
  assign op_raise_o = state_q == Raise;
  assign op_lower_o = state_q == Lower;
  assign op_level_o = op_raise_o ? ceiling : saved;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= Idle;
      held_q      <= 1'b0;
      cmd_q       <= '0;
      id_q        <= '0;
      mutex_q     <= '0;
      locked_q    <= '0;
      recursive_q <= '0;
      ceils_q     <= '0;
      next_q      <= '0;
      level_q     <= '0;
      passes_q    <= 1'b0;
      op_id_o     <= '0;
      rvalid_o    <= 1'b0;
      rdata_o     <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      // A call during the last hand-over waits; the caller holds its address.
      held_q <= go && state_q != Idle;
      unique case (state_q)
        Idle: if (go) begin
          cmd_q   <= call.command_f;
          id_q    <= IdWidth'(call.thread_f);
          level_q <= call.thread_f;
          mutex_q <= MutexWidth'(call.argument_f);
          state_q <= Look;
        end
        Look: state_q <= Act;
        Act: begin
          state_q  <= Idle;
          rvalid_o <= !waits && !(ceils_q[mutex_q] && (takes || last));
          op_id_o  <= id_q;
          next_q   <= first;
          passes_q <= pop;
          if (ceils_q[mutex_q] && takes) state_q <= Raise;
          unique case (cmd_q)
            weir_regs_pkg::MutexesLock: begin
              if (!locked) locked_q[mutex_q] <= 1'b1;
              else if (waits) state_q <= Block;
              else if (!again) rdata_o <= Failed;
            end
            weir_regs_pkg::MutexesTryLock: begin
              if (!locked) locked_q[mutex_q] <= 1'b1;
              else if (!again) rdata_o <= Blocked;
            end
            weir_regs_pkg::MutexesUnlock: begin
              if (!mine) rdata_o <= Failed;
              else if (last && ceils_q[mutex_q]) state_q <= Lower;
              else if (pop) begin
                op_id_o <= first;
                state_q <= Pop;
              end
              if (last && !pop) locked_q[mutex_q] <= 1'b0;
            end
            weir_regs_pkg::MutexesOwner: rdata_o <= locked ? 32'(owner) : Failed;
            weir_regs_pkg::MutexesKind: begin
              rdata_o <= {31'd0, recursive_q[mutex_q]};
              if (!locked) recursive_q[mutex_q] <= id_q[0];
            end
            weir_regs_pkg::MutexesCeiling: begin
              rdata_o <= ceils_q[mutex_q] ? {24'd0, ceiling} : '0;
              if (!locked) ceils_q[mutex_q] <= level_q != '0;
            end
            weir_regs_pkg::MutexesCount:   rdata_o <= locked ? {24'd0, count} : '0;
            default: rdata_o <= '1;
          endcase
        end
        Block: if (op_done_i) begin
          rvalid_o <= 1'b1;
          rdata_o  <= Blocked;
          state_q  <= Idle;
        end
        // The owner of before has its own priority again; the next one is raised before it is woken.
        Lower: if (op_done_i) begin
          rvalid_o <= 1'b1;
          op_id_o  <= next_q;
          state_q  <= passes_q ? Pop : Idle;
        end
        Raise: if (op_done_i) begin
          rvalid_o <= !passes_q;
          state_q  <= passes_q ? Wake : Idle;
        end
        Pop:  state_q <= ceils_q[mutex_q] ? Raise : Wake;
        Wake: if (op_done_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

`ifdef FORMAL
  // For the steps of an induction, which sees no memories.
  logic [NumMutexes-1:0][IdWidth-1:0] owners;
  logic [NumMutexes-1:0]              once;
  logic [NumMutexes-1:0][7:0]         ceilings, saveds;
  always_comb for (int unsigned m = 0; m < NumMutexes; m++) begin
    ceilings[m] = ceiling_mem[m];
    saveds[m]   = saved_mem[m];
    owners[m] = owner_mem[m];
    once[m]   = count_mem[m] == 8'd1;
  end
`endif

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^call;
endmodule
