// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_laxity_context promises, for any order of claims.
module weir_laxity_context_props #(
  parameter int unsigned NumCpus = 4,
  parameter int unsigned IdWidth = 3,
  localparam int unsigned CpuWidth = $clog2(NumCpus)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                claim_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic                busy_i,
  input logic [IdWidth-1:0]  task_i
);
  logic                            waits, live_q, claim_q, busy_q, waits_q;
  logic [CpuWidth-1:0]             cpu_q;
  logic [IdWidth-1:0]              task_q;
  logic [NumCpus-1:0]              holds, holds_q;
  logic [NumCpus-1:0][IdWidth-1:0] held, held_q;

  weir_laxity_context #(.NumCpus(NumCpus), .IdWidth(IdWidth)) u_context (
    .clk_i, .rst_ni, .claim_i, .cpu_i, .busy_i, .task_i, .wait_o(waits), .holds_o(holds), .held_o(held)
  );

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) live_q <= 1'b0;
    else live_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    claim_q <= claim_i;
    cpu_q   <= cpu_i;
    busy_q  <= busy_i;
    task_q  <= task_i;
    waits_q <= waits;
    holds_q <= holds;
    held_q  <= held;
  end
  always_comb begin
    assume (cpu_i < NumCpus);
  end

  always_comb if (rst_ni && live_q) begin
    // No context on two CPUs.
    for (int a = 0; a < NumCpus; a++)
      for (int b = 0; b < a; b++) assert (!(holds[a] && holds[b] && held[a] == held[b]));
    if (claim_q) begin
      // A CPU that must wait holds nothing, so none waits for one that waits.
      assert (holds[cpu_q] == (busy_q && !waits_q));
      // Without a context the number is that of the last one.
      assert (held[cpu_q] == (busy_q && !waits_q ? task_q : held_q[cpu_q]));
    end
    // A claim is refused only because another CPU has that context.
    if (claim_q && waits_q) begin
      logic other;
      other = 1'b0;
      for (int c = 0; c < NumCpus; c++) if (c != cpu_q && holds_q[c] && held_q[c] == task_q) other = 1'b1;
      assert (other);
    end
    // Nobody else's context is touched.
    for (int c = 0; c < NumCpus; c++)
      if (!(claim_q && c == cpu_q)) assert (holds[c] == holds_q[c] && held[c] == held_q[c]);
    cover (claim_q && waits_q);
  end
endmodule
