// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_axil_bus - AXI4-Lite in front of the simple bus of the engine, the whole set or the unified controller; each CPU has its window.
///
/// A window is what the module behind takes: 2 KiB (11 bits) for weir_laxity, 32 MiB (25) for weir_kernel, 256 MiB (28) for weir_unified.
/// AXI4-Lite does not identify the requesting CPU, so the address does: window c belongs to CPU c, and a system maps the
/// windows to the same virtual address on all CPUs. Each channel has a register, so that no output depends on an input of the
/// same clock. One transfer at a time, reads and writes in turn if both are pending; address and data of a write come in any order.
/// SLVERR: a write of less than a word, an address within a word, a transfer without privilege where PrivilegedOnly is set (none of
/// them has an effect), and what the module behind calls an error. DECERR: an address beyond the last window; without effect.
///
/// latency:  4 clocks from the address to the answer, for a module that answers after 2
/// area:     O(1): registers for two addresses and a word
module weir_axil_bus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of an address in a window, 3..28.
  parameter int unsigned WindowWidth = 11,
  /// 1: transfers without privilege (bit 0 of PROT) are refused.
  parameter bit PrivilegedOnly = 1'b0,
  /// Dependent, do not override: bits of an address, of up to 32 windows.
  localparam int unsigned AddrWidth = (WindowWidth < 27) ? WindowWidth + 5 : 32,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                clk_i,      /// Clock, rising edge.
  input  logic                rst_ni,     /// Reset, asynchronous, active low.
  input  logic                awvalid_i,  /// AXI4-Lite write address.
  output logic                awready_o,  /// Its register is empty.
  input  logic [AddrWidth-1:0] awaddr_i,   /// Byte address.
  input  logic [2:0]          awprot_i,   /// Bit 0: privileged.
  input  logic                wvalid_i,   /// Write data.
  output logic                wready_o,   /// Its register is empty.
  input  logic [31:0]         wdata_i,    /// Data.
  input  logic [3:0]          wstrb_i,    /// All ones, else SLVERR.
  output logic                bvalid_o,   /// Write answer, until bready_i.
  input  logic                bready_i,   /// It is taken.
  output logic [1:0]          bresp_o,    /// 0 OKAY, 2 SLVERR, 3 DECERR.
  input  logic                arvalid_i,  /// Read address.
  output logic                arready_o,  /// Its register is empty.
  input  logic [AddrWidth-1:0] araddr_i,   /// Byte address.
  input  logic [2:0]          arprot_i,   /// Bit 0: privileged.
  output logic                rvalid_o,   /// Read answer, until rready_i.
  input  logic                rready_i,   /// It is taken.
  output logic [31:0]         rdata_o,    /// Data.
  output logic [1:0]          rresp_o,    /// 0 OKAY, 2 SLVERR, 3 DECERR.
  output logic                req_o,      /// Simple bus: a request, one clock.
  output logic                we_o,       /// It writes.
  output logic [CpuWidth-1:0] cpu_o,      /// The CPU whose window it is.
  output logic [WindowWidth-1:2] addr_o,     /// Word address in the window. All of it stands until the answer.
  output logic [31:0]         wdata_o,    /// Data.
  input  logic                rvalid_i,   /// Answer, some clocks later.
  input  logic                err_i,      /// With it: there is no such register, or it cannot be read or written.
  input  logic [31:0]         rdata_i     /// Data.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_axil_bus: NumCpus is 1 to 8, not %0d", NumCpus);
  if (WindowWidth < 3 || WindowWidth > 28) $error("weir_axil_bus: WindowWidth is 3 to 28, not %0d", WindowWidth);

  localparam logic [1:0] Okay = 2'd0, SlvErr = 2'd2, DecErr = 2'd3;
  typedef enum logic [1:0] {Idle, Wait, WriteAnswer, ReadAnswer} state_e;

  state_e      state_q;
  logic        aw_q, w_q, ar_q, aw_plain_q, w_whole_q, ar_plain_q, turn_q, take_write, take_read, writes, plain;
  logic [31:0] data_q, read_q;
  logic [1:0]  resp_q, resp;
  logic [AddrWidth-1:0] aw_addr_q, ar_addr_q, addr;

  // A register is empty again in the clock in which the answer to what it held is taken.
  assign awready_o = !aw_q;
  assign wready_o  = !w_q;
  assign arready_o = !ar_q;

  // turn_q: the transfer before was a write.
  assign take_write = state_q == Idle && aw_q && w_q && !(turn_q && ar_q);
  assign take_read  = state_q == Idle && ar_q && !take_write;
  // The modules behind may look at a request until they answer it.
  assign writes     = state_q == Idle ? take_write : turn_q;
  assign addr       = writes ? aw_addr_q : ar_addr_q;
  assign plain      = writes ? aw_plain_q : ar_plain_q;

  always_comb begin
    resp = Okay;
    if (32'(addr[AddrWidth-1:WindowWidth]) >= NumCpus) resp = DecErr;
    else if (addr[1:0] != '0 || (PrivilegedOnly && plain) || (take_write && !w_whole_q)) resp = SlvErr;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= Idle;
      aw_q       <= 1'b0;
      w_q        <= 1'b0;
      ar_q       <= 1'b0;
      aw_plain_q <= 1'b0;
      w_whole_q  <= 1'b0;
      ar_plain_q <= 1'b0;
      turn_q     <= 1'b0;
      aw_addr_q  <= '0;
      ar_addr_q  <= '0;
      data_q     <= '0;
      read_q     <= '0;
      resp_q     <= '0;
    end else begin
      if (awvalid_i && !aw_q) begin
        aw_q       <= 1'b1;
        aw_addr_q  <= awaddr_i;
        aw_plain_q <= !awprot_i[0];
      end
      if (wvalid_i && !w_q) begin
        w_q       <= 1'b1;
        data_q    <= wdata_i;
        w_whole_q <= wstrb_i == 4'b1111;
      end
      if (arvalid_i && !ar_q) begin
        ar_q       <= 1'b1;
        ar_addr_q  <= araddr_i;
        ar_plain_q <= !arprot_i[0];
      end
      unique case (state_q)
        Idle: if (take_write || take_read) begin
          turn_q  <= take_write;
          resp_q  <= resp;
          read_q  <= '0;
          state_q <= resp == Okay ? Wait : take_write ? WriteAnswer : ReadAnswer;
        end
        // turn_q: it is a write.
        Wait: if (rvalid_i) begin
          read_q  <= rdata_i;
          resp_q  <= err_i ? SlvErr : Okay;
          state_q <= turn_q ? WriteAnswer : ReadAnswer;
        end
        WriteAnswer: if (bready_i) begin
          aw_q    <= 1'b0;
          w_q     <= 1'b0;
          state_q <= Idle;
        end
        ReadAnswer: if (rready_i) begin
          ar_q    <= 1'b0;
          state_q <= Idle;
        end
        default: state_q <= Idle;
      endcase
    end
  end

  assign req_o    = (take_write || take_read) && resp == Okay;
  assign we_o     = writes;
  assign cpu_o    = addr[WindowWidth+:CpuWidth];
  assign addr_o   = addr[WindowWidth-1:2];
  assign wdata_o  = data_q;
  assign bvalid_o = state_q == WriteAnswer;
  assign bresp_o  = resp_q;
  assign rvalid_o = state_q == ReadAnswer;
  assign rdata_o  = read_q;
  assign rresp_o  = resp_q;

  // Instruction or data, secure or not: no difference here.
  logic unused;
  assign unused = ^{awprot_i[2:1], arprot_i[2:1]};
endmodule
