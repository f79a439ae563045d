// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_serial - the sending half of a serial port (8 bits, no parity, one stop bit), with a queue in block RAM.
///
/// Whoever writes never waits. What comes while the queue is full is lost.
module weir_serial #(
  /// Clocks for a bit, 2 or more.
  parameter int unsigned BitClocks = 217,
  /// Characters that may wait, a power of two.
  parameter int unsigned Depth = 4096
) (
  input  logic       clk_i,   /// Clock, rising edge.
  input  logic       rst_ni,  /// Reset, asynchronous, active low: the queue is empty.
  input  logic       push_i,  /// A character comes.
  input  logic [7:0] data_i,  /// Which one.
  output logic       busy_o,  /// One is sent, or waits.
  output logic       tx_o     /// The line; high while nothing is sent.
);
  localparam int unsigned Width = $clog2(Depth);

  logic [7:0]                   queue_mem[Depth];
  logic [7:0]                   first;
  logic [Width:0]               in_q, out_q;
  logic [$clog2(BitClocks)-1:0] clocks_q;
  logic [9:0]                   line_q;
  logic [3:0]                   bits_q;
  logic                         full, ready_q;

  assign full   = in_q == {~out_q[Width], out_q[Width-1:0]};
  assign busy_o = bits_q != '0 || in_q != out_q;
  assign tx_o   = line_q[0];

  always_ff @(posedge clk_i) begin
    if (push_i && !full) queue_mem[in_q[Width-1:0]] <= data_i;
    first <= queue_mem[out_q[Width-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q     <= '0;
      out_q    <= '0;
      clocks_q <= '0;
      line_q   <= '1;
      bits_q   <= '0;
      ready_q  <= 1'b0;
    end else begin
      if (push_i && !full) in_q <= in_q + (Width + 1)'(1);
      // first is what out_q points to when that has stood still for a clock.
      ready_q <= in_q != out_q;
      if (bits_q != '0) begin
        if (clocks_q == '0) begin
          clocks_q <= $bits(clocks_q)'(BitClocks - 1);
          line_q   <= {1'b1, line_q[9:1]};
          bits_q   <= bits_q - 4'd1;
        end else clocks_q <= clocks_q - $bits(clocks_q)'(1);
      end else if (ready_q) begin
        // Start bit, least bit first, stop bit.
        line_q   <= {1'b1, first, 1'b0};
        bits_q   <= 4'd10;
        clocks_q <= $bits(clocks_q)'(BitClocks - 1);
        out_q    <= out_q + (Width + 1)'(1);
        ready_q  <= 1'b0;
      end
    end
  end
endmodule
