// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What the engine as a whole promises its programs, for any traffic on its bus.
module weir_laxity_props #(
  parameter int unsigned NumTasks = 4,
  parameter int unsigned NumCpus = 2,
  parameter int unsigned Width = 4,
  parameter int unsigned Select = 1,
  parameter bit [3:0] Policies = 4'b1111,
  /// 1: also what follows programs over time, which no induction reaches.
  parameter bit Contexts = 1'b0,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  localparam int unsigned IdWidth = $clog2(NumTasks)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                req_i,
  input logic                we_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic [10:2]         addr_i,
  input logic [31:0]         wdata_i
);
  logic                            rvalid, decided, live_q;
  logic [31:0]                     rdata;
  logic [NumCpus-1:0]              irq, busy, busy_q;
  logic [NumCpus-1:0][IdWidth-1:0] task_no, task_q;

  weir_laxity #(.NumTasks(NumTasks), .NumCpus(NumCpus), .Width(Width), .Select(Select), .Policies(Policies),
                .TickClocks(1)) u_engine (
    .clk_i, .rst_ni, .req_i, .we_i, .cpu_i, .addr_i, .wdata_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .irq_o(irq), .decided_o(decided), .busy_o(busy), .task_o(task_no)
  );

  // What programs know: which request is answered now, and whose context each CPU has loaded.
  logic                            sched_1, sched_2, req_1, req_2;
  logic [CpuWidth-1:0]             cpu_1, cpu_2;
  logic [NumCpus-1:0]              loaded_q, loaded;
  logic [NumCpus-1:0][IdWidth-1:0] context_q, context_d;

  always_comb begin
    loaded    = loaded_q;
    context_d = context_q;
    if (rvalid && sched_2) begin
      loaded[cpu_2]    = !rdata[30] && !rdata[29];
      context_d[cpu_2] = rdata[IdWidth-1:0];
    end
  end

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q   <= 1'b0;
      req_1    <= 1'b0;
      req_2    <= 1'b0;
      sched_1  <= 1'b0;
      sched_2  <= 1'b0;
      cpu_1    <= '0;
      cpu_2    <= '0;
      loaded_q <= '0;
      context_q <= '0;
    end else begin
      live_q   <= 1'b1;
      req_1    <= req_i;
      req_2    <= req_1;
      sched_1  <= req_i && !we_i && addr_i == 9'h005;
      sched_2  <= sched_1;
      cpu_1    <= cpu_i;
      cpu_2    <= cpu_1;
      loaded_q <= loaded;
      context_q <= context_d;
    end
  end
  always_ff @(posedge clk_i) begin
    busy_q <= busy;
    task_q <= task_no;
  end

  always_comb begin
    assume (cpu_i < NumCpus);
    // A CPU waits for the answer before it asks again.
    if (req_1 && req_i) assume (cpu_i != cpu_1);
    if (req_2 && req_i) assume (cpu_i != cpu_2);
    if (!live_q) assume (!req_i);
  end

  always_comb if (rst_ni && live_q) begin
    // Every request is answered, two clocks later, and nothing else is.
    assert (rvalid == req_2);
    for (int a = 0; a < NumCpus; a++)
      for (int b = 0; b < a; b++) begin
        // No task is to run on two CPUs.
        assert (!(busy[a] && busy[b] && task_no[a] == task_no[b]));
        // No context is loaded on two CPUs, as programs see it: what one gets, another has handed back before.
        if (Contexts) assert (!(loaded[a] && loaded[b] && context_d[a] == context_d[b]));
      end
    // R1: between decisions nothing moves.
    if (!decided) assert (busy == busy_q && task_no == task_q);
  end
endmodule
