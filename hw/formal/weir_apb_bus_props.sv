// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_apb_bus promises a master that keeps the rules of APB: one request a transfer, its answer, in time; none for what is refused.
module weir_apb_bus_props #(
  parameter int unsigned NumCpus = 3,
  parameter int unsigned WindowWidth = 11,
  parameter bit PrivilegedOnly = 1'b1,
  localparam int unsigned AddrWidth = (WindowWidth < 27) ? WindowWidth + 5 : 32,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        psel_i,
  input logic        penable_i,
  input logic        pwrite_i,
  input logic [AddrWidth-1:0] paddr_i,
  input logic [2:0]  pprot_i,
  input logic [31:0] pwdata_i,
  input logic [3:0]  pstrb_i,
  input logic        err_i,
  input logic [31:0] rdata_i
);
  logic                pready, pslverr, req, we, answer_1, answer_2;
  logic [31:0]         prdata, wdata;
  logic [CpuWidth-1:0] cpu;
  logic [WindowWidth-1:2] addr;

  weir_apb_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth), .PrivilegedOnly(PrivilegedOnly)) u_bus (
    .clk_i, .rst_ni, .psel_i, .penable_i, .pwrite_i, .paddr_i, .pprot_i, .pwdata_i, .pstrb_i,
    .pready_o(pready), .prdata_o(prdata), .pslverr_o(pslverr), .req_o(req), .we_o(we), .cpu_o(cpu), .addr_o(addr),
    .wdata_o(wdata), .rvalid_i(answer_2), .err_i, .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // A transfer is open from its setup phase to the clock of pready.
  logic        live_q, open_q, asked_q, told_q, err_q, write_q;
  logic [2:0]  age_q, prot_q;
  logic [3:0]  strb_q;
  logic [AddrWidth-1:0] addr_q;
  logic [31:0] data_q, answer_q;
  logic        refused;
  assign refused = 32'(addr_q >> WindowWidth) >= NumCpus || addr_q[1:0] != 2'd0 || (write_q && strb_q != 4'b1111) ||
                   (PrivilegedOnly && !prot_q[0]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= 1'b0;
      open_q   <= 1'b0;
      asked_q  <= 1'b0;
      told_q   <= 1'b0;
      answer_1 <= 1'b0;
      answer_2 <= 1'b0;
      age_q    <= '0;
    end else begin
      live_q   <= 1'b1;
      answer_1 <= req;
      answer_2 <= answer_1;
      if (psel_i && !penable_i) {open_q, asked_q, told_q, age_q} <= {3'b100, 3'd0};
      else if (pready) open_q <= 1'b0;
      if (open_q && penable_i) age_q <= age_q + 3'd1;
      if (req) asked_q <= 1'b1;
      if (answer_2) told_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (psel_i && !penable_i) begin
      write_q <= pwrite_i;
      addr_q  <= paddr_i;
      prot_q  <= pprot_i;
      data_q  <= pwdata_i;
      strb_q  <= pstrb_i;
    end
    if (answer_2) begin
      answer_q <= rdata_i;
      err_q    <= err_i;
    end
  end

  // What the module behind sees, a clock ago.
  logic [1+CpuWidth+WindowWidth-2-1:0] asks_q;
  logic [31:0] wdata_q;
  logic        taken_q, answer_3;
  always_ff @(posedge clk_i) begin
    asks_q   <= {we, cpu, addr};
    wdata_q  <= wdata;
    taken_q  <= psel_i && !penable_i;
    answer_3 <= answer_2;
  end

  always_comb begin
    if (!live_q) assume (!psel_i);
    assume (penable_i == open_q);
    if (penable_i) assume (psel_i && pwrite_i == write_q && paddr_i == addr_q && pprot_i == prot_q && pwdata_i == data_q && pstrb_i == strb_q);
  end

  always_comb if (rst_ni && live_q) begin
    if (pready) assert (open_q && psel_i && penable_i);
    if (pslverr) assert (pready);
    if (req) assert (open_q && !asked_q && !refused && we == write_q && 32'(cpu) == 32'(addr_q >> WindowWidth) && addr == addr_q[WindowWidth-1:2]);
    if (req) assert (wdata == (we ? data_q : '0));
    if (pready) assert (refused ? !asked_q && pslverr && prdata == '0 : told_q && pslverr == err_q && prdata == answer_q);
    if (open_q) assert (age_q <= 3'd3);
    // Between transfers nothing moves; in one, all stands until the answer.
    if (!taken_q) assert ({we, cpu, addr} == asks_q && (answer_3 || wdata == wdata_q));
    cover (pready && told_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [1:0] SIdle = 2'd0, SRequest = 2'd1, SWait = 2'd2, SAnswer = 2'd3;
  (* hierconn *) wire [1:0]  \u_bus.state_q ;
  (* hierconn *) wire        \u_bus.we_q ;
  (* hierconn *) wire        \u_bus.err_q ;
  (* hierconn *) wire [AddrWidth-1:0] \u_bus.addr_q ;
  (* hierconn *) wire [31:0] \u_bus.data_q ;
  logic [1:0] state;
  assign state = \u_bus.state_q ;
  always_comb if (rst_ni && live_q) begin
    assert (open_q == (state != SIdle));
    assert ((answer_1 || answer_2) == (state == SWait) && !(answer_1 && answer_2));
    if (open_q) assert (\u_bus.we_q == write_q && \u_bus.addr_q == addr_q && (state == SAnswer || !refused));
    if (state == SRequest) assert (!asked_q && !told_q && age_q == 3'd0 && \u_bus.data_q == (write_q ? data_q : '0));
    if (state == SWait) assert (asked_q && !told_q && age_q == (answer_1 ? 3'd1 : 3'd2));
    if (state == SAnswer) begin
      assert (asked_q == !refused && told_q == !refused && age_q == (refused ? 3'd0 : 3'd3));
      assert (\u_bus.err_q == (refused || err_q) && \u_bus.data_q == (refused ? 32'd0 : answer_q));
    end
  end
`endif
endmodule
