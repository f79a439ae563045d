// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_axil_bus promises: the rules of AXI4-Lite on one side, one request a transfer on the other.
module weir_axil_bus_props #(
  parameter int unsigned NumCpus = 3,
  parameter int unsigned WindowWidth = 11,
  parameter bit PrivilegedOnly = 1'b1,
  localparam int unsigned AddrWidth = (WindowWidth < 27) ? WindowWidth + 5 : 32,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic [AddrWidth-1:0] awaddr_i,
  input logic [2:0]  awprot_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [AddrWidth-1:0] araddr_i,
  input logic [2:0]  arprot_i,
  input logic        rready_i,
  input logic        err_i,
  input logic [31:0] rdata_i
);
  logic                awready, wready, bvalid, arready, rvalid, req, we, answer_1, answer_2, live_q;
  logic [1:0]          bresp, rresp;
  logic [31:0]         rdata, wdata;
  logic [CpuWidth-1:0] cpu;
  logic [WindowWidth-1:2] addr;

  weir_axil_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth), .PrivilegedOnly(PrivilegedOnly)) u_bus (
    .clk_i, .rst_ni, .awvalid_i, .awready_o(awready), .awaddr_i, .awprot_i, .wvalid_i, .wready_o(wready), .wdata_i, .wstrb_i,
    .bvalid_o(bvalid), .bready_i, .bresp_o(bresp), .arvalid_i, .arready_o(arready), .araddr_i, .arprot_i, .rvalid_o(rvalid),
    .rready_i, .rdata_o(rdata), .rresp_o(rresp), .req_o(req), .we_o(we), .cpu_o(cpu), .addr_o(addr),
    .wdata_o(wdata), .rvalid_i(answer_2), .err_i, .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The module behind answers after two clocks. What was taken and not answered; what of it was asked for, and answered by the module.
  logic        aw_q, w_q, ar_q, asked_q, told_q, writes_q, err_q, bvalid_q, rvalid_q, bready_q, rready_q;
  logic        aw_priv_q, ar_priv_q, whole_q;
  logic [AddrWidth-1:0] aw_addr_q, ar_addr_q, addr_q;
  logic [31:0] data_q, rdata_q, answer_q;
  logic [1:0]  bresp_q, rresp_q, write_resp, read_resp;

  // Clocks without an answer to what is whole and waits, and answers of the other kind while it waits.
  logic [2:0] age_q;
  logic [1:0] reads_q, writes_before_q;

  function automatic logic [1:0] verdict(input logic [AddrWidth-1:0] a, input logic priv, input logic whole);
    verdict = (a[1:0] != 2'd0 || !whole || (PrivilegedOnly && !priv)) ? 2'd2 : 2'd0;
    if (32'(a >> WindowWidth) >= NumCpus) verdict = 2'd3;
  endfunction
  assign write_resp = verdict(aw_addr_q, aw_priv_q, whole_q);
  assign read_resp  = verdict(ar_addr_q, ar_priv_q, 1'b1);
  assign addr_q     = we ? aw_addr_q : ar_addr_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= 1'b0;
      answer_1 <= 1'b0;
      answer_2 <= 1'b0;
      aw_q     <= 1'b0;
      w_q      <= 1'b0;
      ar_q     <= 1'b0;
      asked_q  <= 1'b0;
      told_q   <= 1'b0;
      writes_q <= 1'b0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
      age_q    <= '0;
      reads_q  <= '0;
      writes_before_q <= '0;
    end else begin
      age_q    <= ((aw_q && w_q) || ar_q) && !bvalid && !rvalid ? age_q + 3'd1 : '0;
      if (!(aw_q && w_q) || bvalid) reads_q <= '0;
      else if (rvalid && rready_i) reads_q <= reads_q + 2'd1;
      if (!ar_q || rvalid) writes_before_q <= '0;
      else if (bvalid && bready_i) writes_before_q <= writes_before_q + 2'd1;
      live_q   <= 1'b1;
      answer_1 <= req;
      answer_2 <= answer_1;
      bvalid_q <= bvalid;
      rvalid_q <= rvalid;
      if (awvalid_i && awready) aw_q <= 1'b1;
      if (wvalid_i && wready) w_q <= 1'b1;
      if (arvalid_i && arready) ar_q <= 1'b1;
      if (bvalid && bready_i) {aw_q, w_q} <= 2'b00;
      if (rvalid && rready_i) ar_q <= 1'b0;
      if (req) begin
        asked_q  <= 1'b1;
        writes_q <= we;
      end
      if (answer_2) told_q <= 1'b1;
      if ((bvalid && bready_i) || (rvalid && rready_i)) {asked_q, told_q} <= 2'b00;
    end
  end
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready) begin
      aw_addr_q <= awaddr_i;
      aw_priv_q <= awprot_i[0];
    end
    if (wvalid_i && wready) begin
      data_q  <= wdata_i;
      whole_q <= wstrb_i == 4'b1111;
    end
    if (arvalid_i && arready) begin
      ar_addr_q <= araddr_i;
      ar_priv_q <= arprot_i[0];
    end
    if (answer_2) begin
      answer_q <= rdata_i;
      err_q    <= err_i;
    end
    bready_q <= bready_i;
    rready_q <= rready_i;
    bresp_q  <= bresp;
    rresp_q  <= rresp;
    rdata_q  <= rdata;
  end

  // What the module behind sees, a clock ago.
  logic [1+CpuWidth+WindowWidth-2+32-1:0] asks_q;
  logic req_q;
  always_ff @(posedge clk_i) begin
    asks_q <= {we, cpu, addr, wdata};
    req_q  <= req;
  end

  always_comb if (rst_ni && live_q) begin
    // Ready is a matter of what was taken before: of registers, so no path leads from an input to it.
    assert (awready == !aw_q && wready == !w_q && arready == !ar_q);
    // Answers come to what was taken only, one at a time, stay until they are taken, and do not change.
    if (bvalid) assert (aw_q && w_q && !rvalid);
    if (rvalid) assert (ar_q);
    if (bvalid_q && !bready_q) assert (bvalid && bresp == bresp_q);
    if (rvalid_q && !rready_q) assert (rvalid && rresp == rresp_q && rdata == rdata_q);
    // One request a transfer, after the answer to the one before, of the right CPU; none for what is refused.
    if (req) begin
      assert (!asked_q && !bvalid && !rvalid && (we ? aw_q && w_q && write_resp == 2'd0 : ar_q && read_resp == 2'd0));
      assert (32'(cpu) == 32'(addr_q >> WindowWidth) && addr == addr_q[WindowWidth-1:2]);
      if (we) assert (wdata == data_q);
    end
    // It stands until the answer.
    if (req_q || answer_2) assert ({we, cpu, addr} == asks_q[32+:1+CpuWidth+WindowWidth-2]);
    if ((req_q || answer_2) && we) assert (wdata == asks_q[31:0]);
    // A transfer that was refused has asked for nothing; another has the answer of the module, errors included.
    if (bvalid) assert (write_resp == 2'd0 ? told_q && writes_q && bresp == (err_q ? 2'd2 : 2'd0) : !asked_q && bresp == write_resp);
    if (rvalid) assert (read_resp == 2'd0 ? told_q && !writes_q && rresp == (err_q ? 2'd2 : 2'd0) && rdata == answer_q :
                        !asked_q && rresp == read_resp && rdata == '0);
    // In time: three clocks after all of it is there, and after at most one transfer of the other kind.
    assert (age_q <= 3'd3 && reads_q <= 2'd1 && writes_before_q <= 2'd1);
    cover (rvalid && told_q && !err_q);
    cover (bvalid && told_q && aw_q && ar_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [1:0] SIdle = 2'd0, SWait = 2'd1, SWriteAnswer = 2'd2, SReadAnswer = 2'd3;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [1:0]  \u_bus.state_q ;
  (* hierconn *) wire        \u_bus.turn_q ;
  (* hierconn *) wire        \u_bus.aw_q ;
  (* hierconn *) wire        \u_bus.w_q ;
  (* hierconn *) wire        \u_bus.ar_q ;
  (* hierconn *) wire        \u_bus.aw_plain_q ;
  (* hierconn *) wire        \u_bus.ar_plain_q ;
  (* hierconn *) wire        \u_bus.w_whole_q ;
  (* hierconn *) wire [AddrWidth-1:0] \u_bus.aw_addr_q ;
  (* hierconn *) wire [AddrWidth-1:0] \u_bus.ar_addr_q ;
  (* hierconn *) wire [31:0] \u_bus.data_q ;
  (* hierconn *) wire [31:0] \u_bus.read_q ;
  (* hierconn *) wire [1:0]  \u_bus.resp_q ;
  logic [1:0] state;
  assign state = \u_bus.state_q ;
  always_comb if (rst_ni && live_q) begin
    assert (\u_bus.aw_q == aw_q && \u_bus.w_q == w_q && \u_bus.ar_q == ar_q);
    if (aw_q) assert (\u_bus.aw_addr_q == aw_addr_q && \u_bus.aw_plain_q == !aw_priv_q);
    if (w_q) assert (\u_bus.data_q == data_q && \u_bus.w_whole_q == whole_q);
    if (ar_q) assert (\u_bus.ar_addr_q == ar_addr_q && \u_bus.ar_plain_q == !ar_priv_q);
    assert ((answer_1 || answer_2) == (state == SWait) && !(answer_1 && answer_2));
    if (state == SIdle) assert (!asked_q && !told_q && age_q == '0);
    if (state == SWait) assert (age_q == (answer_1 ? 3'd1 : 3'd2));
    if (reads_q != '0) assert (\u_bus.turn_q == (state != SIdle));
    if (writes_before_q != '0) assert (\u_bus.turn_q == (state == SIdle));
    if (state == SWait) begin
      assert (asked_q && !told_q && writes_q == \u_bus.turn_q );
      assert (writes_q ? aw_q && w_q && write_resp == 2'd0 : ar_q && read_resp == 2'd0);
    end
    if (state == SWriteAnswer) assert (aw_q && w_q && asked_q == told_q && asked_q == (write_resp == 2'd0));
    if (state == SReadAnswer) assert (ar_q && asked_q == told_q && asked_q == (read_resp == 2'd0));
    if (state == SWriteAnswer || state == SReadAnswer) begin
      assert (\u_bus.turn_q == (state == SWriteAnswer));
      if (told_q) assert (\u_bus.resp_q == (err_q ? 2'd2 : 2'd0) && \u_bus.read_q == answer_q && writes_q == (state == SWriteAnswer));
      else assert (\u_bus.resp_q == (state == SWriteAnswer ? write_resp : read_resp) && \u_bus.read_q == '0);
    end
  end
`endif
endmodule
