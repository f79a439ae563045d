// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_calls_share promises, for any calls of masters and any slave: each call is made once, as its master made it; its answer goes to
/// that master; no master is served twice while another waits.
module weir_calls_share_props #(
  parameter int unsigned NumMasters = 3,
  localparam int unsigned MasterWidth = $clog2(NumMasters)
) (
  input logic                        clk_i,
  input logic                        rst_ni,
  input logic [NumMasters-1:0]       req_i,
  input logic [NumMasters-1:0]       we_i,
  input logic [NumMasters-1:0][24:2] addr_i,
  input logic [NumMasters-1:0][31:0] wdata_i,
  input logic                        rvalid_i,
  input logic [31:0]                 rdata_i
);
  logic [NumMasters-1:0] rvalid;
  logic [31:0]           rdata, wdata;
  logic                  req, we;
  logic [24:2]           addr;
  // Whose call is made.
  logic [MasterWidth-1:0] turn;
  weir_calls_share #(.NumMasters(NumMasters)) u_share (
    .clk_i, .rst_ni, .req_i, .we_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .req_o(req), .we_o(we), .addr_o(addr), .wdata_o(wdata), .master_o(turn), .rvalid_i, .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // Calls that wait for the slave, the one that is under way there, and who has been served since a master began to wait.
  logic [NumMasters-1:0]                 waits_q, waits, made_q, we_q;
  logic [NumMasters-1:0][24:2]           addr_q;
  logic [NumMasters-1:0][31:0]           wdata_q;
  logic [NumMasters-1:0][NumMasters-1:0] served_q;
  assign waits = waits_q | req_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q  <= '0;
      made_q   <= '0;
      served_q <= '0;
    end else begin
      waits_q <= waits;
      if (req) begin
        waits_q[turn] <= 1'b0;
        made_q        <= '0;
        made_q[turn]  <= 1'b1;
      end else if (rvalid_i) made_q <= '0;
      for (int m = 0; m < NumMasters; m++) begin
        if (!waits[m]) served_q[m] <= '0;
        else if (req) served_q[m][turn] <= 1'b1;
        if (req && turn == MasterWidth'(m)) served_q[m] <= '0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    we_q    <= we_i;
    addr_q  <= addr_i;
    wdata_q <= wdata_i;
  end

  always_comb begin
    // A master has one call at a time, and holds it; the slave answers what it was asked.
    for (int m = 0; m < NumMasters; m++) begin
      if (waits_q[m] || made_q[m]) assume (!req_i[m]);
      if (waits_q[m] || made_q[m]) assume (we_i[m] == we_q[m] && addr_i[m] == addr_q[m] && wdata_i[m] == wdata_q[m]);
    end
    if (made_q == '0) assume (!rvalid_i);
    if (!rst_ni) assume (req_i == '0);
  end

  always_comb if (rst_ni) begin
    // Made once, as it is, while no other is under way, and as soon as that is so.
    if (req) begin
      assert (made_q == '0 && waits[turn]);
      assert (we == we_i[turn] && addr == addr_i[turn] && wdata == wdata_i[turn]);
    end
    if (made_q == '0 && waits != '0) assert (req);
    // Whose call it is stands until the answer.
    if (made_q != '0) assert (made_q[turn]);
    // The answer is for the master whose call is under way.
    assert (rvalid == (rvalid_i ? made_q : '0));
    assert (rdata == rdata_i);
    for (int m = 0; m < NumMasters; m++) if (waits[m] && req && turn != MasterWidth'(m)) assert (!served_q[m][turn]);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire [NumMasters-1:0]  \u_share.wait_q ;
  (* hierconn *) wire [MasterWidth-1:0] \u_share.turn_q ;
  (* hierconn *) wire                   \u_share.busy_q ;
  always_comb if (rst_ni) begin
    assert (\u_share.wait_q == waits_q && \u_share.turn_q < NumMasters && \u_share.busy_q == (made_q != '0));
    if (made_q != '0) assert (made_q == NumMasters'(1) << \u_share.turn_q );
    assert ((waits_q & made_q) == '0);
    for (int m = 0; m < NumMasters; m++) begin
      assert (!served_q[m][m]);
      if (!waits_q[m]) assert (served_q[m] == '0);
      // Who was served since m began to wait is behind it in turn.
      for (int o = 0; o < NumMasters; o++)
        if (served_q[m][o]) assert (waits_q[m] && (32'(m) + NumMasters - 1 - 32'(\u_share.turn_q )) % NumMasters <
                                    (32'(o) + NumMasters - 1 - 32'(\u_share.turn_q )) % NumMasters);
    end
  end
`endif
endmodule
