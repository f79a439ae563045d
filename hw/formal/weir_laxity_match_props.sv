// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_laxity_match promises, for any choice, any change of readiness and any earlier decision.
module weir_laxity_match_props #(
  parameter int unsigned NumTasks = 8,
  parameter int unsigned NumCpus = 3,
  parameter int unsigned IdWidth = 3
) (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic                            valid_i,
  input logic [NumCpus-1:0]              some_i,
  input logic [NumCpus-1:0][IdWidth-1:0] best_i,
  input logic [NumTasks-1:0]             ready_i,
  input logic [NumTasks-1:0]             drop_i,
  input logic                            stay_i,
  input logic [NumCpus-1:0]              hold_i,
  input logic [NumCpus-1:0][IdWidth-1:0] held_i
);
  logic                            decided;
  logic [NumCpus-1:0]              busy, busy_q, some_1, hold_1, hold_2;
  logic [NumCpus-1:0][IdWidth-1:0] task_no, task_q, best_1, held_1, held_2;
  logic [NumTasks-1:0]             chosen, chosen_q, awake_1, want;
  logic                            valid_1, valid_2, stay_1, stay_2, live_q;

  weir_laxity_match #(.NumTasks(NumTasks), .NumCpus(NumCpus), .IdWidth(IdWidth)) u_match (
    .clk_i, .rst_ni, .valid_i, .some_i, .best_i, .ready_i, .drop_i, .stay_i, .hold_i, .held_i,
    .decided_o(decided), .busy_o(busy), .task_o(task_no), .chosen_o(chosen)
  );

  initial live_q = 1'b0;
  always_ff @(posedge clk_i) live_q <= 1'b1;
  always_comb if (!live_q) assume (!rst_ni);

  // A selector gives each task once, first places first, and lets two decisions not overlap.
  // No two CPUs hold one task.
  always_comb begin
    for (int a = 0; a < NumCpus; a++) begin
      assume (best_i[a] < NumTasks && held_i[a] < NumTasks);
      for (int b = 0; b < a; b++) assume (!(hold_i[a] && hold_i[b] && held_i[a] == held_i[b]));
      for (int b = 0; b < a; b++) begin
        assume (!(some_i[a] && some_i[b] && best_i[a] == best_i[b]));
        assume (!some_i[a] || some_i[b]);
      end
    end
    if (valid_1) assume (!valid_i);
  end

  // The choice, as it is two clocks later: without what stopped being ready on the way.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_1 <= 1'b0;
      valid_2 <= 1'b0;
      want    <= '0;
    end else begin
      valid_1 <= valid_i;
      valid_2 <= valid_1;
      want    <= '0;
      for (int b = 0; b < NumCpus; b++)
        if (some_1[b] && awake_1[best_1[b]] && !drop_i[best_1[b]]) want[best_1[b]] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    some_1   <= some_i;
    best_1   <= best_i;
    awake_1  <= ready_i & ~drop_i;
    stay_1   <= stay_i;
    stay_2   <= stay_1;
    held_1   <= held_i;
    held_2   <= held_1;
    hold_1   <= hold_i;
    // Those that are chosen and ready when the places are given.
    for (int c = 0; c < NumCpus; c++) begin
      hold_2[c] <= 1'b0;
      for (int b = 0; b < NumCpus; b++)
        if (hold_1[c] && some_1[b] && awake_1[best_1[b]] && best_1[b] == held_1[c]) hold_2[c] <= 1'b1;
    end
    busy_q   <= busy;
    task_q   <= task_no;
    chosen_q <= chosen;
  end

  always_comb if (rst_ni && live_q) begin
    // One clock of answer for each question.
    assert (decided == valid_2);
    // A task has one CPU at most, and chosen_o is what the CPUs have.
    for (int t = 0; t < NumTasks; t++) begin
      logic [NumCpus-1:0] on;
      for (int c = 0; c < NumCpus; c++) on[c] = busy[c] && task_no[c] == t;
      assert ($onehot0(on));
      assert (chosen[t] == |on);
    end
    if (decided) begin
      // Exactly what was chosen and still is ready has a CPU: none is lost, none comes from nowhere.
      assert (chosen == want);
      // A task that a CPU holds is there.
      for (int c = 0; c < NumCpus; c++) if (hold_2[c] && want[held_2[c]]) assert (busy[c] && task_no[c] == held_2[c]);
      // R5: a task that is chosen again stays where it was, unless another CPU holds it, or this one another task.
      if (stay_2)
        for (int c = 0; c < NumCpus; c++) begin
          logic elsewhere;
          elsewhere = hold_2[c];
          for (int a = 0; a < NumCpus; a++) if (hold_2[a] && held_2[a] == task_q[c]) elsewhere = 1'b1;
          if (busy_q[c] && want[task_q[c]] && !elsewhere) assert (busy[c] && task_no[c] == task_q[c]);
        end
    end else begin
      // R1: nothing moves between decisions.
      assert (busy == busy_q && task_no == task_q && chosen == chosen_q);
    end
    cover (decided && busy == '1 && busy_q == '1 && task_no != task_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  // What the two stages hold: each is shown from the one before, so that with more CPUs no step has to look through both.
  (* hierconn *) wire                       \u_match.go_q ;
  (* hierconn *) wire [NumCpus-1:0]         \u_match.some_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0] \u_match.best_q ;
  (* hierconn *) wire [NumCpus*NumCpus-1:0] \u_match.home_q ;
  (* hierconn *) wire [NumCpus-1:0]         \u_match.some ;
  (* hierconn *) wire [NumCpus-1:0]         \u_match.busy_d ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0] \u_match.task_d ;
  logic [NumCpus-1:0][NumCpus-1:0] home, has;
  logic [NumCpus-1:0]              from;
  assign home = \u_match.home_q ;
  always_comb begin
    // has[b][c]: CPU c gets the task of place b; from[c]: it gets the task of some place.
    for (int b = 0; b < NumCpus; b++)
      for (int c = 0; c < NumCpus; c++)
        has[b][c] = \u_match.some [b] && \u_match.busy_d [c] && \u_match.task_d [c*IdWidth+:IdWidth] == \u_match.best_q [b*IdWidth+:IdWidth];
    from = '0;
    for (int b = 0; b < NumCpus; b++) from = from | has[b];
  end
  always_comb if (rst_ni && live_q) begin
    assert (\u_match.go_q == valid_1);
    if (valid_1) begin
      // A task has one home at most, and no CPU is the home of two.
      for (int b = 0; b < NumCpus; b++) begin
        assert (\u_match.some_q [b] == (some_1[b] && awake_1[best_1[b]]));
        assert (\u_match.best_q [b*IdWidth+:IdWidth] == best_1[b]);
        assert ((home[b] & (home[b] - NumCpus'(1))) == '0);
        for (int a = 0; a < b; a++) if (some_1[a] && some_1[b]) assert ((home[a] & home[b]) == '0 && best_1[a] != best_1[b]);
      end
      // Each task that is still ready gets one CPU, and no CPU gets anything else.
      for (int b = 0; b < NumCpus; b++) assert (\u_match.some [b] ? $onehot(has[b]) : has[b] == '0);
      assert (from == \u_match.busy_d );
    end
  end
`endif
endmodule
