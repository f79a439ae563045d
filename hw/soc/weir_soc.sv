// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_soc - RISC-V cores (weir_soc_core), memory, devices, and one of the hardware schedulers or none.
///
/// One bus, round robin among the CPUs, two clocks per access; an access to a scheduler lasts until its answer. Memory map and
/// interrupts: docs/hardware.md. The last group of ports observes without affecting timing.
module weir_soc #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 1,
  /// What there is beside software: 0 nothing, 1 weir_unified, 2 weir_kernel, 3 weir_laxity.
  parameter int unsigned Scheduler = 0,
  /// Tasks of weir_laxity.
  parameter int unsigned NumTasks = 16,
  /// weir_laxity lets CPUs hold their tasks.
  parameter bit Hold = 1'b0,
  /// Words of memory.
  parameter int unsigned Words = 131072,
  /// Devices, 1..8.
  parameter int unsigned NumDevices = 4,
  /// Dependent, do not override.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override.
  localparam int unsigned IdWidth = $clog2(NumTasks)
) (
  input  logic                     clk_i,      /// Clock.
  input  logic                     rst_ni,     /// Reset, active low.
  output logic                     console_o,  /// A character was written.
  output logic                     exit_o,     /// The program has ended.
  output logic                     probe_o,    /// The kernel reports what it does.
  output logic [CpuWidth-1:0]      cpu_o,      /// CPU that wrote.
  output logic [31:0]              data_o,     /// What it wrote.
  output logic [NumDevices-1:0]    event_o,    /// Events of devices.
  output logic [NumDevices-1:0]    take_o,     /// Events taken.
  output logic [31:0]              age_o,      /// How old the taken one was.
  output logic [NumCpus-1:0]       irq_o,      /// Some interrupt of the CPU stands.
  output logic [NumCpus-1:0]       fetch_o,    /// An instruction was fetched.
  output logic [NumCpus-1:0][31:0] pc_o,       /// Its address.
  output logic [NumCpus-1:0]       trap_o,     /// The CPU has stopped for good.
  output logic                     wake_o,     /// weir_kernel: a thread was woken.
  output logic [7:0]               wake_id_o,  /// Which one.
  output logic                     tick_o      /// weir_laxity: a decision was made.
);
  localparam int unsigned AddrWidth = $clog2(Words);

  logic [NumCpus-1:0]       valid, ready, timer, ipi_q, irq_sched;
  logic [NumCpus-1:0][31:0] addr, wdata, compare_q;
  logic [NumCpus-1:0][3:0]  wstrb;
  logic [31:0]              rdata, now_q, line_mask_q;
  logic [NumDevices-1:0]    lines, edge_q, latched_q, pending;
  logic                     irq_lines;

  // A line is a level, or, where software asks for it, an edge an event: latched until it is acknowledged.
  assign pending   = (lines & ~edge_q) | (latched_q & edge_q);
  assign irq_lines = |(pending & line_mask_q[NumDevices-1:0]);

  for (genvar c = 0; c < NumCpus; c++) begin : gen_cpu
    // The timer of software: from the clock in compare_q on, for half of the clock's range.
    logic [31:0] ago;
    assign ago      = now_q - compare_q[c];
    assign timer[c] = !ago[31];
    logic lines_irq;
    assign lines_irq = c == 0 && irq_lines;
    assign irq_o[c]  = ipi_q[c] || lines_irq || irq_sched[c] || timer[c];
    weir_soc_core u_core (
      .clk_i, .rst_ni, .valid_o(valid[c]), .addr_o(addr[c]), .wdata_o(wdata[c]), .wstrb_o(wstrb[c]), .ready_i(ready[c]),
      .rdata_i(rdata), .sched_i(irq_sched[c]), .timer_i(timer[c]), .lines_i(lines_irq), .ipi_i(ipi_q[c]),
      .fetch_o(fetch_o[c]), .pc_o(pc_o[c]), .trap_o(trap_o[c])
    );
  end

  // ------------------------------------------------------------------ arbitration: which CPU is granted the bus
  logic                go, busy_q, act_q;
  logic [CpuWidth-1:0] granted, granted_q;

  always_comb begin
    go      = 1'b0;
    granted = granted_q;
    for (int unsigned i = 1; i <= NumCpus; i++) begin
      if (!go && !busy_q && valid[CpuWidth'((32'(granted_q) + i) % NumCpus)] &&
          !(act_q && (32'(granted_q) + i) % NumCpus == 32'(granted_q))) begin
        go      = 1'b1;
        granted = CpuWidth'((32'(granted_q) + i) % NumCpus);
      end
    end
  end

  logic [31:0] at, data;
  logic        we, is_mem, is_io, is_device, is_sched, sched_rvalid;
  assign at        = addr[granted];
  assign data      = wdata[granted];
  assign we        = wstrb[granted] != '0;
  assign is_mem    = go && at[31:28] == 4'h0;
  assign is_io     = go && at[31:28] == 4'h1;
  assign is_device = go && at[31:28] == 4'h2;
  assign is_sched  = go && at[31:30] != 2'd0 && Scheduler != 0;

  // ------------------------------------------------------------------ memory
  logic [31:0] mem[Words];
  logic [31:0] mem_rdata;
