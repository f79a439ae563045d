// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_mutexes - mutexes, called by reading: waiters get the mutex in order of arrival, and are woken by the hand-over.
///
/// Word address, from bit 2: command (4 bits), thread (8), mutex (8). Commands and answers: docs/hardware-registers.md. A thread that must
/// wait is blocked in the thread manager before it gets its answer, so no wake-up is lost; it then gives up its CPU.
///
/// twin:     hw/models/src/kernel.rs
/// latency:  answers within 5 clocks of the call if the module is idle; 3 + the manager's for a thread that must wait. An UNLOCK
///           answers before the next owner is woken; the next call waits for that
/// area:     memories of NumMutexes words of 16 bits, and wait lists; three bits per mutex
/// source:   Preston, 2011, 3.2.6; owner, kind and count are kept here, errors are ours
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
  output logic               op_block_o, /// Block it; else wake it.
  output logic [IdWidth-1:0] op_id_o,    /// The thread.
  input  logic               op_done_i   /// The manager has done it.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumMutexes < 2 || NumMutexes > 256 || (NumMutexes & (NumMutexes - 1)) != 0)
    $error("weir_mutexes: NumMutexes is a power of two, 2 to 256, not %0d", NumMutexes);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_mutexes: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);

  localparam logic [31:0] Blocked = 32'd1, Failed = 32'h8000_0000;

  // Look: the mutex is read. Act: the answer is known. Block: the caller must wait. Pop, Wake: hand over.
  typedef enum logic [2:0] {Idle, Look, Act, Block, Pop, Wake} state_e;
  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;

  logic                  held_q, go;
  logic [3:0]            cmd_q;
  logic [IdWidth-1:0]    id_q, first, owner;
  logic [MutexWidth-1:0] mutex_q;
  logic [NumMutexes-1:0] locked_q, recursive_q;
  logic [7:0]            count;
  logic                  some, append, pop;

  logic [IdWidth-1:0] owner_mem[NumMutexes];
  logic [7:0]         count_mem[NumMutexes];
  logic               owner_we, count_we;
  logic [IdWidth-1:0] owner_wdata;
  logic [7:0]         count_wdata;

  weir_wait_lists #(.NumLists(NumMutexes), .NumThreads(NumThreads)) u_waits (
    .clk_i, .rst_ni, .list_i(mutex_q), .append_i(append), .pop_i(pop), .id_i(id_q), .some_o(some), .first_o(first)
  );

  logic locked, mine, again, waits, last;
  assign locked = locked_q[mutex_q];
  assign mine   = locked && owner == id_q;
  assign again  = mine && recursive_q[mutex_q] && count != '1;
  assign waits  = state_q == Act && cmd_q == weir_regs_pkg::MutexesLock && locked && !mine;
  assign last   = state_q == Act && cmd_q == weir_regs_pkg::MutexesUnlock && mine && count == 8'd1;
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

  always_ff @(posedge clk_i) begin
    owner <= owner_mem[mutex_q];
    count <= count_mem[mutex_q];
    if (owner_we) owner_mem[mutex_q] <= owner_wdata;
    if (count_we) count_mem[mutex_q] <= count_wdata;
  end

  assign go         = req_i || held_q;
  assign op_req_o   = state_q == Block || state_q == Wake;
  assign op_block_o = state_q == Block;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= Idle;
      held_q      <= 1'b0;
      cmd_q       <= '0;
      id_q        <= '0;
      mutex_q     <= '0;
      locked_q    <= '0;
      recursive_q <= '0;
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
          mutex_q <= MutexWidth'(call.argument_f);
          state_q <= Look;
        end
        Look: state_q <= Act;
        Act: begin
          state_q  <= Idle;
          rvalid_o <= !waits;
          op_id_o  <= id_q;
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
              else if (pop) begin
                op_id_o <= first;
                state_q <= Pop;
              end else if (last) locked_q[mutex_q] <= 1'b0;
            end
            weir_regs_pkg::MutexesOwner: rdata_o <= locked ? 32'(owner) : Failed;
            weir_regs_pkg::MutexesKind: begin
              rdata_o <= {31'd0, recursive_q[mutex_q]};
              if (!locked) recursive_q[mutex_q] <= id_q[0];
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
        Pop:  state_q <= Wake;
        Wake: if (op_done_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

`ifdef FORMAL
  // For the steps of an induction, which sees no memories.
  logic [NumMutexes-1:0][IdWidth-1:0] owners;
  logic [NumMutexes-1:0]              once;
  always_comb for (int unsigned m = 0; m < NumMutexes; m++) begin
    owners[m] = owner_mem[m];
    once[m]   = count_mem[m] == 8'd1;
  end
`endif

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^call;
endmodule
