// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_unified - the unified scheduler and interrupt controller: threads, interrupts and timers on one scale of priority.
///
/// Software keeps the lists of ready threads and reports the head of each; the controller keeps one bit per priority for them, and
/// the most urgent of the interrupts and expired timers. It interrupts the CPU only while one of these is strictly more urgent than
/// the current thread. Greater numbers are more urgent; among equals interrupts go before timers before threads, and the lowest first.
/// Word address, from bit 2: command (4 bits), thread (8), priority (8), line or timer (6). Commands and answers: docs/hardware-registers.md.
///
/// Threads and priorities of lines and timers are in a memory, which is read once for each that comes: it is compared with the most
/// urgent one so far. When one goes, those that are left are read again, one a clock. The timers' expiries are in a memory that is
/// read round about, a timer a clock.
///
/// twin:     hw/models/src/unified.rs
/// latency:  NEXT within 6 clocks and two for each line and timer that is read meanwhile, others within 4; from a line to irq_o 6, if
///           no other is read; a timer expires up to NumTimers + 2 clocks late, half as many again if its calls follow each other
/// area:     five memories: NumLevels bits and thread numbers, a thread and a priority per line and timer, an expiry per timer;
///           five bits of registers per line, three per timer
/// source:   Preston, 2011, 3.4; identity of equal interrupts, empty levels, acceptance, the serial search and latencies are ours
module weir_unified #(
  /// Interrupt lines, 2..64.
  parameter int unsigned NumLines = 16,
  /// Lines that interrupt by their rising edge; the others by their level.
  parameter bit [NumLines-1:0] Edges = '0,
  /// Timers, 2..64.
  parameter int unsigned NumTimers = 8,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Priorities, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// Bits of the clock.
  parameter int unsigned ClockWidth = 48,
  /// Dependent, do not override: bits of a line number.
  localparam int unsigned LineWidth = $clog2(NumLines),
  /// Dependent, do not override: bits of a timer number.
  localparam int unsigned TimerWidth = $clog2(NumTimers),
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads),
  /// Dependent, do not override: bits of a priority.
  localparam int unsigned LevelWidth = $clog2(NumLevels),
  /// Dependent, do not override: bits of the number of a line or timer among both.
  localparam int unsigned ItemWidth = $clog2(NumLines + NumTimers)
) (
  input  logic                clk_i,    /// Clock, rising edge.
  input  logic                rst_ni,   /// Reset, asynchronous, active low: nothing is ready, nothing runs.
  input  logic [NumLines-1:0] lines_i,  /// Interrupt lines, synchronous to the clock.
  input  logic                req_i,    /// A call; the next one only after its answer.
  input  logic                we_i,     /// It is a store: ADD_TIMER.
  input  logic [27:2]         addr_i,   /// Word address: the call; held until its answer.
  input  logic [31:0]         wdata_i,  /// Clocks until the expiry; held until the answer.
  output logic                rvalid_o, /// The answer.
  output logic [31:0]         rdata_o,  /// Its value.
  output logic                irq_o     /// Something more urgent than the current thread is there: level.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumLines < 2 || NumLines > 64) $error("weir_unified: NumLines is 2 to 64, not %0d", NumLines);
  if (NumTimers < 2 || NumTimers > 64) $error("weir_unified: NumTimers is 2 to 64, not %0d", NumTimers);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_unified: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);
  if (NumLevels < 2 || NumLevels > 256 || (NumLevels & (NumLevels - 1)) != 0)
    $error("weir_unified: NumLevels is a power of two, 2 to 256, not %0d", NumLevels);
  if (ClockWidth < 34 || ClockWidth > 64) $error("weir_unified: ClockWidth is 34 to 64, not %0d", ClockWidth);

  typedef logic [IdWidth-1:0]    id_t;
  typedef logic [LevelWidth-1:0] level_t;
  typedef logic [ItemWidth-1:0]  item_t;
  // Rest: wait until what is the most urgent is known. Pick: take it. Tell: a timer's expiry is read.
  typedef enum logic [2:0] {Idle, Do, Rest, Pick, Tell} state_e;
  localparam int unsigned NumItems = NumLines + NumTimers;

  // The call is held until its answer, so it is not kept here.
  state_e                          state_q;
  weir_regs_pkg::address_unified_t call;
  logic                            of_timer, known, associate, clear, add, cancel, set_thread;
  item_t                           item;
  level_t                          level;
  assign call       = addr_i;
  assign level      = call.priority_f[LevelWidth-1:0];
  assign of_timer   = call.command_f == weir_regs_pkg::UnifiedAddTimer || call.command_f == weir_regs_pkg::UnifiedTimerStatus ||
                      call.command_f == weir_regs_pkg::UnifiedCancelTimer;
  assign known      = 32'(call.which_f) < (of_timer ? NumTimers : NumLines);
  // Lines and timers have numbers in common: first the lines.
  assign item       = of_timer ? ItemWidth'(NumLines) + ItemWidth'(call.which_f) : ItemWidth'(call.which_f);
  assign associate  = state_q == Do && known && call.command_f == weir_regs_pkg::UnifiedAssociate;
  assign clear      = state_q == Do && known && call.command_f == weir_regs_pkg::UnifiedClear;
  assign add        = state_q == Do && known && call.command_f == weir_regs_pkg::UnifiedAddTimer && we_i;
  assign cancel     = state_q == Do && known && call.command_f == weir_regs_pkg::UnifiedCancelTimer;

  // ------------------------------------------------------------------ threads: the head of each level
  id_t    head;
  logic   task_some, task_settled;
  level_t task_top;
  id_t    head_mem[NumLevels];

  assign set_thread = state_q == Do && call.command_f == weir_regs_pkg::UnifiedSetThread && task_settled;
  always_ff @(posedge clk_i) begin
    head <= head_mem[task_top];
    if (set_thread) head_mem[level] <= call.thread_f[IdWidth-1:0];
  end
  weir_level_field #(.NumLevels(NumLevels)) u_tasks (
    .clk_i, .rst_ni, .change_i(set_thread), .set_i(!call.which_f[0]), .level_i(level),
    .settled_o(task_settled), .some_o(task_some), .top_o(task_top)
  );

  // ------------------------------------------------------------------ timers: which of them are due, one a clock
  logic [ClockWidth-1:0] now_q, expiry, left;
  logic [TimerWidth-1:0] scan_q, read, timer_q;
  logic [NumTimers-1:0]  armed_q, expire;
  logic                  looks_up, added_q;
  logic [ClockWidth-1:0] expiry_mem[NumTimers];

  // A call reads its timer in between; the round goes on behind it.
  assign looks_up = state_q == Do && of_timer;
  assign read     = looks_up ? call.which_f[TimerWidth-1:0] : scan_q;
  assign left = expiry - now_q;
  always_ff @(posedge clk_i) begin
    expiry <= expiry_mem[read];
    if (add) expiry_mem[call.which_f[TimerWidth-1:0]] <= now_q + ClockWidth'(wdata_i);
  end
  always_comb
    // What was read while it was written says nothing.
    for (int unsigned t = 0; t < NumTimers; t++) expire[t] = armed_q[t] && timer_q == TimerWidth'(t) && left[ClockWidth-1] && !added_q;

  // ------------------------------------------------------------------ lines and expired timers: the most urgent one of them
  // Posted: NEXT can take it. Seen: it was compared with the most urgent one.
  logic [NumLines-1:0] lines_q, latched_q, enabled_q, pending;
  logic [NumItems-1:0] posted_q, seen_q, hot, pick, gone;
  logic                take, drop, some_hot, picked_q, better, best_some_q, line_pending;
  item_t               pick_item, picked_item_q, gone_item, best_item_q;
  id_t                 picked_id, best_id_q;
  level_t              picked_level, best_level_q;
  logic [LevelWidth+IdWidth-1:0] item_mem[NumItems];

  assign pending      = (latched_q & Edges) | (lines_q & ~Edges);
  assign line_pending = pending[call.which_f[LineWidth-1:0]];
  assign drop         = associate || clear || add || cancel;
  assign gone_item    = take ? best_item_q : item;
  assign hot          = posted_q & ~seen_q;
  assign some_hot     = hot != '0;
  assign pick         = hot & (~hot + NumItems'(1));
  always_comb begin
    pick_item = '0;
    for (int unsigned i = 0; i < NumItems; i++) begin
      if (pick[i]) pick_item |= ItemWidth'(i);
      gone[i] = (take || drop) && gone_item == ItemWidth'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    {picked_level, picked_id} <= item_mem[pick_item];
    if (associate || add) item_mem[item] <= {level, call.thread_f[IdWidth-1:0]};
  end
  // Among equals the lowest one.
  assign better = picked_q && (!best_some_q || {picked_level, ~picked_item_q} > {best_level_q, ~best_item_q});

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lines_q       <= '0;
      latched_q     <= '0;
      enabled_q     <= '0;
      posted_q      <= '0;
      seen_q        <= '0;
      picked_q      <= 1'b0;
      picked_item_q <= '0;
      best_some_q   <= 1'b0;
      best_item_q   <= '0;
      best_id_q     <= '0;
      best_level_q  <= '0;
      now_q         <= '0;
      scan_q        <= '0;
      timer_q       <= '0;
      armed_q       <= '0;
      added_q       <= 1'b0;
    end else begin
      lines_q   <= lines_i;
      // An edge in the clock in which a line goes is a new one.
      latched_q <= (latched_q & ~gone[NumLines-1:0]) | (lines_i & ~lines_q);
      // Already pending: served at once, and not enabled. An active level counts, too.
      for (int unsigned l = 0; l < NumLines; l++) if (gone[l]) enabled_q[l] <= associate && !line_pending;
      // A line is posted once it has interrupted while enabled, even if its level goes.
      posted_q      <= (posted_q | {expire, pending & enabled_q}) & ~gone;
      picked_q      <= some_hot && !take && !drop;
      picked_item_q <= pick_item;
      if (take || drop) begin
        seen_q      <= '0;
        best_some_q <= 1'b0;
      end else begin
        seen_q <= seen_q | pick;
        if (better) begin
          best_some_q  <= 1'b1;
          best_item_q  <= picked_item_q;
          best_id_q    <= picked_id;
          best_level_q <= picked_level;
        end
      end
      now_q   <= now_q + ClockWidth'(1);
      if (!looks_up) scan_q <= 32'(scan_q) == NumTimers - 1 ? '0 : scan_q + TimerWidth'(1);
      timer_q <= read;
      added_q <= add;
      for (int unsigned t = 0; t < NumTimers; t++) begin
        if (expire[t]) armed_q[t] <= 1'b0;
        if (gone[NumLines+t]) armed_q[t] <= add;
      end
    end
  end

  // ------------------------------------------------------------------ which of both is first
  logic   from_item, some, runs_q, irq_q;
  level_t first, current_level_q;
  id_t    current_q;
  assign some      = best_some_q || task_some;
  assign from_item = best_some_q && (!task_some || best_level_q >= task_top);
  assign first     = from_item ? best_level_q : task_top;
  assign take      = state_q == Pick && from_item;

  logic       best_timer;
  logic [7:0] best_which;
  logic [1:0] best_source;
  assign best_timer  = 32'(best_item_q) >= NumLines;
  assign best_which  = 8'(best_item_q) - (best_timer ? 8'(NumLines) : 8'd0);
  assign best_source = best_timer ? 2'd1 : 2'd2;

  // ------------------------------------------------------------------ calls
  logic timer_armed;
  assign timer_armed = armed_q[call.which_f[TimerWidth-1:0]];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q         <= Idle;
      runs_q          <= 1'b0;
      current_q       <= '0;
      current_level_q <= '0;
      rvalid_o        <= 1'b0;
      rdata_o         <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      unique case (state_q)
        Idle: if (req_i) state_q <= call.command_f == weir_regs_pkg::UnifiedNext ? Rest : Do;
        Do: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          unique case (call.command_f)
            weir_regs_pkg::UnifiedCurrent: rdata_o <= weir_regs_pkg::unified_current(!runs_q, 8'(current_level_q), 8'(current_q));
            weir_regs_pkg::UnifiedSetThread: if (!task_settled) begin
              rvalid_o <= 1'b0;
              state_q  <= Do;
            end
            weir_regs_pkg::UnifiedAssociate, weir_regs_pkg::UnifiedClear, weir_regs_pkg::UnifiedRead:
              rdata_o <= known ? {31'd0, line_pending} : '1;
            weir_regs_pkg::UnifiedAddTimer: if (!add) rdata_o <= '1;
            weir_regs_pkg::UnifiedTimerStatus: if (known) begin
              rvalid_o <= 1'b0;
              state_q  <= Tell;
            end else rdata_o <= '1;
            weir_regs_pkg::UnifiedCancelTimer: rdata_o <= known ? {31'd0, timer_armed || posted_q[item]} : '1;
            weir_regs_pkg::UnifiedClock: rdata_o <= now_q[31:0];
            default: rdata_o <= '1;
          endcase
        end
        // The head of the top level is read meanwhile.
        Rest: if (task_settled && !some_hot && !picked_q) state_q <= Pick;
        Pick: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          runs_q   <= some;
          if (!some) rdata_o <= weir_regs_pkg::unified_next(1'b1, 2'd0, 8'd0, 8'd0, 8'd0);
          else begin
            rdata_o         <= weir_regs_pkg::unified_next(1'b0, from_item ? best_source : 2'd0, from_item ? best_which : 8'd0,
                                                           8'(first), from_item ? 8'(best_id_q) : 8'(head));
            current_q       <= from_item ? best_id_q : head;
            current_level_q <= first;
          end
        end
        default: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          // A timer that is due but not served yet has no clocks left.
          rdata_o  <= !timer_armed || left[ClockWidth-1] ? '0 : |left[ClockWidth-2:32] ? '1 : left[31:0];
        end
      endcase
    end
  end

  // ------------------------------------------------------------------ interrupt
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) irq_q <= 1'b0;
    else irq_q <= state_q == Idle && !req_i && task_settled && some && (!runs_q || first > current_level_q);
  end
  assign irq_o = irq_q;

`ifdef FORMAL
  // For the steps of an induction, which sees no memories.
  logic [NumItems-1:0][LevelWidth+IdWidth-1:0] items;
  logic [NumTimers-1:0][ClockWidth-1:0]        expiries;
  logic [NumLevels-1:0][IdWidth-1:0]           heads;
  always_comb begin
    for (int unsigned i = 0; i < NumItems; i++) items[i] = item_mem[i];
    for (int unsigned t = 0; t < NumTimers; t++) expiries[t] = expiry_mem[t];
    for (int unsigned l = 0; l < NumLevels; l++) heads[l] = head_mem[l];
  end
`ifndef PROMISES_ONLY
  // Which of lines and expired timers is the most urgent: of those that were compared. The others are being read.
  always_comb if (rst_ni) begin
    assert ((seen_q & ~posted_q) == '0);
    if (picked_q)
      assert (32'(picked_item_q) < NumItems && seen_q[picked_item_q] && {picked_level, picked_id} == items[picked_item_q]);
    if (best_some_q)
      assert (32'(best_item_q) < NumItems && seen_q[best_item_q] && {best_level_q, best_id_q} == items[best_item_q] &&
              !(picked_q && picked_item_q == best_item_q));
    for (int i = 0; i < NumItems; i++)
      if (seen_q[i] && !(picked_q && picked_item_q == ItemWidth'(i)))
        assert (best_some_q && (best_level_q > LevelWidth'(items[i] >> IdWidth) ||
                                (best_level_q == LevelWidth'(items[i] >> IdWidth) && best_item_q <= ItemWidth'(i))));
    if (state_q == Pick) assert (!picked_q && task_settled && head == heads[task_top]);
    if (state_q == Tell) assert (timer_q == call.which_f[TimerWidth-1:0] && !added_q);
    // The round of the timers.
    assert (32'(scan_q) < NumTimers);
    if (!added_q && 32'(timer_q) < NumTimers) assert (expiry == expiries[timer_q]);
    assert ((armed_q & posted_q[NumItems-1:NumLines]) == '0);
  end
`endif
`endif

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^call;
endmodule