`ifdef SYNTHESIS
  // Block RAM has its contents from the configuration.
  initial $readmemh("program.hex", mem);
`else
  string       image;
  initial begin
    if (!$value$plusargs("hex=%s", image)) image = "program.hex";
    $readmemh(image, mem);
  end
`endif
  always_ff @(posedge clk_i) if (is_mem) begin
    mem_rdata <= mem[at[2+:AddrWidth]];
    for (int unsigned b = 0; b < 4; b++) if (wstrb[granted][b]) mem[at[2+:AddrWidth]][b*8+:8] <= data[b*8+:8];
  end

  // ------------------------------------------------------------------ devices
  logic [NumDevices-1:0][31:0] device_rdata;
  logic [2:0]                  device_q;
  for (genvar d = 0; d < NumDevices; d++) begin : gen_device
    weir_soc_device #(.Seed(32'h1234_5678 + 32'(d) * 32'h9e37_79b9)) u_device (
      .clk_i, .rst_ni, .req_i(is_device && at[5+:3] == 3'(d)), .we_i(we), .addr_i(at[4:2]), .wdata_i(data),
      .rdata_o(device_rdata[d]), .line_o(lines[d]), .event_o(event_o[d]), .take_o(take_o[d])
    );
  end
  logic [31:0] device_answer;
  always_comb begin
    device_answer = '0;
    for (int unsigned d = 0; d < NumDevices; d++) if (device_q == 3'(d)) device_answer = device_rdata[d];
  end
  assign age_o = device_answer;

  // ------------------------------------------------------------------ the scheduler
  logic [31:0]                     sched_rdata;
  logic                            err;
  logic [NumCpus-1:0]              busy;
  logic [NumCpus-1:0][IdWidth-1:0] task_no;
  if (Scheduler == 1) begin : gen_unified
    weir_unified #(.NumLines(16), .NumTimers(16)) u_unified (
      .clk_i, .rst_ni, .lines_i(16'(lines)), .req_i(is_sched), .we_i(we), .addr_i(at[27:2]), .wdata_i(data),
      .rvalid_o(sched_rvalid), .rdata_o(sched_rdata), .irq_o(irq_sched[0])
    );
    assign {wake_o, wake_id_o, tick_o} = '0;
  end else if (Scheduler == 2) begin : gen_kernel
    /* verilator lint_off PINCONNECTEMPTY */
    weir_kernel #(.NumTimers(16), .NumCpus(NumCpus)) u_kernel (
      .clk_i, .rst_ni, .lines_i(16'(lines)), .req_i(is_sched), .cpu_i(granted), .we_i(we), .addr_i(at[24:2]), .wdata_i(data),
      .rvalid_o(sched_rvalid), .rdata_o(sched_rdata), .irq_o(irq_sched), .wake_o, .wake_id_o,
      .hard_wake_o(), .hard_wake_id_o()
    );
    /* verilator lint_on PINCONNECTEMPTY */
    assign tick_o = 1'b0;
  end else if (Scheduler == 3) begin : gen_laxity
    weir_laxity #(.NumTasks(NumTasks), .NumCpus(NumCpus), .Hold(Hold)) u_laxity (
      .clk_i, .rst_ni, .req_i(is_sched), .we_i(we), .cpu_i(granted), .addr_i(at[10:2]), .wdata_i(data),
      .rvalid_o(sched_rvalid), .err_o(err), .rdata_o(sched_rdata), .irq_o(irq_sched), .decided_o(tick_o), .busy_o(busy), .task_o(task_no)
    );
    assign {wake_o, wake_id_o} = '0;
  end else begin : gen_none
    assign {sched_rvalid, sched_rdata, irq_sched, wake_o, wake_id_o, tick_o} = '0;
  end
  if (Scheduler != 3) begin : gen_no_laxity
    assign {err, busy, task_no} = '0;
  end
  // For waveforms.
  logic unused_laxity;
  assign unused_laxity = ^{err, busy, task_no};
  if (Scheduler == 1) begin : gen_one
    for (genvar c = 1; c < NumCpus; c++) begin : gen_other
      assign irq_sched[c] = 1'b0;
    end
  end

  // ------------------------------------------------------------------ registers of the system
  logic [31:0] io_rdata;
  logic        lock_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now_q       <= '0;
      compare_q   <= '1;
      for (int unsigned c = 0; c < NumCpus; c++) compare_q[c] <= 32'h7fff_ffff;
      ipi_q       <= '0;
      line_mask_q <= '0;
      edge_q      <= '0;
      latched_q   <= '0;
      lock_q      <= 1'b0;
      io_rdata    <= '0;
      console_o   <= 1'b0;
      exit_o      <= 1'b0;
      probe_o     <= 1'b0;
      cpu_o       <= '0;
      data_o      <= '0;
    end else begin
      now_q     <= now_q + 32'd1;
      // An event in the clock of an acknowledgement stays.
      latched_q <= (latched_q & ~((is_io && we && at[5:2] == 4'd10) ? data[NumDevices-1:0] : '0)) | event_o;
      console_o <= is_io && we && at[5:2] == 4'd0;
      exit_o    <= is_io && we && at[5:2] == 4'd1;
      probe_o   <= is_io && we && at[5:2] == 4'd4;
      cpu_o     <= granted;
      data_o    <= data;
      if (is_io) begin
        io_rdata <= '0;
        unique case (at[5:2])
          4'd2: io_rdata <= now_q;
          4'd3: io_rdata <= 32'(granted);
          4'd5: if (we) compare_q[granted] <= data;
          // Reading takes the lock if it is free, and returns whether it was taken before.
          4'd6: begin
            io_rdata <= {31'd0, lock_q};
            lock_q   <= !we;
          end
          4'd7: if (we) ipi_q <= ipi_q | data[NumCpus-1:0];
          4'd8: ipi_q[granted] <= 1'b0;
          4'd9: if (we) line_mask_q <= data; else io_rdata <= line_mask_q;
          4'd10: io_rdata <= 32'(pending);
          4'd11: if (we) edge_q <= data[NumDevices-1:0]; else io_rdata <= 32'(edge_q);
          default: ;
        endcase
      end
    end
  end

  // ------------------------------------------------------------------ answers
  logic [1:0] from_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      act_q     <= 1'b0;
      busy_q    <= 1'b0;
      granted_q <= '0;
      from_q    <= '0;
      device_q  <= '0;
    end else begin
      act_q  <= go && !is_sched;
      busy_q <= is_sched || (busy_q && !sched_rvalid);
      if (go) begin
        granted_q <= granted;
        from_q    <= is_mem ? 2'd0 : is_io ? 2'd1 : is_device ? 2'd2 : 2'd3;
        device_q  <= at[5+:3];
      end
    end
  end
  always_comb begin
    ready = '0;
    ready[granted_q] = act_q || (busy_q && sched_rvalid);
    unique case (from_q)
      2'd0:    rdata = mem_rdata;
      2'd1:    rdata = io_rdata;
      2'd2:    rdata = device_answer;
      default: rdata = busy_q ? sched_rdata : '0;
    endcase
  end
endmodule
