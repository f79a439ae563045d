// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_soc_clint - clock, timer and software interrupt of one core, at the offsets that programs expect of a CLINT.
///
/// 0x0000 software interrupt (bit 0), 0x4000 the time from which on the timer interrupts (64 bits, a store per half), 0xbff8 the clock
/// (64 bits, read only).
module weir_soc_clint (
  input  logic        clk_i,      /// Clock, which it counts.
  input  logic        rst_ni,     /// Reset, asynchronous, active low: the timer is far away.
  input  logic        req_i,      /// An access; stays until ack_o.
  input  logic        we_i,       /// It writes, whole words.
  input  logic [13:0] addr_i,     /// Word.
  input  logic [31:0] wdata_i,    /// What to write.
  output logic        ack_o,      /// It is done.
  output logic [31:0] rdata_o,    /// What was read; with ack_o.
  output logic        timer_o,    /// It is time.
  output logic        software_o  /// The software interrupt.
);
  logic [63:0] now_q, compare_q;
  assign timer_o = now_q >= compare_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now_q      <= '0;
      compare_q  <= '1;
      software_o <= 1'b0;
      ack_o      <= 1'b0;
      rdata_o    <= '0;
    end else begin
      now_q <= now_q + 64'd1;
      ack_o <= req_i && !ack_o;
      if (req_i && !ack_o) begin
        rdata_o <= '0;
        unique case ({addr_i, 2'd0})
          16'h0000: if (we_i) software_o <= wdata_i[0]; else rdata_o <= 32'(software_o);
          16'h4000: if (we_i) compare_q[31:0] <= wdata_i; else rdata_o <= compare_q[31:0];
          16'h4004: if (we_i) compare_q[63:32] <= wdata_i; else rdata_o <= compare_q[63:32];
          16'hbff8: rdata_o <= now_q[31:0];
          16'hbffc: rdata_o <= now_q[63:32];
          default: ;
        endcase
      end
    end
  end
endmodule
