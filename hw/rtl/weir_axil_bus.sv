// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_axil_bus - AXI4-Lite in front of the simple bus of the engines; each CPU has its own window.
///
/// AXI4-Lite does not identify the requesting CPU, so the address does: window c of 2 KiB belongs to CPU c, and a system maps the
/// windows to the same virtual address on all CPUs. One transfer at a time, reads and writes in turn if both are pending. A write
/// of less than a word is answered with SLVERR, an address beyond the last window with DECERR; neither has an effect.
///
/// latency:  4 clocks from the address to the answer, for a module that answers after 2
/// area:     O(1)
module weir_axil_bus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                clk_i,      /// Clock, rising edge.
  input  logic                rst_ni,     /// Reset, asynchronous, active low.
  input  logic                awvalid_i,  /// AXI4-Lite write address.
  output logic                awready_o,  /// Taken together with the data.
  input  logic [15:0]         awaddr_i,   /// Byte address.
  input  logic                wvalid_i,   /// Write data.
  output logic                wready_o,   /// Taken together with the address.
  input  logic [31:0]         wdata_i,    /// Data.
  input  logic [3:0]          wstrb_i,    /// All ones, else SLVERR.
  output logic                bvalid_o,   /// Write answer, until bready_i.
  input  logic                bready_i,   /// It is taken.
  output logic [1:0]          bresp_o,    /// 0 OKAY, 2 SLVERR, 3 DECERR.
  input  logic                arvalid_i,  /// Read address.
  output logic                arready_o,  /// It is taken.
  input  logic [15:0]         araddr_i,   /// Byte address.
  output logic                rvalid_o,   /// Read answer, until rready_i.
  input  logic                rready_i,   /// It is taken.
  output logic [31:0]         rdata_o,    /// Data.
  output logic [1:0]          rresp_o,    /// 0 OKAY, 3 DECERR.
  output logic                req_o,      /// Simple bus: a request, one clock.
  output logic                we_o,       /// It writes.
  output logic [CpuWidth-1:0] cpu_o,      /// The CPU whose window it is.
  output logic [10:2]         addr_o,     /// Word address in the window.
  output logic [31:0]         wdata_o,    /// Data.
  input  logic                rvalid_i,   /// Answer, some clocks later.
  input  logic [31:0]         rdata_i     /// Data.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_axil_bus: NumCpus is 1 to 8, not %0d", NumCpus);

  typedef enum logic [2:0] {Idle, Request, Wait, WriteAnswer, ReadAnswer} state_e;

  state_e      state_q;
  logic        write_q, turn_q, take_write, take_read;
  logic [15:0] addr_q;
  logic [31:0] data_q;
  logic [1:0]  resp_q, resp;
  logic [15:0] addr;

  // turn_q: the transfer before was a write.
  assign take_write = state_q == Idle && awvalid_i && wvalid_i && !(turn_q && arvalid_i);
  assign take_read  = state_q == Idle && arvalid_i && !take_write;
  assign awready_o  = take_write;
  assign wready_o   = take_write;
  assign arready_o  = take_read;
  assign addr       = take_write ? awaddr_i : araddr_i;

  always_comb begin
    resp = 2'd0;
    if (32'(addr[15:11]) >= NumCpus) resp = 2'd3;
    else if (take_write && wstrb_i != 4'b1111) resp = 2'd2;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      write_q <= 1'b0;
      turn_q  <= 1'b0;
      addr_q  <= '0;
      data_q  <= '0;
      resp_q  <= '0;
    end else begin
      unique case (state_q)
        Idle: if (take_write || take_read) begin
          write_q <= take_write;
          turn_q  <= take_write;
          addr_q  <= addr;
          data_q  <= take_write ? wdata_i : '0;
          resp_q  <= resp;
          if (resp == 2'd0) state_q <= Request;
          else state_q <= take_write ? WriteAnswer : ReadAnswer;
        end
        Request: state_q <= Wait;
        Wait: if (rvalid_i) begin
          data_q  <= rdata_i;
          state_q <= write_q ? WriteAnswer : ReadAnswer;
        end
        WriteAnswer: if (bready_i) state_q <= Idle;
        ReadAnswer: if (rready_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  assign req_o    = state_q == Request;
  assign we_o     = write_q;
  assign cpu_o    = addr_q[11+:CpuWidth];
  assign addr_o   = addr_q[10:2];
  assign wdata_o  = data_q;
  assign bvalid_o = state_q == WriteAnswer;
  assign bresp_o  = resp_q;
  assign rvalid_o = state_q == ReadAnswer;
  assign rdata_o  = data_q;
  assign rresp_o  = resp_q;

  logic unused;
  assign unused = ^addr_q;
endmodule
