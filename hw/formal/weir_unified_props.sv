// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_unified promises, for any calls, levels, edges and timers: NEXT gives something that is there, and nothing that has been
/// there for a while is more urgent; an interrupt of the CPU is for something strictly more urgent than what runs.
module weir_unified_props #(
  /// Clocks after which something counts.
  parameter int unsigned Settle = 7
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [1:0]  lines_i,
  input logic        req_i,
  input logic [27:2] addr_i
);
  localparam logic [3:0] Next = 4'd1, SetThread = 4'd2, Associate = 4'd3, Clear = 4'd4;

  logic        rvalid, irq;
  logic [31:0] rdata;
  weir_unified #(.NumLines(2), .Edges(2'b11), .NumTimers(2), .NumThreads(2), .NumLevels(4), .ClockWidth(8)) u_unified (
    .clk_i, .rst_ni, .lines_i, .req_i, .we_i(1'b0), .addr_i, .wdata_i('0), .rvalid_o(rvalid), .rdata_o(rdata), .irq_o(irq)
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  logic            open_q, live_q, runs_q;
  logic [27:2]     addr_q;
  logic [3:0]      cmd;
  logic [1:0]      level, now_level_q;
  logic            line;
  logic [3:0]      some_q;
  logic [3:0]      head_q;
  logic [1:0]      enabled_q, pend_q, lines_q;
  logic [1:0][1:0] prio_q;
  // For how long each has been there.
  logic [3:0][3:0] some_age_q;
  logic [1:0][3:0] line_age_q;
  assign cmd   = addr_q[5:2];
  assign level = addr_q[15:14];
  assign line  = addr_q[22];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q      <= 1'b0;
      live_q      <= 1'b0;
      runs_q      <= 1'b0;
      addr_q      <= '0;
      now_level_q <= '0;
      some_q      <= '0;
      head_q      <= '0;
      enabled_q   <= '0;
      pend_q      <= '0;
      lines_q     <= '0;
      prio_q      <= '0;
      some_age_q  <= '0;
      line_age_q  <= '0;
    end else begin
      live_q  <= 1'b1;
      lines_q <= lines_i;
      for (int l = 0; l < 4; l++) some_age_q[l] <= !some_q[l] ? '0 : some_age_q[l] == '1 ? '1 : some_age_q[l] + 4'd1;
      for (int l = 0; l < 2; l++)
        line_age_q[l] <= !(enabled_q[l] && pend_q[l]) ? '0 : line_age_q[l] == '1 ? '1 : line_age_q[l] + 4'd1;
      if (req_i) begin
        open_q <= 1'b1;
        addr_q <= addr_i;
      end
      if (rvalid) begin
        open_q <= 1'b0;
        unique case (cmd)
          SetThread: begin
            some_q[level] <= !addr_q[22];
            head_q[level] <= addr_q[6];
          end
          Associate: begin
            prio_q[line]    <= level;
            enabled_q[line] <= !rdata[0];
            if (rdata[0]) pend_q[line] <= 1'b0;
          end
          Clear: begin
            enabled_q[line] <= 1'b0;
            pend_q[line]    <= 1'b0;
          end
          Next: begin
            runs_q <= !rdata[31];
            if (!rdata[31]) now_level_q <= rdata[9:8];
            if (!rdata[31] && rdata[25:24] == 2'd2) begin
              enabled_q[rdata[16]] <= 1'b0;
              pend_q[rdata[16]]    <= 1'b0;
            end
          end
          default: ;
        endcase
      end
      for (int l = 0; l < 2; l++) if (lines_i[l] && !lines_q[l]) pend_q[l] <= 1'b1;
    end
  end

  always_comb begin
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q);
    if (req_i) assume (addr_i[5:2] <= Clear && addr_i[5:2] != 4'd0 && addr_i[13:7] == '0 && addr_i[21:16] == '0 && addr_i[27:23] == '0);
  end

  always_comb if (rst_ni && live_q) begin
    if (rvalid) assert (open_q);
    if (rvalid && cmd == Next) begin
      if (rdata[31]) begin
        for (int l = 0; l < 4; l++) assert (some_age_q[l] < Settle);
        for (int l = 0; l < 2; l++) assert (line_age_q[l] < Settle);
      end else begin
        // It is there.
        if (rdata[25:24] == 2'd2) assert (enabled_q[rdata[16]] && pend_q[rdata[16]] && prio_q[rdata[16]] == rdata[9:8]);
        if (rdata[25:24] == 2'd0) assert (some_q[rdata[9:8]] && head_q[rdata[9:8]] == rdata[0]);
        assert (rdata[25:24] != 2'd3 && rdata[25:24] != 2'd1);
        // Nothing else is more urgent, of threads and of lines.
        for (int l = 0; l < 4; l++) if (some_age_q[l] >= Settle) assert (l <= rdata[9:8]);
        for (int l = 0; l < 2; l++) if (line_age_q[l] >= Settle) assert (prio_q[l] <= rdata[9:8]);
      end
    end
    // Why it interrupts: something that is there is strictly more urgent.
    if (irq && !open_q)
      assert ((some_q[3] && (!runs_q || now_level_q < 3)) || (some_q[2] && (!runs_q || now_level_q < 2)) ||
              (some_q[1] && (!runs_q || now_level_q < 1)) || (some_q[0] && !runs_q) ||
              (enabled_q[0] && pend_q[0] && (!runs_q || prio_q[0] > now_level_q)) ||
              (enabled_q[1] && pend_q[1] && (!runs_q || prio_q[1] > now_level_q)));
  end
endmodule
