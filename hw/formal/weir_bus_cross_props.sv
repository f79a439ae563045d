// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_bus_cross promises, for any two clocks: each request is made once, in the third clock of the engine, with its data, which
/// rest for two clocks before, and until the answer; each answer comes once, after three clocks of the bus, with its data; an interrupt
/// follows its input by two clocks of the bus. A flip-flop whose input changes with its clock takes the value before: that it may
/// become stable late is beyond this.
module weir_bus_cross_props #(
  parameter int unsigned NumCpus = 2,
  parameter int unsigned WindowWidth = 11,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic                   bus_clk_i,
  input logic                   bus_rst_ni,
  input logic                   req_i,
  input logic                   we_i,
  input logic [CpuWidth-1:0]    cpu_i,
  input logic [WindowWidth-1:2] addr_i,
  input logic [31:0]            wdata_i,
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   rvalid_i,
  input logic                   err_i,
  input logic [31:0]            rdata_i,
  input logic [NumCpus-1:0]     irq_i
);
  localparam int unsigned AskWidth = 1 + CpuWidth + WindowWidth - 2 + 32;
  logic                   rvalid, err, req, we;
  logic [31:0]            rdata, wdata;
  logic [CpuWidth-1:0]    cpu;
  logic [WindowWidth-1:2] addr;
  logic [NumCpus-1:0]     irq;
  weir_bus_cross #(.NumCpus(NumCpus), .WindowWidth(WindowWidth)) u_cross (
    .bus_clk_i, .bus_rst_ni, .req_i, .we_i, .cpu_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .err_o(err), .rdata_o(rdata), .irq_o(irq),
    .clk_i, .rst_ni, .req_o(req), .we_o(we), .cpu_o(cpu), .addr_o(addr), .wdata_o(wdata), .rvalid_i, .err_i, .rdata_i, .irq_i
  );

  // The time of the proof: both clocks are inputs. The resets begin together, and end at any times.
  (* gclk *) logic time_step;
  logic begun_q, bus_was_q, was_q;
  initial begun_q = 1'b0;
  always_ff @(posedge time_step) begin
    begun_q   <= 1'b1;
    bus_was_q <= begun_q && bus_rst_ni;
    was_q     <= begun_q && rst_ni;
  end
  always_comb begin
    if (!begun_q) assume (!bus_rst_ni && !rst_ni);
    else begin
      if (bus_was_q) assume (bus_rst_ni);
      if (was_q) assume (rst_ni);
    end
  end

  // Bits that change with each request of the bus, each that the engine has taken, each that it has answered, each answer that the bus
  // has taken. Clocks for which a request, an answer has been on its way.
  logic                asked_q, taken_q, done_q, told_q;
  logic [2:0]          asked_age_q, done_age_q;
  logic [AskWidth-1:0] ask_q;
  logic [32:0]         answer_q;
  logic                open, busy;
  assign open = asked_q != told_q;
  assign busy = taken_q != done_q;
  always_ff @(posedge bus_clk_i or negedge bus_rst_ni) begin
    if (!bus_rst_ni) begin
      asked_q    <= 1'b0;
      told_q     <= 1'b0;
      done_age_q <= '0;
    end else begin
      if (req_i) asked_q <= !asked_q;
      if (rvalid) told_q <= !told_q;
      done_age_q <= done_q != told_q && !rvalid ? done_age_q + 3'd1 : '0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      taken_q     <= 1'b0;
      done_q      <= 1'b0;
      asked_age_q <= '0;
    end else begin
      if (req) taken_q <= !taken_q;
      if (rvalid_i) done_q <= !done_q;
      asked_age_q <= asked_q != taken_q && !req ? asked_age_q + 3'd1 : '0;
    end
  end
  always_ff @(posedge bus_clk_i) if (req_i) ask_q <= {we_i, cpu_i, addr_i, wdata_i};
  always_ff @(posedge clk_i) if (rvalid_i) answer_q <= {err_i, rdata_i};

  // The interrupts at the last two edges of the bus's clock.
  logic [1:0][NumCpus-1:0] irq_q;
  always_ff @(posedge bus_clk_i or negedge bus_rst_ni) begin
    if (!bus_rst_ni) irq_q <= '0;
    else irq_q <= {irq_q[0], irq_i};
  end

  always_comb begin
    // One request at a time, and an answer to it.
    if (!bus_rst_ni || open) assume (!req_i);
    if (!rst_ni || !busy) assume (!rvalid_i);
  end

  always_comb if (begun_q) begin
    // The engine is asked once, by a request, in the third clock of its own, when the data have rested for two, and they stand.
    if (asked_q != taken_q && rst_ni) assert (asked_age_q <= 3'd2 && req == (asked_age_q == 3'd2));
    if (req) assert (asked_q != taken_q && !busy);
    if (req || busy) assert ({we, cpu, addr, wdata} == ask_q);
    // The bus is told once, of the answer, after its third clock.
    if (done_q != told_q && done_q == asked_q && bus_rst_ni) assert (done_age_q <= 3'd3 && rvalid == (done_age_q == 3'd3));
    if (rvalid) assert (open && done_q == asked_q && !busy && {err, rdata} == answer_q);
    assert (irq == irq_q[1]);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire                   \u_cross.asked_q ;
  (* hierconn *) wire                   \u_cross.asked_1 ;
  (* hierconn *) wire                   \u_cross.asked_2 ;
  (* hierconn *) wire                   \u_cross.asked_3 ;
  (* hierconn *) wire                   \u_cross.answered_q ;
  (* hierconn *) wire                   \u_cross.answered_1 ;
  (* hierconn *) wire                   \u_cross.answered_2 ;
  (* hierconn *) wire                   \u_cross.answered_3 ;
  (* hierconn *) wire                   \u_cross.err_q ;
  (* hierconn *) wire [31:0]            \u_cross.rdata_q ;
  (* hierconn *) wire [NumCpus-1:0]     \u_cross.irq_1 ;
  always_comb if (begun_q) begin
    assert (\u_cross.irq_1 == irq_q[0]);
    assert (\u_cross.asked_q == asked_q && \u_cross.answered_q == done_q && \u_cross.asked_3 == taken_q && told_q == (\u_cross.answered_3 ^ rvalid));
    if (asked_q == taken_q) assert (asked_age_q == '0 && \u_cross.asked_1 == asked_q && \u_cross.asked_2 == asked_q);
    else assert (!busy && done_q == told_q && asked_age_q <= 3'd2 && (\u_cross.asked_1 == asked_q) == (asked_age_q >= 3'd1) &&
                 (\u_cross.asked_2 == asked_q) == (asked_age_q == 3'd2));
    if (open) assert ({we, cpu, addr, wdata} == ask_q);
    if (busy) assert (asked_q == taken_q && done_q == told_q);
    if (done_q == told_q) assert (done_age_q == '0 && !rvalid && \u_cross.answered_1 == done_q && \u_cross.answered_2 == done_q && \u_cross.answered_3 == done_q);
    else assert (open && !busy && asked_q == taken_q && done_age_q <= 3'd3 && {\u_cross.err_q , \u_cross.rdata_q } == answer_q &&
                 (\u_cross.answered_1 == done_q) == (done_age_q >= 3'd1) && (\u_cross.answered_2 == done_q) == (done_age_q >= 3'd2) &&
                 (\u_cross.answered_3 == done_q) == (done_age_q == 3'd3) && rvalid == (done_age_q == 3'd3));
  end
`endif
endmodule
