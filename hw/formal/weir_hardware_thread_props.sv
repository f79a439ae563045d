// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_hardware_thread promises, for any accelerator and any set behind: each call is made once and returns once; where it blocks the
/// thread, it returns after a wake-up, and no wake-up since it was made is lost.
module weir_hardware_thread_props #(
  parameter int unsigned NumThreads = 4,
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [IdWidth-1:0] thread_i,
  input logic               start_i,
  input logic               store_i,
  input logic [2:0]         unit_i,
  input logic [3:0]         command_i,
  input logic [7:0]         argument_i,
  input logic [31:0]        data_i,
  input logic               sleeps_i,
  input logic               rvalid_i,
  input logic [31:0]        rdata_i,
  input logic               wake_i,
  input logic [IdWidth-1:0] wake_id_i
);
  logic        done, irq, req, we;
  logic [31:0] answer, wdata;
  logic [24:2] addr;
  weir_hardware_thread #(.NumThreads(NumThreads)) u_thread (
    .clk_i, .rst_ni, .thread_i, .start_i, .store_i, .unit_i, .command_i, .argument_i, .data_i, .sleeps_i, .done_o(done), .answer_o(answer),
    .irq_o(irq), .req_o(req), .we_o(we), .addr_o(addr), .wdata_o(wdata), .rvalid_i, .rdata_i, .wake_i, .wake_id_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // The call: asked for, made, answered; whether it blocks the thread, and whether that has been woken since it was asked for.
  logic               open_q, made_q, answered_q, store_q, sleeps_q, woken_q, blocked, return_q, irq_q;
  logic [IdWidth-1:0] thread_q;
  logic [24:2]        addr_q;
  logic [31:0]        data_q, answer_q;
  assign blocked = sleeps_q && (store_q || answer_q == 32'd1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q     <= 1'b0;
      made_q     <= 1'b0;
      answered_q <= 1'b0;
      irq_q      <= 1'b0;
      woken_q    <= 1'b0;
    end else begin
      if (wake_i && wake_id_i == thread_i) woken_q <= 1'b1;
      if (start_i) begin
        open_q     <= 1'b1;
        made_q     <= 1'b0;
        answered_q <= 1'b0;
        irq_q      <= 1'b0;
        woken_q    <= wake_i && wake_id_i == thread_i;
        store_q    <= store_i;
        sleeps_q   <= sleeps_i;
        data_q     <= data_i;
        addr_q     <= {unit_i, argument_i, 8'(thread_i), command_i};
      end
      if (req) made_q <= 1'b1;
      if (rvalid_i) begin
        answered_q <= 1'b1;
        answer_q   <= rdata_i;
      end
      if (done) begin
        open_q <= start_i;
        if (!start_i) irq_q <= blocked;
      end
    end
  end
  always_ff @(posedge clk_i) thread_q <= thread_i;

  always_comb begin
    // One call at a time; one answer, after it was made.
    if (!rst_ni || (open_q && !done)) assume (!start_i);
    if (open_q) assume (thread_i == thread_q);
    if (!(made_q || req) || answered_q || !open_q) assume (!rvalid_i);
    if (req) assume (!rvalid_i);
  end

  always_comb if (rst_ni) begin
    // Made once, in the clock after it was asked for, as it was.
    assert (req == (open_q && !made_q));
    if (open_q && !answered_q) assert (we == store_q && addr == addr_q && wdata == data_q);
    // It returns once, after its answer, with it, and not while the thread is blocked.
    if (done) assert (open_q && answered_q && answer == answer_q && (!blocked || woken_q));
    // Whoever was woken since goes on.
    if (return_q && open_q) assert (done);
    // The interrupt: from the return of a call that had blocked until the next call.
    assert (irq == (irq_q || (done && blocked)));
  end
  // Answered, and neither blocked nor still so: it returns now, if it has not yet.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) return_q <= 1'b0;
    else return_q <= open_q && answered_q && !done && blocked && woken_q;
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire [1:0] \u_thread.state_q ;
  (* hierconn *) wire       \u_thread.woken_q ;
  (* hierconn *) wire       \u_thread.sleeps_q ;
  always_comb if (rst_ni) begin
    assert (\u_thread.state_q <= 2'd2);
    assert (open_q == (\u_thread.state_q != 2'd0 || done));
    if (open_q) assert (\u_thread.woken_q == woken_q && \u_thread.sleeps_q == sleeps_q && we == store_q);
    if (\u_thread.state_q == 2'd1) assert (!answered_q && !done);
    if (\u_thread.state_q == 2'd2) assert (answered_q && made_q && blocked && !done && answer == answer_q);
    if (done) assert (\u_thread.state_q == 2'd0 && answered_q && made_q);
    if (open_q && req) assert (\u_thread.state_q == 2'd1);
    if (open_q && !answered_q) assert (\u_thread.state_q == 2'd1);
    if (!open_q) assert (!req);
    if (irq_q) assert (!open_q);
  end
`endif
endmodule
