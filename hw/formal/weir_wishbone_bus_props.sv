// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_wishbone_bus promises, for masters that may give up a cycle at any time: at most one request a cycle, its answer and no other.
module weir_wishbone_bus_props #(
  parameter int unsigned NumCpus = 3,
  parameter int unsigned WindowWidth = 11,
  localparam int unsigned AddrWidth = (WindowWidth < 27) ? WindowWidth + 5 : 32,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        cyc_i,
  input logic        stb_i,
  input logic        we_i,
  input logic [AddrWidth-1:2] adr_i,
  input logic [3:0]  sel_i,
  input logic [31:0] dat_i,
  input logic        err_i,
  input logic [31:0] rdata_i
);
  logic                ack, err, req, we, answer_1, answer_2;
  logic [31:0]         dat, wdata;
  logic [CpuWidth-1:0] cpu;
  logic [WindowWidth-1:2] addr;

  weir_wishbone_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth)) u_bus (
    .clk_i, .rst_ni, .cyc_i, .stb_i, .we_i, .adr_i, .sel_i, .dat_i, .dat_o(dat), .ack_o(ack), .err_o(err),
    .req_o(req), .we_o(we), .cpu_o(cpu), .addr_o(addr), .wdata_o(wdata), .rvalid_i(answer_2), .err_i, .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The cycle that stands since the clock before: what it asks; whether its request was made, and answered.
  logic        live_q, open_q, asked_q, told_q, err_q, we_q, go, refused;
  logic [2:0]  age_q;
  logic [3:0]  sel_q;
  logic [AddrWidth-1:2] adr_q;
  logic [31:0] dat_q, answer_q;
  assign go      = cyc_i && stb_i;
  assign refused = 32'(adr_q[AddrWidth-1:WindowWidth]) >= NumCpus || (we_q && sel_q != 4'b1111);

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
      open_q   <= go && !ack && !err;
      age_q    <= go && !ack && !err ? age_q + 3'(age_q != '1) : '0;
      // A request of the cycle; what is under way of one that was given up is nobody's.
      asked_q  <= go && !ack && !err && (asked_q || req);
      told_q   <= go && !ack && !err && (told_q || (asked_q && answer_2));
    end
  end
  always_ff @(posedge clk_i) begin
    we_q  <= we_i;
    adr_q <= adr_i;
    sel_q <= sel_i;
    dat_q <= dat_i;
    if (answer_2) begin
      answer_q <= rdata_i;
      err_q    <= err_i;
    end
  end
  // A master holds what it asks until the end.
  // What the module behind sees, a clock ago.
  logic [1+CpuWidth+WindowWidth-2-1:0] asks_q;
  logic [31:0] wdata_q;
  logic        answer_3;
  always_ff @(posedge clk_i) begin
    asks_q   <= {we, cpu, addr};
    wdata_q  <= wdata;
    answer_3 <= answer_2;
  end

  always_comb begin
    if (!live_q) assume (!go);
    if (open_q && go) assume (we_i == we_q && adr_i == adr_q && sel_i == sel_q && dat_i == dat_q);
  end

  always_comb if (rst_ni && live_q) begin
    assert (!(ack && err));
    // An end is that of a cycle which stood until now, and has the answer to its own request.
    if (ack || err) assert (open_q);
    if (ack) assert (!refused && told_q && !err_q && dat == answer_q);
    if (err) assert (refused ? !asked_q : told_q && err_q);
    if (req) assert (open_q && !asked_q && !refused && !answer_1 && !answer_2);
    if (req) assert (we == we_q && 32'(cpu) == 32'(adr_q[AddrWidth-1:WindowWidth]) && addr == adr_q[WindowWidth-1:2] && wdata == (we ? dat_q : '0));
    // In time, even if the answer to a cycle that was given up has to come first.
    if (go && !ack && !err) assert (age_q <= 3'd5);
    // Between transfers nothing moves; in one, all stands until the answer.
    if (!req && !err) assert ({we, cpu, addr} == asks_q && (answer_3 || wdata == wdata_q));
    cover (ack);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SRequest = 3'd1, SWait = 3'd2, SDrop = 3'd3, SAnswer = 3'd4;
  (* hierconn *) wire [2:0]  \u_bus.state_q ;
  (* hierconn *) wire        \u_bus.we_q ;
  (* hierconn *) wire        \u_bus.err_q ;
  (* hierconn *) wire [AddrWidth-3:0] \u_bus.addr_q ;
  (* hierconn *) wire [31:0] \u_bus.data_q ;
  logic [2:0] state;
  assign state = \u_bus.state_q ;
  always_comb if (rst_ni && live_q) begin
    assert (state <= SAnswer);
    // An answer is at most three clocks after its request, and what was given up leaves two before.
    if (state == SIdle) assert (age_q <= 3'd2);
    if (state == SDrop) assert (age_q <= 3'(answer_2));
    if (state == SRequest) assert (age_q <= 3'd3);
    if (state == SWait) assert (age_q <= 3'd4 + 3'(answer_2));
    assert ((answer_1 || answer_2) == (state == SWait || state == SDrop) && !(answer_1 && answer_2));
    if (state == SRequest || state == SWait || state == SAnswer)
      assert (open_q && \u_bus.we_q == we_q && \u_bus.addr_q == adr_q);
    if (state == SRequest) assert (!refused && !asked_q && !told_q && \u_bus.data_q == (we_q ? dat_q : '0));
    if (state == SWait) assert (!refused && asked_q && !told_q);
    if (state == SIdle || state == SDrop) assert (!asked_q && !told_q);
    if (state == SAnswer) begin
      assert (asked_q == !refused && told_q == !refused && \u_bus.err_q == (refused || err_q));
      if (!refused) assert (\u_bus.data_q == answer_q);
    end
  end
`endif
endmodule
