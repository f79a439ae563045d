// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_ulx3s - the simulated system of hw/soc on a ULX3S board (ECP5-85F): RISC-V cores, the scheduling engine on their bus, memory
/// in block RAM, what programs print on the USB serial port, and what happens on LEDs.
///
/// LEDs: 0 blinks, 256 ticks on and 256 off; 1 and 2: CPU 0 and 1 runs a task; 3: characters are on their way; 4: an interrupt
/// stands; 5: the program has ended, and all is well; 6: it has ended otherwise; 7: a CPU has stopped. While button FIRE1 is held:
/// 0 to 3 the task of CPU 0, 4 to 7 that of CPU 1, 15 if none.
module weir_ulx3s #(
  /// CPUs, 1 or 2.
  parameter int unsigned NumCpus = 2,
  /// Tasks of the engine, 2..16.
  parameter int unsigned NumTasks = 16,
  /// Words of memory: 128 KiB of the 468 KiB that the FPGA has.
  parameter int unsigned Words = 32768,
  /// Clocks for a bit of the serial port: 115,200 bits a second at 25 MHz.
  parameter int unsigned BitClocks = 217
) (
  input  logic       clk_25mhz,   /// The board's oscillator.
  input  logic       btn_fire1,   /// High while it is held.
  output logic [7:0] led,         /// High: on.
  output logic       ftdi_rxd,    /// To the USB serial converter, which calls it its input.
  output logic       wifi_gpio0   /// High: the board's WiFi module leaves the FPGA alone.
);
  assign wifi_gpio0 = 1'b1;

  // ------------------------------------------------------------------ reset: some clocks after the configuration
  logic [4:0] boot_q = '0;
  logic       rst_n;
  always_ff @(posedge clk_25mhz) if (!boot_q[4]) boot_q <= boot_q + 5'd1;
  assign rst_n = boot_q[4];

  // ------------------------------------------------------------------ the system
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1;

  logic                     console, ended, probe, wake, tick;
  logic [CpuWidth-1:0]      cpu;
  logic [31:0]              data, age;
  logic [3:0]               happened, taken;
  logic [NumCpus-1:0]       irq, fetch, trap;
  logic [NumCpus-1:0][31:0] pc;
  logic [7:0]               wake_id;

  weir_soc #(.NumCpus(NumCpus), .Scheduler(3), .NumTasks(NumTasks), .Words(Words)) u_soc (
    .clk_i(clk_25mhz), .rst_ni(rst_n),
    .console_o(console), .exit_o(ended), .probe_o(probe), .cpu_o(cpu), .data_o(data),
    .event_o(happened), .take_o(taken), .age_o(age), .irq_o(irq), .fetch_o(fetch), .pc_o(pc), .trap_o(trap),
    .wake_o(wake), .wake_id_o(wake_id), .tick_o(tick)
  );

  logic sending;
  weir_serial #(.BitClocks(BitClocks)) u_serial (
    .clk_i(clk_25mhz), .rst_ni(rst_n), .push_i(console), .data_i(data[7:0]), .busy_o(sending), .tx_o(ftdi_rxd)
  );

  // ------------------------------------------------------------------ LEDs
  // The kernel reports what it lets run (P_RUN of hw/soc/kernel/kernel.h): a task, or the idle loop, whose number is greater.
  localparam logic [7:0] Run = 8'd4;

  logic [8:0]      ticks_q;
  logic            well_q, bad_q, trap_q, fire_q, held_q;
  logic [1:0][3:0] task_q;

  always_ff @(posedge clk_25mhz or negedge rst_n) begin
    if (!rst_n) begin
      ticks_q <= '0;
      well_q  <= 1'b0;
      bad_q   <= 1'b0;
      trap_q  <= 1'b0;
      fire_q  <= 1'b0;
      held_q  <= 1'b0;
      task_q  <= '1;
    end else begin
      if (tick) ticks_q <= ticks_q + 9'd1;
      if (ended) begin
        well_q <= data == '0;
        bad_q  <= data != '0;
      end
      trap_q <= trap_q || trap != '0;
      fire_q <= btn_fire1;
      held_q <= fire_q;
      if (probe && data[31:24] == Run) task_q[1'(cpu)] <= data[23:4] == '0 ? data[3:0] : '1;
    end
  end

  always_ff @(posedge clk_25mhz) begin
    if (held_q) led <= task_q;
    else led <= {trap_q, bad_q, well_q, irq != '0, sending, task_q[1] != '1, task_q[0] != '1, ticks_q[8]};
  end

  // For simulation.
  logic unused;
  assign unused = ^{happened, taken, age, fetch, pc, wake, wake_id};
endmodule
