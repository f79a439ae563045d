// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_interrupts promises of line 0 (an edge) and line 1 (a level), for any calls: no event is lost between associating and
/// blocking, a wake-up goes to the thread that associated itself last and to it only, and enabled lines are served.
module weir_interrupts_props #(
  parameter int unsigned NumThreads = 4,
  /// Clocks within which a pending line is handed over, if there are no calls and the manager is quick.
  parameter int unsigned Latest = 6,
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [1:0]  lines_i,
  input logic        req_i,
  input logic [21:2] addr_i,
  input logic        op_done_i
);
  localparam logic [3:0] Associate = 4'd0, Enable = 4'd1, Disable = 4'd2, Clear = 4'd3;

  logic               rvalid, op_req, op_block;
  logic [31:0]        rdata;
  logic [IdWidth-1:0] op_id;
  weir_interrupts #(.NumLines(2), .Edges(2'b01), .NumThreads(NumThreads)) u_interrupts (
    .clk_i, .rst_ni, .lines_i, .req_i, .addr_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .op_req_o(op_req), .op_block_o(op_block), .op_id_o(op_id), .op_done_i
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  logic                     open_q, live_q, taken_q;
  logic [21:2]              addr_q;
  logic [3:0]               cmd, quiet_q;
  logic                     line;
  logic [1:0]               lines_q, lines_qq, enabled_q;
  logic [1:0][IdWidth-1:0]  thread_q;
  // An edge on line 0 that has not been reported yet.
  logic                     event_q;
  logic                     edge_now;

  assign cmd      = addr_q[5:2];
  assign line     = addr_q[14];
  assign edge_now = lines_i[0] && !lines_q[0];

  // A call takes effect in the clock after the unit has seen it idle: what it saw then decides. Seen from outside: at its answer,
  // or for ASSOCIATE that blocks at its block.
  logic accept;
  assign accept = (rvalid && open_q && !taken_q) || (op_req && op_block && !taken_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q    <= 1'b0;
      live_q    <= 1'b0;
      taken_q   <= 1'b0;
      addr_q    <= '0;
      lines_q   <= '0;
      lines_qq  <= '0;
      enabled_q <= '0;
      thread_q  <= '0;
      event_q   <= 1'b0;
      quiet_q   <= '0;
    end else begin
      live_q   <= 1'b1;
      lines_q  <= lines_i;
      lines_qq <= lines_q;
      if (req_i) begin
        open_q  <= 1'b1;
        addr_q  <= addr_i;
        taken_q <= 1'b0;
      end
      if (accept) taken_q <= 1'b1;
      if (rvalid) open_q <= 1'b0;
      if (accept && cmd == Associate && op_req) begin
        enabled_q[line] <= 1'b1;
        thread_q[line]  <= addr_q[6+:IdWidth];
      end
      if (accept && cmd == Disable) enabled_q[line] <= 1'b0;
      if (op_req && !op_block && op_done_i && enabled_q[0] && !enabled_q[1]) enabled_q[0] <= 1'b0;
      if (op_req && !op_block && op_done_i && enabled_q[1] && !enabled_q[0]) enabled_q[1] <= 1'b0;
      // Served, or reported by an ASSOCIATE that gives 1, or cleared.
      // An edge in the clock in which the call was looked at is a new one.
      if (accept && !line && !(lines_q[0] && !lines_qq[0]) && ((cmd == Associate && rdata[0] && rvalid) || cmd == Clear)) event_q <= 1'b0;
      if (op_req && !op_block && op_done_i && enabled_q[0]) event_q <= 1'b0;
      if (edge_now) event_q <= 1'b1;
      quiet_q <= (req_i || open_q || !enabled_q[0] || !event_q) ? '0 : quiet_q == '1 ? '1 : quiet_q + 4'd1;
    end
  end

  always_comb begin
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q);
    // One line is in use at a time, so that the woken thread identifies it; ENABLE brings nothing new.
    if (req_i) assume (addr_i[5:2] <= Clear && addr_i[5:2] != Enable && addr_i[13:6+IdWidth] == '0 && addr_i[21:15] == '0);
    if (req_i && addr_i[5:2] == Associate) assume (!enabled_q[!addr_i[14]]);
    assume (op_done_i == op_req);
  end

  always_comb if (rst_ni && live_q) begin
    if (rvalid) assert (open_q);
    // Blocked only if there is no event to serve, so none can be slept through.
    if (accept && op_req && !line) assert (!event_q || edge_now || lines_qq[0] != lines_q[0]);
    // The level as it was two clocks before, when the call was looked at.
    if (accept && op_req && line) assert (!lines_qq[1]);
    // Told of an event only if there is one.
    if (accept && rvalid && cmd == Associate && rdata == 32'd1 && !line) assert (event_q);
    // A woken thread is associated with a line that is enabled.
    if (op_req && !op_block) assert ((enabled_q[0] && op_id == thread_q[0] && event_q) || (enabled_q[1] && op_id == thread_q[1]));
    // And it is woken soon.
    assert (quiet_q <= Latest);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd0, SLook = 3'd1, SBlock = 3'd3, SWake = 3'd4;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]           \u_interrupts.state_q ;
  (* hierconn *) wire                 \u_interrupts.held_q ;
  (* hierconn *) wire                 \u_interrupts.deliver_q ;
  (* hierconn *) wire                 \u_interrupts.any_q ;
  (* hierconn *) wire                 \u_interrupts.top_q ;
  (* hierconn *) wire                 \u_interrupts.line_q ;
  (* hierconn *) wire [IdWidth-1:0]   \u_interrupts.id_q ;
  (* hierconn *) wire [1:0]           \u_interrupts.lines_q ;
  (* hierconn *) wire [1:0]           \u_interrupts.latched_q ;
  (* hierconn *) wire [1:0]           \u_interrupts.enabled_q ;
  (* hierconn *) wire [2*IdWidth-1:0] \u_interrupts.threads ;
  logic [2:0]              state;
  logic                    held, at;
  logic [1:0][IdWidth-1:0] threads;
  assign state   = \u_interrupts.state_q ;
  assign held    = \u_interrupts.held_q ;
  assign at      = \u_interrupts.line_q ;
  assign threads = \u_interrupts.threads ;
  logic [IdWidth-1:0] id;
  assign id = addr_q[6+:IdWidth];

  // What the model will say a clock later: calls have their effect in the clock before it sees them.
  logic       event_now;
  logic [1:0] enabled;
  logic [1:0][IdWidth-1:0] thread;
  always_comb begin
    event_now = event_q;
    enabled   = enabled_q;
    thread    = thread_q;
    if (accept && !line && !(lines_q[0] && !lines_qq[0]) && ((cmd == Associate && rdata[0] && rvalid) || cmd == Clear))
      event_now = 1'b0;
    if (accept && cmd == Associate && op_req) begin
      enabled[line] = 1'b1;
      thread[line]  = addr_q[6+:IdWidth];
    end
    if (accept && cmd == Disable) enabled[line] = 1'b0;
  end

  always_comb if (rst_ni && live_q) begin
    assert (state <= SWake && state != 3'd2);
    if (open_q) assert (32'(rvalid) + 32'(held) + 32'(state == SBlock) == 32'd1);
    else assert (!rvalid && !held && state != SBlock);
    if (open_q) assert (cmd <= Clear && cmd != Enable && addr_q[13:6+IdWidth] == '0 && addr_q[21:15] == '0);
    if (open_q && cmd == Associate && !taken_q && !accept) assert (!enabled_q[!line]);
    if (held) assert (!taken_q);
    if (state == SBlock) assert (cmd == Associate && !taken_q && \u_interrupts.id_q == id && at == line);
    if (rvalid) assert (taken_q == (cmd == Associate && rdata == '0) && state == SIdle);
    if (state == SLook || state == SWake) assert (\u_interrupts.deliver_q && enabled_q[at] && (at || event_q));
    if (state == SWake) assert (op_id == threads[at]);
    assert (\u_interrupts.lines_q == lines_q);
    assert (\u_interrupts.latched_q [0] == event_now);
    assert (\u_interrupts.enabled_q == enabled);
    assert (enabled != 2'b11);
    for (int l = 0; l < 2; l++) if (enabled[l]) assert (threads[l] == thread[l]);
    // From an event to its service.
    if (quiet_q != '0) assert (\u_interrupts.any_q && !\u_interrupts.top_q );
    if (state == SLook) assert (quiet_q <= 4'd2);
    if (state == SWake) assert (quiet_q <= 4'd3);
    if (state == SIdle) assert (quiet_q <= 4'd1 || (quiet_q <= 4'd4 && !(enabled_q[0] && event_q)));
    if (open_q) assert (quiet_q <= 4'd1);
  end
`endif
endmodule
