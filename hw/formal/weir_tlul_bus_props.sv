// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_tlul_bus promises a master that keeps the rules of TL-UL: one request a message that is taken on A, its answer on D, of its source
/// and size, in time, until it is taken; none for what is denied. Ready and answers do not depend on inputs of the same clock (they are of registers).
module weir_tlul_bus_props #(
  parameter int unsigned NumCpus = 3,
  parameter int unsigned WindowWidth = 11,
  parameter int unsigned SourceWidth = 3,
  parameter int unsigned SizeWidth = 2,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        tl_a_valid_i,
  input logic [2:0]  tl_a_opcode_i,
  input logic [SizeWidth-1:0] tl_a_size_i,
  input logic [SourceWidth-1:0] tl_a_source_i,
  input logic [31:0] tl_a_address_i,
  input logic [3:0]  tl_a_mask_i,
  input logic [31:0] tl_a_data_i,
  input logic        tl_a_corrupt_i,
  input logic        tl_d_ready_i,
  input logic        err_i,
  input logic [31:0] rdata_i
);
  logic                   ready, valid, denied, corrupt, req, we, answer_1, answer_2;
  logic [2:0]             opcode;
  logic [SizeWidth-1:0]   size;
  logic [SourceWidth-1:0] source;
  logic [31:0]            data, wdata;
  logic [CpuWidth-1:0]    cpu;
  logic [WindowWidth-1:2] addr;

  weir_tlul_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth), .SourceWidth(SourceWidth), .SizeWidth(SizeWidth)) u_bus (
    .clk_i, .rst_ni, .tl_a_valid_i, .tl_a_ready_o(ready), .tl_a_opcode_i, .tl_a_size_i, .tl_a_source_i, .tl_a_address_i,
    .tl_a_mask_i, .tl_a_data_i, .tl_a_corrupt_i, .tl_d_valid_o(valid), .tl_d_ready_i, .tl_d_opcode_o(opcode), .tl_d_size_o(size),
    .tl_d_source_o(source), .tl_d_denied_o(denied), .tl_d_data_o(data), .tl_d_corrupt_o(corrupt), .req_o(req), .we_o(we),
    .cpu_o(cpu), .addr_o(addr), .wdata_o(wdata), .rvalid_i(answer_2), .err_i, .rdata_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The message that was taken, until its answer is: what it asks, whether its request was made, and answered.
  logic                   live_q, open_q, asked_q, told_q, err_q, stands_q, refused, held_q, corrupt_q, get;
  logic [2:0]             age_q, opcode_q;
  logic [3:0]             mask_q;
  logic [SizeWidth-1:0]   size_q;
  logic [SourceWidth-1:0] source_q;
  logic [31:0]            addr_q, data_q, answer_q;
  assign get     = opcode_q == 3'd4;
  assign refused = addr_q >> WindowWidth >= NumCpus || addr_q[1:0] != 2'd0 || size_q != SizeWidth'(2) || mask_q != 4'b1111 || corrupt_q ||
                   !(get || opcode_q == 3'd0 || opcode_q == 3'd1);

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
      stands_q <= tl_a_valid_i && !ready;
      held_q   <= valid && !tl_d_ready_i;
      if (tl_a_valid_i && ready) {open_q, asked_q, told_q, age_q} <= {3'b100, 3'd1};
      else if (valid && tl_d_ready_i) open_q <= 1'b0;
      else if (age_q != 3'd7) age_q <= age_q + 3'd1;
      if (req) asked_q <= 1'b1;
      if (answer_2) told_q <= 1'b1;
    end
  end
  // What a master asks stands until it is taken; so does the answer.
  localparam int unsigned AskWidth = 3 + SizeWidth + SourceWidth + 32 + 4 + 32 + 1, ShowWidth = 3 + SizeWidth + SourceWidth + 1 + 32 + 1;
  logic [AskWidth-1:0]  ask, ask_q;
  logic [ShowWidth-1:0] show, show_q;
  assign ask  = {tl_a_opcode_i, tl_a_size_i, tl_a_source_i, tl_a_address_i, tl_a_mask_i, tl_a_data_i, tl_a_corrupt_i};
  assign show = {opcode, size, source, denied, data, corrupt};
  always_ff @(posedge clk_i) begin
    if (tl_a_valid_i && ready) {opcode_q, size_q, source_q, addr_q, mask_q, data_q, corrupt_q} <= ask;
    if (answer_2) begin
      answer_q <= rdata_i;
      err_q    <= err_i;
    end
    ask_q  <= ask;
    show_q <= show;
  end

  // What the module behind sees, a clock ago.
  logic [1+CpuWidth+WindowWidth-2-1:0] asks_q;
  logic [31:0] wdata_q;
  logic        taken_q, answer_3;
  always_ff @(posedge clk_i) begin
    asks_q   <= {we, cpu, addr};
    wdata_q  <= wdata;
    taken_q  <= tl_a_valid_i && ready;
    answer_3 <= answer_2;
  end

  always_comb begin
    if (!live_q) assume (!tl_a_valid_i);
    if (stands_q) assume (tl_a_valid_i && ask == ask_q);
  end

  always_comb if (rst_ni && live_q) begin
    // One message at a time; an answer is that of the message which was taken, and stands until it is taken itself.
    assert (ready == !open_q);
    if (valid) assert (open_q);
    if (held_q) assert (valid && show == show_q);
    if (req) assert (open_q && !asked_q && !refused && we == !get && 32'(cpu) == addr_q >> WindowWidth && addr == addr_q[WindowWidth-1:2]);
    if (req) assert (wdata == (we ? data_q : '0));
    if (valid) begin
      assert (opcode == (get ? 3'd1 : 3'd0) && size == size_q && source == source_q);
      assert (refused ? !asked_q && denied && data == '0 : told_q && denied == err_q && data == answer_q);
      // A Get that is denied has data that say nothing; an AccessAck has none.
      assert (corrupt == (denied && get));
    end
    if (open_q && !valid) assert (age_q <= 3'd3);
    // Between transfers nothing moves; in one, all stands until the answer.
    if (!taken_q) assert ({we, cpu, addr} == asks_q && (answer_3 || wdata == wdata_q));
    cover (valid && told_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [1:0] SIdle = 2'd0, SRequest = 2'd1, SWait = 2'd2, SAnswer = 2'd3;
  (* hierconn *) wire [1:0]             \u_bus.state_q ;
  (* hierconn *) wire                   \u_bus.we_q ;
  (* hierconn *) wire                   \u_bus.get_q ;
  (* hierconn *) wire                   \u_bus.denied_q ;
  (* hierconn *) wire [SizeWidth-1:0]   \u_bus.size_q ;
  (* hierconn *) wire [SourceWidth-1:0] \u_bus.source_q ;
  (* hierconn *) wire [CpuWidth-1:0]    \u_bus.cpu_q ;
  (* hierconn *) wire [WindowWidth-3:0] \u_bus.addr_q ;
  (* hierconn *) wire [31:0]            \u_bus.data_q ;
  logic [1:0] state;
  assign state = \u_bus.state_q ;
  always_comb if (rst_ni && live_q) begin
    assert (open_q == (state != SIdle));
    assert ((answer_1 || answer_2) == (state == SWait) && !(answer_1 && answer_2));
    if (open_q) assert (\u_bus.get_q == get && \u_bus.size_q == size_q && \u_bus.source_q == source_q && (refused || \u_bus.we_q == !get));
    if (open_q) assert (\u_bus.addr_q == addr_q[WindowWidth-1:2] && (state == SAnswer || !refused));
    if (open_q) assert (refused || 32'(\u_bus.cpu_q ) == addr_q >> WindowWidth);
    if (state == SRequest) assert (!asked_q && !told_q && age_q == 3'd1 && \u_bus.data_q == (get ? '0 : data_q));
    if (state == SWait) assert (asked_q && !told_q && age_q == (answer_1 ? 3'd2 : 3'd3));
    if (state == SAnswer) begin
      assert (asked_q == !refused && told_q == !refused);
      assert (\u_bus.denied_q == (refused || err_q) && \u_bus.data_q == (refused ? 32'd0 : answer_q));
    end
  end
`endif
endmodule
