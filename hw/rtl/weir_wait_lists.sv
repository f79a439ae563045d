// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_wait_lists - lists of waiting threads, first come first served; a thread is in one of them at most.
///
/// One operation at a time, two clocks each. Mutexes and condition variables keep their waiters here.
///
/// latency:  some_o, first_o and the links are valid 2 clocks after the operation; the next one may come then
/// area:     three memories of NumLists or NumThreads thread numbers, one bit per list
/// source:   Preston, 2011, 3.2.6 and 3.2.7
module weir_wait_lists #(
  /// Lists, 2..256, a power of two.
  parameter int unsigned NumLists = 64,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Dependent, do not override: bits of a list number.
  localparam int unsigned ListWidth = $clog2(NumLists),
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic                 clk_i,    /// Clock, rising edge.
  input  logic                 rst_ni,   /// Reset, asynchronous, active low: all lists are empty.
  input  logic [ListWidth-1:0] list_i,   /// List that is asked for; held from a clock before an operation to its end.
  input  logic                 append_i, /// Thread id_i waits there, behind all others.
  input  logic                 pop_i,    /// The first thread leaves it; not if it is empty, nor together with append_i.
  input  logic [IdWidth-1:0]   id_i,     /// The thread.
  output logic                 some_o,   /// Threads wait there.
  output logic [IdWidth-1:0]   first_o   /// The first of them; right a clock after list_i has changed.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumLists < 2 || NumLists > 256 || (NumLists & (NumLists - 1)) != 0)
    $error("weir_wait_lists: NumLists is a power of two, 2 to 256, not %0d", NumLists);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_wait_lists: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);

  logic [IdWidth-1:0] head_mem[NumLists];
  logic [IdWidth-1:0] tail_mem[NumLists];
  logic [IdWidth-1:0] next_mem[NumThreads];

  logic [NumLists-1:0] some_q;
  logic [IdWidth-1:0]  head, tail, next;
  logic                pop_q;

  assign some_o  = some_q[list_i];
  assign first_o = head;

  always_ff @(posedge clk_i) begin
    head <= head_mem[list_i];
    tail <= tail_mem[list_i];
    next <= next_mem[head];
    if (append_i) begin
      tail_mem[list_i] <= id_i;
      if (some_o) next_mem[tail] <= id_i;
    end
    // The successor is known a clock after the pop.
    if (append_i && !some_o) head_mem[list_i] <= id_i;
    else if (pop_q) head_mem[list_i] <= next;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      some_q <= '0;
      pop_q  <= 1'b0;
    end else begin
      pop_q <= pop_i;
      if (append_i) some_q[list_i] <= 1'b1;
      if (pop_i && head == tail) some_q[list_i] <= 1'b0;
    end
  end

`ifdef FORMAL
`ifndef PROMISES_ONLY
  // What the memories have to say: which threads wait where, and behind which. These are steps of the induction for each module that
  // has such lists; they look at each pair of threads, so they are for few.
  localparam int unsigned Few   = (NumThreads <= 8) ? NumThreads : 0;
  localparam int unsigned Lists = (NumThreads <= 8) ? NumLists : 0;
  logic                                  live_q;
  logic [NumThreads-1:0]                 in_q;
  logic [NumThreads-1:0][ListWidth-1:0]  where_q;
  logic [NumThreads-1:0][NumThreads-1:0] older_q;
  logic [ListWidth-1:0]                  list_q;
  logic [NumLists-1:0][NumThreads-1:0]   waiting;
  always_comb begin
    waiting = '0;
    for (int l = 0; l < Lists; l++)
      for (int t = 0; t < Few; t++) waiting[l][t] = in_q[t] && where_q[t] == ListWidth'(l);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q  <= 1'b0;
      in_q    <= '0;
      where_q <= '0;
      older_q <= '0;
      list_q  <= '0;
    end else begin
      live_q <= 1'b1;
      list_q <= list_i;
      if (append_i) begin
        in_q[id_i]    <= 1'b1;
        where_q[id_i] <= list_i;
        for (int t = 0; t < Few; t++) older_q[t][id_i] <= 1'b0;
        older_q[id_i] <= waiting[list_i];
      end
      if (pop_i) in_q[head] <= 1'b0;
    end
  end
  always_comb if (rst_ni && live_q) begin
    // The caller keeps to the rules.
    if (append_i) assert (!pop_i && !in_q[id_i]);
    if (pop_i) assert (some_o);
    if (append_i || pop_i) assert (!pop_q && list_q == list_i);
    if (append_i || pop_i) assert (!some_o || (head == head_mem[list_i] && tail == tail_mem[list_i]));
    if (pop_q) assert (list_q == list_i);
    for (int l = 0; l < Lists; l++) begin
      assert (some_q[l] == |waiting[l]);
      if (some_q[l]) begin
        // The first one has no elder, the last one is nobody's elder; in between each one is followed by the next to come.
        if (pop_q && list_i == ListWidth'(l)) assert (waiting[l][next] && (older_q[next] & waiting[l]) == '0);
        else assert (waiting[l][head_mem[l]] && (older_q[head_mem[l]] & waiting[l]) == '0);
        assert (waiting[l][tail_mem[l]] &&
                (older_q[tail_mem[l]] & waiting[l]) == (waiting[l] & ~(NumThreads'(1) << tail_mem[l])));
      end
      for (int t = 0; t < Few; t++)
        if (waiting[l][t]) begin
          assert (!older_q[t][t]);
          for (int u = 0; u < Few; u++) if (u != t && waiting[l][u]) assert (older_q[t][u] != older_q[u][t]);
          if (tail_mem[l] != IdWidth'(t))
            assert (waiting[l][next_mem[t]] && (older_q[next_mem[t]] & waiting[l]) ==
                    ((older_q[t] & waiting[l]) | (NumThreads'(1) << t)));
        end
    end
  end
`endif
`endif
endmodule
