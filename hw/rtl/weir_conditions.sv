// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_conditions - condition variables, called by reading: waiters are woken in order of arrival.
///
/// Word address, from bit 2: command (4 bits), thread (8), condition (8): 0 WAIT, 1 SIGNAL, 2 BROADCAST, 3 SLEEP
/// (docs/hardware-registers.md). WAIT registers a thread and does not block it: it must still release its mutex, and might be preempted
/// before. SLEEP blocks it unless it was woken since. So no signal is lost, and no thread sleeps while it holds the mutex.
///
/// twin:     hw/models/src/kernel.rs
/// latency:  WAIT and SIGNAL within 3 clocks, SLEEP 3 and the manager's; BROADCAST 3 clocks and the manager's per waiter
/// area:     wait lists, one bit per thread
/// source:   Preston, 2011, 3.2.7; waiting in two calls is ours
module weir_conditions #(
  /// Condition variables, 2..256, a power of two.
  parameter int unsigned NumConditions = 64,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Dependent, do not override: bits of the number of a condition variable.
  localparam int unsigned CondWidth = $clog2(NumConditions),
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic               clk_i,      /// Clock, rising edge.
  input  logic               rst_ni,     /// Reset, asynchronous, active low: no thread waits.
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
  if (NumConditions < 2 || NumConditions > 256 || (NumConditions & (NumConditions - 1)) != 0)
    $error("weir_conditions: NumConditions is a power of two, 2 to 256, not %0d", NumConditions);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_conditions: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);


  typedef enum logic [2:0] {Idle, Look, Act, Block, Pop, Wake} state_e;
  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;

  logic                 held_q, go, some, append, pop;
  logic [3:0]           cmd_q;
  logic [IdWidth-1:0]   id_q, first;
  logic [CondWidth-1:0] cond_q;
  logic [8:0]            woken_q;
  // Registered, and not woken yet.
  logic [NumThreads-1:0] waits_q;

  weir_wait_lists #(.NumLists(NumConditions), .NumThreads(NumThreads)) u_waits (
    .clk_i, .rst_ni, .list_i(cond_q), .append_i(append), .pop_i(pop), .id_i(id_q), .some_o(some), .first_o(first)
  );

  assign append     = state_q == Act && cmd_q == weir_regs_pkg::ConditionsWait;
  assign pop        = state_q == Act && (cmd_q == weir_regs_pkg::ConditionsSignal || cmd_q == weir_regs_pkg::ConditionsBroadcast) && some;
  assign go         = req_i || held_q;
  assign op_req_o   = state_q == Block || state_q == Wake;
  assign op_block_o = state_q == Block;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      held_q   <= 1'b0;
      cmd_q    <= '0;
      id_q     <= '0;
      cond_q   <= '0;
      woken_q  <= '0;
      waits_q  <= '0;
      op_id_o  <= '0;
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      held_q   <= go && state_q != Idle;
      unique case (state_q)
        Idle: if (go) begin
          cmd_q   <= call.command_f;
          id_q    <= IdWidth'(call.thread_f);
          cond_q  <= CondWidth'(call.argument_f);
          woken_q <= '0;
          state_q <= Look;
        end
        Look: state_q <= Act;
        Act: begin
          op_id_o <= cmd_q == weir_regs_pkg::ConditionsSleep ? id_q : first;
          unique case (cmd_q)
            weir_regs_pkg::ConditionsWait: begin
              waits_q[id_q] <= 1'b1;
              rvalid_o      <= 1'b1;
              state_q       <= Idle;
            end
            weir_regs_pkg::ConditionsSleep: begin
              rvalid_o <= !waits_q[id_q];
              state_q  <= waits_q[id_q] ? Block : Idle;
            end
            weir_regs_pkg::ConditionsSignal, weir_regs_pkg::ConditionsBroadcast: begin
              if (some) begin
                woken_q        <= woken_q + 9'd1;
                waits_q[first] <= 1'b0;
                state_q        <= Pop;
              end else state_q <= Idle;
              // A broadcast answers when all are awake, so that it includes no later thread.
              rvalid_o <= !some || cmd_q == weir_regs_pkg::ConditionsSignal;
              rdata_o  <= cmd_q == weir_regs_pkg::ConditionsSignal ? {31'd0, some} : {23'd0, woken_q};
            end
            default: begin
              rvalid_o <= 1'b1;
              rdata_o  <= '1;
              state_q  <= Idle;
            end
          endcase
        end
        Block: if (op_done_i) begin
          rvalid_o <= 1'b1;
          rdata_o  <= 32'd1;
          state_q  <= Idle;
        end
        Pop:  state_q <= Wake;
        Wake: if (op_done_i) state_q <= cmd_q == weir_regs_pkg::ConditionsBroadcast ? Look : Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^call;
endmodule
