// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_tlul_bus - TileLink (TL-UL, 32 bits) in front of the simple bus of the engine, the whole set or the unified controller; each CPU has its window.
///
/// A window is what the module behind takes: 2 KiB (11 bits) for weir_laxity, 32 MiB (25) for weir_kernel, 256 MiB (28) for weir_unified.
/// Window c belongs to CPU c. One transfer at a time. Denied: an address beyond the last window or within a word, an access of less or more
/// than a word, data that are corrupt, another operation than Get and Put (none of them has an effect), and what the module behind calls an
/// error. TL-UL has no privilege: what may come here is for the interconnect to say. Outputs depend on registers only.
///
/// latency:  4 clocks from the request on A to the answer on D for a module that answers after 2, 1 for what is denied
/// area:     O(1)
module weir_tlul_bus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of an address in a window, 3..28.
  parameter int unsigned WindowWidth = 11,
  /// Bits of a source, 1..32.
  parameter int unsigned SourceWidth = 8,
  /// Bits of a size, 2..4.
  parameter int unsigned SizeWidth = 2,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                   clk_i,          /// Clock, rising edge.
  input  logic                   rst_ni,         /// Reset, asynchronous, active low.
  input  logic                   tl_a_valid_i,   /// Channel A: a request, until it is taken.
  output logic                   tl_a_ready_o,   /// It is taken.
  input  logic [2:0]             tl_a_opcode_i,  /// 0 PutFullData, 1 PutPartialData, 4 Get.
  input  logic [SizeWidth-1:0]   tl_a_size_i,    /// 2 (four bytes), else denied.
  input  logic [SourceWidth-1:0] tl_a_source_i,  /// Who asks: comes back with the answer.
  input  logic [31:0]            tl_a_address_i, /// Byte address, from the first window on.
  input  logic [3:0]             tl_a_mask_i,    /// All ones, else denied.
  input  logic [31:0]            tl_a_data_i,    /// Data.
  input  logic                   tl_a_corrupt_i, /// They are corrupt: denied; 0 for a master without it.
  output logic                   tl_d_valid_o,   /// Channel D: an answer, until it is taken.
  input  logic                   tl_d_ready_i,   /// It is taken.
  output logic [2:0]             tl_d_opcode_o,  /// 0 AccessAck, 1 AccessAckData.
  output logic [SizeWidth-1:0]   tl_d_size_o,    /// As asked.
  output logic [SourceWidth-1:0] tl_d_source_o,  /// As asked.
  output logic                   tl_d_denied_o,  /// It was denied, or the module behind calls it an error.
  output logic [31:0]            tl_d_data_o,    /// Data.
  output logic                   tl_d_corrupt_o, /// The data mean nothing: an AccessAckData that is denied.
  output logic                   req_o,          /// Simple bus, as in weir_axil_bus.
  output logic                   we_o,           /// It writes.
  output logic [CpuWidth-1:0]    cpu_o,          /// The CPU whose window it is.
  output logic [WindowWidth-1:2] addr_o,         /// Word address in the window.
  output logic [31:0]            wdata_o,        /// Data.
  input  logic                   rvalid_i,       /// Answer, some clocks later.
  input  logic                   err_i,          /// With it: an error; 0 for a module that knows none.
  input  logic [31:0]            rdata_i         /// Data.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_tlul_bus: NumCpus is 1 to 8, not %0d", NumCpus);
  if (WindowWidth < 3 || WindowWidth > 28) $error("weir_tlul_bus: WindowWidth is 3 to 28, not %0d", WindowWidth);
  if (SourceWidth < 1 || SourceWidth > 32) $error("weir_tlul_bus: SourceWidth is 1 to 32, not %0d", SourceWidth);
  if (SizeWidth < 2 || SizeWidth > 4) $error("weir_tlul_bus: SizeWidth is 2 to 4, not %0d", SizeWidth);

  localparam logic [2:0] PutFullData = 3'd0, PutPartialData = 3'd1, Get = 3'd4;

  typedef enum logic [1:0] {Idle, Request, Wait, Answer} state_e;
  state_e      state_q;
  logic        put, get, we_q, get_q, denied_q, refused;
  logic [31:0] data_q;
  logic [CpuWidth-1:0]    cpu_q;
  logic [WindowWidth-1:2] addr_q;
  logic [SourceWidth-1:0] source_q;
  logic [SizeWidth-1:0]   size_q;

  assign put     = tl_a_opcode_i == PutFullData || tl_a_opcode_i == PutPartialData;
  assign get     = tl_a_opcode_i == Get;
  assign refused = tl_a_address_i >> WindowWidth >= NumCpus || tl_a_address_i[1:0] != '0 || tl_a_size_i != SizeWidth'(2) ||
                   tl_a_mask_i != 4'b1111 || tl_a_corrupt_i || !(put || get);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      we_q     <= 1'b0;
      get_q    <= 1'b0;
      denied_q <= 1'b0;
      cpu_q    <= '0;
      addr_q   <= '0;
      data_q   <= '0;
      source_q <= '0;
      size_q   <= '0;
    end else begin
      unique case (state_q)
        Idle: if (tl_a_valid_i) begin
          we_q     <= put;
          get_q    <= get;
          cpu_q    <= tl_a_address_i[WindowWidth+:CpuWidth];
          addr_q   <= tl_a_address_i[WindowWidth-1:2];
          data_q   <= refused || get ? '0 : tl_a_data_i;
          source_q <= tl_a_source_i;
          size_q   <= tl_a_size_i;
          denied_q <= refused;
          state_q  <= refused ? Answer : Request;
        end
        Request: state_q <= Wait;
        Wait: if (rvalid_i) begin
          data_q   <= rdata_i;
          denied_q <= err_i;
          state_q  <= Answer;
        end
        Answer: if (tl_d_ready_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  assign tl_a_ready_o   = state_q == Idle;
  assign tl_d_valid_o   = state_q == Answer;
  assign tl_d_opcode_o  = {2'b00, get_q};
  assign tl_d_size_o    = size_q;
  assign tl_d_source_o  = source_q;
  assign tl_d_denied_o  = denied_q;
  assign tl_d_data_o    = data_q;
  assign tl_d_corrupt_o = denied_q && get_q;
  assign req_o          = state_q == Request;
  assign we_o           = we_q;
  assign cpu_o          = cpu_q;
  assign addr_o         = addr_q;
  assign wdata_o        = data_q;
endmodule
