// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_masters - weir_kernel with three masters: a CPU outside, and two accelerators that are threads of it.
///
/// An accelerator adds one to a number that all three share, Rounds times, each time under mutex 0 and in three steps that another one
/// must not come between. Every eighth time it sleeps. When it is done it signals condition 0.
module weir_masters #(
  parameter int unsigned Rounds = 200
) (
  input  logic        clk_i,     /// Clock.
  input  logic        rst_ni,    /// Reset, active low.
  input  logic        req_i,     /// The CPU's call.
  input  logic        we_i,      /// It is a store.
  input  logic [24:2] addr_i,    /// Its word address.
  input  logic [31:0] wdata_i,   /// Data of a store.
  output logic        rvalid_o,  /// The answer.
  output logic [31:0] rdata_o,   /// Its value.
  output logic        irq_o,     /// The CPU's interrupt.
  input  logic        go_i,      /// The accelerators' numbers stand: begin.
  input  logic [7:0]  first_i,   /// Thread of the first one.
  input  logic [7:0]  second_i,  /// Thread of the second one.
  input  logic        write_i,   /// The CPU writes the shared number.
  input  logic [31:0] value_i,   /// What it writes.
  output logic [31:0] value_o,   /// The number.
  output logic [1:0]  ended_o,   /// The accelerator has added for the last time.
  output logic [1:0]  irqs_o,    /// It was woken.
  output logic [2:0]  asks_o     /// Masters with a call in this clock.
);
  localparam int unsigned Threads = 8;
  localparam logic [2:0] Mutexes = 3'(weir_regs_pkg::UnitMutexes), Conditions = 3'(weir_regs_pkg::UnitConditions),
                         Timers = 3'(weir_regs_pkg::UnitTimers);

  logic [2:0]       req, we, rvalid;
  logic [2:0][24:2] addr;
  logic [2:0][31:0] wdata;
  logic [31:0]      rdata, kernel_rdata, kernel_wdata;
  logic [24:2]      kernel_addr;
  logic             kernel_req, kernel_we, kernel_rvalid, hard_wake, wake;
  logic [2:0]       hard_id, wake_id;
  logic [1:0]       master;
  assign req[0]   = req_i;
  assign we[0]    = we_i;
  assign addr[0]  = addr_i;
  assign wdata[0] = wdata_i;
  assign rvalid_o = rvalid[0];
  assign rdata_o  = rdata;
  assign asks_o   = req;

  weir_calls_share #(.NumMasters(3)) u_share (
    .clk_i, .rst_ni, .req_i(req), .we_i(we), .addr_i(addr), .wdata_i(wdata), .rvalid_o(rvalid), .rdata_o(rdata),
    .req_o(kernel_req), .we_o(kernel_we), .addr_o(kernel_addr), .wdata_o(kernel_wdata), .master_o(master),
    .rvalid_i(kernel_rvalid), .rdata_i(kernel_rdata)
  );
  weir_kernel #(
    .NumThreads(Threads), .NumLevels(8), .NumMutexes(2), .NumConditions(2), .NumLines(2), .NumTimers(4), .Hardware(1'b1)
  ) u_kernel (
    .clk_i, .rst_ni, .lines_i(2'b00), .req_i(kernel_req), .cpu_i(1'b0), .we_i(kernel_we), .addr_i(kernel_addr), .wdata_i(kernel_wdata),
    .rvalid_o(kernel_rvalid), .rdata_o(kernel_rdata), .irq_o, .wake_o(wake), .wake_id_o(wake_id), .hard_wake_o(hard_wake),
    .hard_wake_id_o(hard_id)
  );
  logic unused;
  // One CPU calls.
  assign unused = ^{wake, wake_id, master};

  // ------------------------------------------------------------------ the accelerators
  typedef enum logic [3:0] {Off, Lock, Read, Wait, Write, Unlock, Nap, Signal, End} state_e;
  logic [1:0]       writes;
  logic [1:0][31:0] sums;

  for (genvar a = 0; a < 2; a++) begin : gen_accelerator
    state_e      state_q;
    logic        start_q, done, last_q;
    logic [31:0] answer, sum_q, round_q, random_q;
    logic [7:0]  number;
    assign number = a == 0 ? first_i : second_i;

    weir_hardware_thread #(.NumThreads(Threads)) u_thread (
      .clk_i, .rst_ni, .thread_i(3'(number)), .start_i(start_q), .store_i(state_q == Nap),
      .unit_i(state_q == Nap ? Timers : state_q == Signal ? Conditions : Mutexes),
      .command_i(state_q == Nap ? weir_regs_pkg::TimersAdd : state_q == Signal ? weir_regs_pkg::ConditionsSignal :
                 state_q == Lock ? weir_regs_pkg::MutexesLock : weir_regs_pkg::MutexesUnlock),
      .argument_i(8'd0), .data_i(32'd60), .sleeps_i(state_q == Lock || state_q == Nap),
      .done_o(done), .answer_o(answer), .irq_o(irqs_o[a]),
      .req_o(req[a+1]), .we_o(we[a+1]), .addr_o(addr[a+1]), .wdata_o(wdata[a+1]), .rvalid_i(rvalid[a+1]), .rdata_i(rdata),
      .wake_i(hard_wake), .wake_id_i(hard_id)
    );
    logic unused_answer;
    assign unused_answer = ^{answer, number};
    assign ended_o[a] = last_q;
    assign writes[a]  = state_q == Write;
    assign sums[a]    = sum_q + 32'd1;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        state_q  <= Off;
        start_q  <= 1'b0;
        last_q   <= 1'b0;
        sum_q    <= '0;
        round_q  <= '0;
        random_q <= 32'(a) * 32'd77 + 32'd1;
      end else begin
        random_q <= {random_q[30:0], random_q[31] ^ random_q[21] ^ random_q[1] ^ random_q[0]};
        // A call begins in the first clock of its state.
        start_q  <= 1'b0;
        unique case (state_q)
          Off: if (go_i) begin
            state_q <= Lock;
            start_q <= 1'b1;
          end
          Lock: if (done) state_q <= Read;
          Read: begin
            sum_q   <= value_o;
            state_q <= Wait;
          end
          Wait: if (random_q[2:0] == '0) state_q <= Write;
          Write: begin
            // Said under the mutex, before the signal: who waits for it misses neither.
            if (round_q == 32'(Rounds - 1)) last_q <= 1'b1;
            state_q <= Unlock;
            start_q <= 1'b1;
          end
          Unlock: if (done) begin
            round_q <= round_q + 32'd1;
            start_q <= 1'b1;
            state_q <= last_q ? Signal : round_q[2:0] == '1 ? Nap : Lock;
          end
          Nap: if (done) begin
            state_q <= Lock;
            start_q <= 1'b1;
          end
          Signal: if (done) state_q <= End;
          default: ;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) value_o <= '0;
    else if (write_i) value_o <= value_i;
    else if (writes[0]) value_o <= sums[0];
    else if (writes[1]) value_o <= sums[1];
  end
endmodule
