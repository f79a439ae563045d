// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_soc_device - a source of interrupts: events come by themselves or on demand, and wait until they are taken.
///
/// The line is high while events wait. An event is recorded as the clock of its arrival; taking it returns how long it waited.
/// Registers, by word: 0 PERIOD (clocks between events; 0: none), 1 RANDOM (1: between half of it and one and a half), 2 LEFT
/// (remaining events; 0: unlimited), 3 TAKE (read: removes the oldest event and returns the clocks it waited; all ones: none waits),
/// 4 WAITING (read), 5 TRIGGER (write: one event now), 6 DROPPED (read: events while the queue was full), 7 SEED.
module weir_soc_device #(
  /// Events that may wait, a power of two.
  parameter int unsigned Depth = 64,
  /// Seed of its random numbers.
  parameter bit [31:0] Seed = 32'd1
) (
  input  logic        clk_i,    /// Clock, rising edge.
  input  logic        rst_ni,   /// Reset, asynchronous, active low: quiet.
  input  logic        req_i,    /// A request.
  input  logic        we_i,     /// It writes.
  input  logic [2:0]  addr_i,   /// Register.
  input  logic [31:0] wdata_i,  /// What to write.
  output logic [31:0] rdata_o,  /// Answer, a clock after the request.
  output logic        line_o,   /// Events wait.
  output logic        event_o,  /// One clock: an event came.
  output logic        take_o    /// One clock: one was taken; rdata_o says how old it was.
);
  localparam int unsigned Width = $clog2(Depth);

  logic [31:0]    period_q, left_q, count_q, random_q, dropped_q, now_q, gap;
  logic           jitter_q, endless_q, due, push, pop;
  logic [Width:0] waiting_q;
  logic [Width-1:0] first_q;
  logic [31:0]    queue_mem[Depth];

  assign line_o = waiting_q != '0;
  assign due    = period_q != '0 && count_q == '0 && (endless_q || left_q != '0);
  assign push   = due || (req_i && we_i && addr_i == 3'd5);
  assign pop    = req_i && !we_i && addr_i == 3'd3 && line_o;
  assign event_o = push;
  // Half of the period, and up to one whole period more.
  assign gap    = jitter_q ? (period_q >> 1) + 32'((64'(random_q) * 64'(period_q)) >> 32) : period_q;

  always_ff @(posedge clk_i) if (push && !waiting_q[Width]) queue_mem[first_q + waiting_q[Width-1:0]] <= now_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      period_q  <= '0;
      left_q    <= '0;
      count_q   <= '0;
      random_q  <= Seed;
      dropped_q <= '0;
      now_q     <= '0;
      jitter_q  <= 1'b0;
      endless_q <= 1'b0;
      waiting_q <= '0;
      first_q   <= '0;
      rdata_o   <= '0;
      take_o    <= 1'b0;
    end else begin
      now_q    <= now_q + 32'd1;
      take_o   <= pop;
      random_q <= {random_q[30:0], random_q[31] ^ random_q[21] ^ random_q[1] ^ random_q[0]};
      if (due) begin
        count_q <= gap - 32'd1;
        if (!endless_q) left_q <= left_q - 32'd1;
      end else if (count_q != '0) count_q <= count_q - 32'd1;
      if (push && waiting_q[Width]) dropped_q <= dropped_q + 32'd1;
      waiting_q <= waiting_q + (Width + 1)'(push && !waiting_q[Width]) - (Width + 1)'(pop);
      if (pop) first_q <= first_q + Width'(1);
      if (req_i) begin
        rdata_o <= '0;
        if (we_i) begin
          unique case (addr_i)
            3'd0: begin
              period_q <= wdata_i;
              count_q  <= wdata_i;
            end
            3'd1: jitter_q <= wdata_i[0];
            3'd2: begin
              left_q    <= wdata_i;
              endless_q <= wdata_i == '0;
            end
            3'd7: random_q <= wdata_i == '0 ? 32'd1 : wdata_i;
            default: ;
          endcase
        end else begin
          unique case (addr_i)
            3'd3: rdata_o <= line_o ? now_q - queue_mem[first_q] : '1;
            3'd4: rdata_o <= 32'(waiting_q);
            3'd6: rdata_o <= dropped_q;
            default: ;
          endcase
        end
      end
    end
  end
endmodule
