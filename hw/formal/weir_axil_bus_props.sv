// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_axil_bus promises: the rules of AXI4-Lite on one side, one request a transfer on the other.
module weir_axil_bus_props #(
  parameter int unsigned NumCpus = 3,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic [15:0] awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [15:0] araddr_i,
  input logic        rready_i,
  input logic [31:0] rdata_i
);
  logic                awready, wready, bvalid, arready, rvalid, req, we, answer_1, answer_2, live_q;
  logic [1:0]          bresp, rresp;
  logic [31:0]         rdata, wdata;
  logic [CpuWidth-1:0] cpu;
  logic [10:2]         addr;

  weir_axil_bus #(.NumCpus(NumCpus)) u_bus (
    .clk_i, .rst_ni, .awvalid_i, .awready_o(awready), .awaddr_i, .wvalid_i, .wready_o(wready), .wdata_i, .wstrb_i,
    .bvalid_o(bvalid), .bready_i, .bresp_o(bresp), .arvalid_i, .arready_o(arready), .araddr_i, .rvalid_o(rvalid),
    .rready_i, .rdata_o(rdata), .rresp_o(rresp), .req_o(req), .we_o(we), .cpu_o(cpu), .addr_o(addr),
    .wdata_o(wdata), .rvalid_i(answer_2), .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The module behind answers after two clocks. What is under way: taken, asked for.
  logic        write_q, read_q, asked_q, whole_q, inside_q, bvalid_q, rvalid_q, bready_q, rready_q;
  logic [15:0] addr_q;
  logic [31:0] data_q, rdata_q, answer_q;
  logic [1:0]  bresp_q, rresp_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= 1'b0;
      answer_1 <= 1'b0;
      answer_2 <= 1'b0;
      write_q  <= 1'b0;
      read_q   <= 1'b0;
      asked_q  <= 1'b0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      live_q   <= 1'b1;
      answer_1 <= req;
      answer_2 <= answer_1;
      bvalid_q <= bvalid;
      rvalid_q <= rvalid;
      if (awvalid_i && awready) write_q <= 1'b1;
      else if (bvalid && bready_i) write_q <= 1'b0;
      if (arvalid_i && arready) read_q <= 1'b1;
      else if (rvalid && rready_i) read_q <= 1'b0;
      if (req) asked_q <= 1'b1;
      if ((awvalid_i && awready) || (arvalid_i && arready)) asked_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready) begin
      addr_q   <= awaddr_i;
      data_q   <= wdata_i;
      whole_q  <= wstrb_i == 4'b1111;
      inside_q <= 32'(awaddr_i[15:11]) < NumCpus;
    end
    if (arvalid_i && arready) begin
      addr_q   <= araddr_i;
      whole_q  <= 1'b1;
      inside_q <= 32'(araddr_i[15:11]) < NumCpus;
    end
    if (answer_2) answer_q <= rdata_i;
    bready_q <= bready_i;
    rready_q <= rready_i;
    bresp_q  <= bresp;
    rresp_q  <= rresp;
    rdata_q  <= rdata;
  end

  always_comb if (rst_ni && live_q) begin
    // Address and data of a write are taken together, one transfer at a time.
    assert (awready == wready && (!awready || (awvalid_i && wvalid_i)));
    assert (!(awready && arready) && !(write_q && read_q));
    if (write_q || read_q) assert (!awready && !arready);
    // Answers come to what was taken only, stay until they are taken, and do not change.
    if (bvalid) assert (write_q);
    if (rvalid) assert (read_q);
    if (bvalid_q && !bready_q) assert (bvalid && bresp == bresp_q);
    if (rvalid_q && !rready_q) assert (rvalid && rresp == rresp_q && rdata == rdata_q);
    // One request a transfer, of the right CPU; none for what is refused.
    if (req) begin
      assert ((write_q || read_q) && !asked_q && whole_q && inside_q && we == write_q);
      assert (32'(cpu) == 32'(addr_q[15:11]) && addr == addr_q[10:2]);
      if (write_q) assert (wdata == data_q);
    end
    if (bvalid) assert (bresp == (!inside_q ? 2'd3 : !whole_q ? 2'd2 : 2'd0) && asked_q == (inside_q && whole_q));
    if (rvalid) assert (rresp == (inside_q ? 2'd0 : 2'd3) && asked_q == inside_q);
    if (rvalid && inside_q) assert (rdata == answer_q);
    cover (rvalid && inside_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SRequest = 3'd1, SWait = 3'd2, SWriteAnswer = 3'd3, SReadAnswer = 3'd4;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]  \u_bus.state_q ;
  (* hierconn *) wire        \u_bus.write_q ;
  (* hierconn *) wire [15:0] \u_bus.addr_q ;
  (* hierconn *) wire [31:0] \u_bus.data_q ;
  (* hierconn *) wire [1:0]  \u_bus.resp_q ;
  logic [2:0] state;
  assign state = \u_bus.state_q ;
  always_comb if (rst_ni && live_q) begin
    assert (state <= SReadAnswer);
    assert ((write_q || read_q) == (state != SIdle));
    assert ((answer_1 || answer_2) == (state == SWait) && !(answer_1 && answer_2));
    if (state != SIdle) begin
      assert (\u_bus.write_q == write_q && \u_bus.addr_q == addr_q);
      assert (\u_bus.resp_q == (!inside_q ? 2'd3 : !whole_q ? 2'd2 : 2'd0));
      if (read_q) assert (whole_q);
    end
    if (state == SRequest) assert (!asked_q && inside_q && whole_q && (read_q || \u_bus.data_q == data_q));
    if (state == SWait) assert (asked_q && inside_q && whole_q);
    if (state == SWriteAnswer || state == SReadAnswer) begin
      assert (write_q == (state == SWriteAnswer) && asked_q == (inside_q && whole_q));
      if (asked_q) assert (\u_bus.data_q == answer_q);
    end
  end
`endif
endmodule
