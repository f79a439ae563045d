// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_obi_bus promises a master that keeps the rules of OBI: one request an access that is granted, its answer, in order and in time,
/// until it is taken; none for what is refused. Grants and answers do not depend on inputs of the same clock (they are of registers).
module weir_obi_bus_props #(
  parameter int unsigned NumCpus = 3,
  parameter int unsigned WindowWidth = 11,
  parameter bit PrivilegedOnly = 1'b1,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        obi_req_i,
  input logic [31:0] obi_addr_i,
  input logic        obi_we_i,
  input logic [3:0]  obi_be_i,
  input logic [31:0] obi_wdata_i,
  input logic [2:0]  obi_prot_i,
  input logic        obi_rready_i,
  input logic        err_i,
  input logic [31:0] rdata_i
);
  logic                   gnt, rvalid, err, req, we, answer_1, answer_2;
  logic [31:0]            rdata, wdata;
  logic [CpuWidth-1:0]    cpu;
  logic [WindowWidth-1:2] addr;

  weir_obi_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth), .PrivilegedOnly(PrivilegedOnly)) u_bus (
    .clk_i, .rst_ni, .obi_req_i, .obi_gnt_o(gnt), .obi_addr_i, .obi_we_i, .obi_be_i, .obi_wdata_i, .obi_prot_i,
    .obi_rvalid_o(rvalid), .obi_rready_i, .obi_rdata_o(rdata), .obi_err_o(err), .req_o(req), .we_o(we), .cpu_o(cpu),
    .addr_o(addr), .wdata_o(wdata), .rvalid_i(answer_2), .err_i, .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The access that was granted, until its answer is taken: what it asks, whether its request was made, and answered.
  logic        live_q, open_q, asked_q, told_q, err_q, we_q, stands_q, refused, held_q;
  logic [2:0]  age_q, prot_q;
  logic [3:0]  be_q;
  logic [31:0] addr_q, data_q, answer_q;
  assign refused = addr_q >> WindowWidth >= NumCpus || addr_q[1:0] != 2'd0 || be_q != 4'b1111 || (PrivilegedOnly && prot_q[2:1] == 2'd0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= 1'b0;
      open_q   <= 1'b0;
      asked_q  <= 1'b0;
      told_q   <= 1'b0;
      answer_1 <= 1'b0;
      answer_2 <= 1'b0;
      stands_q <= 1'b0;
      held_q   <= 1'b0;
      age_q    <= '0;
    end else begin
      live_q   <= 1'b1;
      answer_1 <= req;
      answer_2 <= answer_1;
      stands_q <= obi_req_i && !gnt;
      held_q   <= rvalid && !obi_rready_i;
      if (obi_req_i && gnt) {open_q, asked_q, told_q, age_q} <= {3'b100, 3'd1};
      else if (rvalid && obi_rready_i) open_q <= 1'b0;
      else if (age_q != 3'd7) age_q <= age_q + 3'd1;
      if (req) asked_q <= 1'b1;
      if (answer_2) told_q <= 1'b1;
    end
  end
  // What a master asks stands until it is granted.
  logic        ask_we_q;
  logic [2:0]  ask_prot_q;
  logic [3:0]  ask_be_q;
  logic [31:0] ask_addr_q, ask_data_q, shown_q;
  logic        shown_err_q;
  always_ff @(posedge clk_i) begin
    if (obi_req_i && gnt) begin
      we_q   <= obi_we_i;
      addr_q <= obi_addr_i;
      prot_q <= obi_prot_i;
      data_q <= obi_wdata_i;
      be_q   <= obi_be_i;
    end
    if (answer_2) begin
      answer_q <= rdata_i;
      err_q    <= err_i;
    end
    ask_we_q    <= obi_we_i;
    ask_prot_q  <= obi_prot_i;
    ask_be_q    <= obi_be_i;
    ask_addr_q  <= obi_addr_i;
    ask_data_q  <= obi_wdata_i;
    shown_q     <= rdata;
    shown_err_q <= err;
  end

  // What the module behind sees, a clock ago.
  logic [1+CpuWidth+WindowWidth-2-1:0] asks_q;
  logic [31:0] wdata_q;
  logic        taken_q, answer_3;
  always_ff @(posedge clk_i) begin
    asks_q   <= {we, cpu, addr};
    wdata_q  <= wdata;
    taken_q  <= obi_req_i && gnt;
    answer_3 <= answer_2;
  end

  always_comb begin
    if (!live_q) assume (!obi_req_i);
    if (stands_q) assume (obi_req_i && obi_we_i == ask_we_q && obi_prot_i == ask_prot_q && obi_be_i == ask_be_q &&
                          obi_addr_i == ask_addr_q && obi_wdata_i == ask_data_q);
  end

  always_comb if (rst_ni && live_q) begin
    // One access at a time; an answer is that of the access which was granted, and stands until it is taken.
    assert (gnt == !open_q);
    if (rvalid) assert (open_q);
    if (held_q) assert (rvalid && rdata == shown_q && err == shown_err_q);
    if (req) assert (open_q && !asked_q && !refused && we == we_q && 32'(cpu) == addr_q >> WindowWidth && addr == addr_q[WindowWidth-1:2]);
    if (req) assert (wdata == (we ? data_q : '0));
    if (rvalid) assert (refused ? !asked_q && err && rdata == '0 : told_q && err == err_q && rdata == answer_q);
    if (open_q && !rvalid) assert (age_q <= 3'd3);
    // Between transfers nothing moves; in one, all stands until the answer.
    if (!taken_q) assert ({we, cpu, addr} == asks_q && (answer_3 || wdata == wdata_q));
    cover (rvalid && told_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [1:0] SIdle = 2'd0, SRequest = 2'd1, SWait = 2'd2, SAnswer = 2'd3;
  (* hierconn *) wire [1:0]             \u_bus.state_q ;
  (* hierconn *) wire                   \u_bus.we_q ;
  (* hierconn *) wire                   \u_bus.err_q ;
  (* hierconn *) wire [CpuWidth-1:0]    \u_bus.cpu_q ;
  (* hierconn *) wire [WindowWidth-3:0] \u_bus.addr_q ;
  (* hierconn *) wire [31:0]            \u_bus.data_q ;
  logic [1:0] state;
  assign state = \u_bus.state_q ;
  always_comb if (rst_ni && live_q) begin
    assert (open_q == (state != SIdle));
    assert ((answer_1 || answer_2) == (state == SWait) && !(answer_1 && answer_2));
    if (open_q) assert (\u_bus.we_q == we_q && \u_bus.addr_q == addr_q[WindowWidth-1:2] && (state == SAnswer || !refused));
    if (open_q) assert (refused || 32'(\u_bus.cpu_q ) == addr_q >> WindowWidth);
    if (state == SRequest) assert (!asked_q && !told_q && age_q == 3'd1 && \u_bus.data_q == (we_q ? data_q : '0));
    if (state == SWait) assert (asked_q && !told_q && age_q == (answer_1 ? 3'd2 : 3'd3));
    if (state == SAnswer) begin
      assert (asked_q == !refused && told_q == !refused);
      assert (\u_bus.err_q == (refused || err_q) && \u_bus.data_q == (refused ? 32'd0 : answer_q));
    end
  end
`endif
endmodule
