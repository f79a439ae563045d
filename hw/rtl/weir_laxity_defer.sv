// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_defer - the number of ticks by which modified least laxity first may defer its next decision.
///
/// After a decision all ready tasks are scanned, one per clock: alpha is the time to the earliest deadline minus the least
/// laxity (with several tasks of least laxity, any may be used). It is at least 1. No decision is due until alpha ticks have
/// passed, unless a job arrives or ends.
///
/// latency:  NumTasks + 3 clocks from start_i until due_o is about the new decision; no tick comes before
/// area:     one multiplexer of NumTasks tasks, two comparators
/// source:   Oh and Yang, "A modified least-laxity-first scheduling algorithm", 1998; Mancuso et al., V-B6
module weir_laxity_defer #(
  /// Tasks, 1..64.
  parameter int unsigned NumTasks = 16,
  /// Bits of times, in ticks.
  parameter int unsigned Width = 16
) (
  input  logic                            clk_i,       /// Clock, rising edge.
  input  logic                            rst_ni,      /// Reset, asynchronous, active low: a decision is due.
  input  logic                            start_i,     /// A decision was made.
  input  logic                            tick_i,      /// A scheduling tick.
  input  logic                            event_i,     /// In this clock a job comes or ends.
  input  logic [NumTasks-1:0]             ready_i,     /// Tasks that are ready.
  input  logic [NumTasks-1:0][Width:0]    deadline_i,  /// Ticks to their deadlines, signed.
  input  logic [NumTasks-1:0][Width-1:0]  left_i,      /// Ticks of work left.
  output logic                            due_o        /// In a tick: it brings a decision.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumTasks < 1 || NumTasks > 64) $error("weir_laxity_defer: NumTasks is 1 to 64, not %0d", NumTasks);
  if (Width < 2 || Width > 16) $error("weir_laxity_defer: Width is 2 to 16, not %0d", Width);

  localparam int unsigned IdxWidth = (NumTasks > 1) ? $clog2(NumTasks) : 1;
  typedef logic signed [Width+1:0] time_t;

  logic [IdxWidth-1:0] idx_q;
  logic                read_q, look_q, last_q, ready_q, found_q, event_q;
  time_t               deadline_q, laxity_q, first_q, least_q, alpha;
  logic [Width+1:0]    skip_q;
  logic                less, sooner, done_q;

  assign sooner = !found_q || deadline_q < first_q;
  assign less   = !found_q || laxity_q < least_q;
  assign alpha  = first_q - least_q;

  // Events in the clock of the tick belong to that tick's decision.
  assign due_o  = skip_q == '0 || event_q || event_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      idx_q      <= '0;
      read_q     <= 1'b0;
      look_q     <= 1'b0;
      last_q     <= 1'b0;
      done_q     <= 1'b0;
      ready_q    <= 1'b0;
      found_q    <= 1'b0;
      event_q    <= 1'b0;
      deadline_q <= '0;
      laxity_q   <= '0;
      first_q    <= '0;
      least_q    <= '0;
      skip_q     <= '0;
    end else begin
      event_q    <= (event_q || event_i) && !(tick_i && due_o);
      ready_q    <= ready_i[idx_q];
      deadline_q <= {deadline_i[idx_q][Width], deadline_i[idx_q]};
      laxity_q   <= {deadline_i[idx_q][Width], deadline_i[idx_q]} - {2'b00, left_i[idx_q]};
      look_q     <= read_q && !start_i;
      last_q     <= read_q && !start_i && idx_q == IdxWidth'(NumTasks - 1);
      done_q     <= last_q && !start_i;
      if (start_i) begin
        idx_q   <= '0;
        read_q  <= 1'b1;
        found_q <= 1'b0;
      end else begin
        if (read_q) begin
          if (idx_q == IdxWidth'(NumTasks - 1)) read_q <= 1'b0;
          else idx_q <= idx_q + IdxWidth'(1);
        end
        if (look_q && ready_q) begin
          found_q <= 1'b1;
          if (sooner) first_q <= deadline_q;
          if (less) least_q <= laxity_q;
        end
      end
      // The tick in alpha ticks decides, so one less is skipped.
      if (done_q) skip_q <= (found_q && alpha > time_t'(1)) ? alpha - time_t'(1) : '0;
      else if (tick_i && skip_q != '0) skip_q <= skip_q - (Width + 2)'(1);
      if (tick_i && due_o) skip_q <= '0;
    end
  end
endmodule
