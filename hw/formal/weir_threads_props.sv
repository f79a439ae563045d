// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_threads promises, for any calls and any wake-ups, before any scheduler: no thread is both current and queued, or current on
/// two CPUs; nothing that is blocked is queued, a wake-up is never lost, and a number is given to one thread at a time. A CPU whose
/// thread another one blocks is told until it has left it.
module weir_threads_props #(
  parameter int unsigned NumThreads = 2,
  parameter int unsigned NumCpus = 1,
  /// 1: there are threads that no CPU runs.
  parameter bit Hardware = 1'b0,
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                req_i,
  input logic [CpuWidth-1:0] cpu_i,
  input logic [21:2]         addr_i,
  input logic                op_req_i,
  input logic                op_block_i,
  input logic                op_raise_i,
  input logic                op_lower_i,
  input logic [7:0]          op_level_i,
  input logic [IdWidth-1:0]  op_id_i,
  input logic [IdWidth-1:0]  pick_i
);
  localparam logic [3:0] Create = 4'd0, Next = 4'd2, Yield = 4'd3, Clear = 4'd4, Exit = 4'd6, Join = 4'd7, Detach = 4'd8,
      Add = 4'd9, Block = 4'd10, Status = 4'd11, Raise = 4'd12, Lower = 4'd13, Hard = 4'd14;

  logic        rvalid, op_done, lists_req, lists_rvalid, wake;
  logic [IdWidth-1:0] wake_id;
  logic [31:0] rdata, lists_rdata;
  logic [21:2] lists_addr;
  logic [NumCpus-1:0] stop;
  weir_threads #(.NumThreads(NumThreads), .NumCpus(NumCpus), .Hardware(Hardware)) u_threads (
    .clk_i, .rst_ni, .req_i, .cpu_i, .stop_o(stop), .addr_i, .rvalid_o(rvalid), .rdata_o(rdata),
    .op_req_i, .op_block_i, .op_raise_i, .op_lower_i, .op_level_i, .op_id_i, .op_done_o(op_done), .wake_o(wake), .wake_id_o(wake_id),
    .lists_req_o(lists_req), .lists_addr_o(lists_addr), .lists_rvalid_i(lists_rvalid), .lists_rdata_i(lists_rdata)
  );

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);

  // A scheduler: a set of queued threads, of which NEXT gives any. It answers in the next clock.
  logic [NumThreads-1:0] queued_q;
  logic                  ask_q;
  logic [3:0]            list_cmd_q;
  logic [IdWidth-1:0]    who_q, next;
  always_comb begin
    next = pick_i;
    if (!queued_q[next]) for (int t = 0; t < NumThreads; t++) if (queued_q[t]) next = IdWidth'(t);
  end
  assign lists_rvalid = ask_q;
  assign lists_rdata  = list_cmd_q == 4'd10 ? (queued_q == '0 ? 32'h8000_0000 : 32'(next)) : {31'd0, queued_q[who_q]};

  logic                  open_q, live_q, op_q, op_block_q, op_raise_q, op_lower_q, op_levels;
  logic [7:0]            op_level_q, list_arg_q;
  assign op_levels = op_raise_i || op_lower_i;
  logic [21:2]           addr_q;
  logic [3:0]            cmd;
  logic [IdWidth-1:0]    id, op_id_q;
  logic [NumThreads-1:0] used_q, alive_q, blocked_q, added_q, joined_q, hard_q;
  // What each CPU runs; threads that have been joined before they have left their CPU; CPUs whose thread another one has blocked.
  logic [CpuWidth-1:0]              cpu_q;
  logic [NumCpus-1:0]               running_q, stop_q;
  logic [NumCpus-1:0][IdWidth-1:0]  current_q;
  logic [NumThreads-1:0]            leaving_q, on;
  // A wake-up that went out in the clock before.
  logic                  went_q;
  logic [IdWidth-1:0]    went_id_q;
  logic [NumThreads-1:0][IdWidth-1:0] joiner_q;
  logic                  quiet;
  // Nothing is under way.
  assign quiet = !open_q && !op_req_i && !ask_q && !lists_req && !rvalid && !op_done;
  assign cmd = addr_q[5:2];
  assign id  = addr_q[6+:IdWidth];
  always_comb begin
    on = '0;
    for (int c = 0; c < NumCpus; c++) if (running_q[c]) on[current_q[c]] = 1'b1;
  end

  // The thread of the CPU that calls.
  logic [IdWidth-1:0] mine;
  assign mine = current_q[cpu_q];

  // CPUs that have to leave their thread, after the command that is answered or done in this clock: blocked by another CPU's call, and
  // neither woken nor left since.
  logic [NumCpus-1:0] now_stop;
  always_comb begin
    now_stop = stop_q;
    for (int c = 0; c < NumCpus; c++) begin
      if (rvalid && !rdata[31] && running_q[c]) begin
        if (cmd == Block && current_q[c] == id && cpu_q != CpuWidth'(c)) now_stop[c] = 1'b1;
        if (cmd == Add && current_q[c] == id) now_stop[c] = 1'b0;
        if (cmd == Exit && joined_q[mine] && current_q[c] == joiner_q[mine]) now_stop[c] = 1'b0;
      end
      if (op_done && !op_block_i && !op_levels && alive_q[op_id_i] && running_q[c] && current_q[c] == op_id_i) now_stop[c] = 1'b0;
      if (ask_q && list_cmd_q == 4'd10 && cpu_q == CpuWidth'(c)) now_stop[c] = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      queued_q   <= '0;
      ask_q      <= 1'b0;
      list_cmd_q <= '0;
      who_q      <= '0;
      open_q     <= 1'b0;
      live_q     <= 1'b0;
      op_q       <= 1'b0;
      addr_q     <= '0;
      running_q  <= '0;
      current_q  <= '0;
      stop_q     <= '0;
      leaving_q  <= '0;
      cpu_q      <= '0;
      used_q     <= '0;
      alive_q    <= '0;
      blocked_q  <= '0;
      added_q    <= '0;
      joined_q   <= '0;
      joiner_q   <= '0;
      hard_q     <= '0;
      went_q     <= 1'b0;
    end else begin
      went_q     <= wake;
      went_id_q  <= wake_id;
      live_q <= 1'b1;
      ask_q  <= lists_req;
      if (lists_req) begin
        list_cmd_q <= lists_addr[5:2];
        who_q      <= lists_addr[6+:IdWidth];
        list_arg_q <= lists_addr[21:14];
      end
      if (ask_q) begin
        if (list_cmd_q == 4'd1) queued_q[who_q] <= 1'b1;
        if (list_cmd_q == 4'd2) queued_q[who_q] <= 1'b0;
        if (list_cmd_q == 4'd10 && queued_q != '0) queued_q[next] <= 1'b0;
        if (list_cmd_q == 4'd10) begin
          running_q[cpu_q] <= queued_q != '0;
          current_q[cpu_q] <= next;
          // It leaves its CPU for good.
          if (running_q[cpu_q] && leaving_q[current_q[cpu_q]]) begin
            used_q[current_q[cpu_q]]    <= 1'b0;
            leaving_q[current_q[cpu_q]] <= 1'b0;
          end
        end
        // Put back: it is queued, and nothing runs for a moment.
        if (list_cmd_q == 4'd1 && running_q[cpu_q] && who_q == current_q[cpu_q]) running_q[cpu_q] <= 1'b0;
      end
      if (req_i) begin
        open_q <= 1'b1;
        addr_q <= addr_i;
        cpu_q  <= cpu_i;
      end
      if (rvalid) begin
        open_q <= 1'b0;
        if (cmd == Create && !rdata[31]) used_q[rdata[IdWidth-1:0]] <= 1'b1;
        if ((cmd == Clear || (cmd == Join && rdata == '0)) && !rdata[31]) begin
          if (on[id]) leaving_q[id] <= 1'b1;
          else used_q[id] <= 1'b0;
        end
      end
      if (rvalid && !rdata[31]) begin
        unique case (cmd)
          Create: begin
            alive_q[rdata[IdWidth-1:0]]   <= 1'b1;
            blocked_q[rdata[IdWidth-1:0]] <= 1'b0;
            added_q[rdata[IdWidth-1:0]]   <= 1'b0;
            joined_q[rdata[IdWidth-1:0]]  <= 1'b0;
            hard_q[rdata[IdWidth-1:0]]    <= 1'b0;
          end
          Hard: hard_q[id] <= addr_q[14];
          Clear: alive_q[id] <= 1'b0;
          Exit: begin
            alive_q[mine] <= 1'b0;
            if (joined_q[mine]) begin
              blocked_q[joiner_q[mine]] <= 1'b0;
              added_q[joiner_q[mine]]   <= 1'b1;
            end
          end
          Join: if (rdata[0]) begin
            joined_q[id]    <= 1'b1;
            joiner_q[id]    <= mine;
            blocked_q[mine] <= 1'b1;
          end
          Add: begin
            blocked_q[id] <= 1'b0;
            added_q[id]   <= 1'b1;
          end
          Block: blocked_q[id] <= 1'b1;
          default: ;
        endcase
      end
      if (op_done && alive_q[op_id_i] && !op_levels) begin
        blocked_q[op_id_i] <= op_block_i;
        added_q[op_id_i]   <= added_q[op_id_i] || !op_block_i;
      end
      stop_q     <= now_stop;
      op_q       <= op_req_i && !op_done;
      op_block_q <= op_block_i;
      op_raise_q <= op_raise_i;
      op_lower_q <= op_lower_i;
      op_level_q <= op_level_i;
      op_id_q    <= op_id_i;
    end
  end

  // What the scheduler was told last.
  logic raised_q, lowered_q;
  always_ff @(posedge clk_i) begin
    raised_q  <= ask_q && list_cmd_q == 4'd12 && who_q == op_id_i && list_arg_q == op_level_i;
    lowered_q <= ask_q && list_cmd_q == 4'd5 && who_q == op_id_i && list_arg_q == op_level_i;
  end

  always_comb begin
    if (!live_q || (open_q && !rvalid) || rvalid) assume (!req_i);
    if (open_q) assume (addr_i == addr_q && cpu_i == cpu_q);
    assume (32'(cpu_i) < NumCpus);
    if (req_i) assume ((addr_i[5:2] <= Lower || (Hardware && addr_i[5:2] == Hard)) && addr_i[13:6+IdWidth] == '0);
    // HARDWARE comes before the first wake-up.
    if (open_q && cmd == Hard) assume (!(op_req_i && op_id_i == id));
    if (req_i && addr_i[5:2] == Hard) assume (!added_q[addr_i[6+:IdWidth]] && !(op_req_i && op_id_i == addr_i[6+:IdWidth]));
    // Nobody clears a thread that joins another.
    if (req_i && addr_i[5:2] == Clear)
      for (int t = 0; t < NumThreads; t++) assume (!(joined_q[t] && alive_q[t] && joiner_q[t] == addr_i[6+:IdWidth]));
    // A thread that joins another does not end before that one.
    if (req_i && addr_i[5:2] == Exit && running_q[cpu_i] && joined_q[current_q[cpu_i]]) assume (alive_q[joiner_q[current_q[cpu_i]]]);
    // DETACH recycles numbers later, which this model does not follow.
    if (req_i) assume (addr_i[5:2] != Detach && !(addr_i[5:2] == Create && addr_i[14]));
    // Others hold their request until it is done.
    if (!live_q) assume (!op_req_i);
    if (op_q) assume (op_req_i && op_block_i == op_block_q && op_id_i == op_id_q && op_raise_i == op_raise_q &&
                      op_lower_i == op_lower_q && op_level_i == op_level_q);
    // One of them.
    assume (32'(op_block_i) + 32'(op_raise_i) + 32'(op_lower_i) <= 32'd1);
  end

`ifdef LED
  // A way to what a search among all calls does not find in minutes: two threads run, the one on CPU 0 joins the other, and that ends.
  logic [3:0] calls_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) calls_q <= '0;
    else calls_q <= calls_q + 4'(req_i);
  end
  always_comb begin
    assume (!op_req_i && req_i == (live_q && !open_q && calls_q < 4'd8));
    if (req_i) assume (32'(cpu_i) == 32'(calls_q == 4'd5 || calls_q == 4'd7));
    if (req_i)
      unique case (calls_q)
        4'd0, 4'd1: assume (addr_i == {16'd0, Create});
        4'd2, 4'd3: assume (addr_i == {8'd0, 7'd0, calls_q[0], Add});
        4'd4, 4'd5: assume (addr_i == {16'd0, Next});
        4'd6:       assume (addr_i == {8'd0, 8'(current_q[NumCpus-1]), Join});
        default:    assume (addr_i == {16'd0, Exit});
      endcase
  end
`endif

  // Alive: created, and not ended. What the manager says of a thread is not used here but for its end.
  always_comb if (rst_ni && live_q) begin
    if (rvalid) assert (open_q);
    if (op_done) assert (op_q);
    // No thread is in two places: neither twice in the lists, nor there while it runs.
    // Of the current one only NEXT and YIELD make a queued one, and not if it has to wait or has ended.
    if (ask_q && list_cmd_q == 4'd1 && on[who_q]) begin
      assert (open_q && (cmd == Next || cmd == Yield) && running_q[cpu_q] && who_q == mine);
      assert (!blocked_q[who_q] && alive_q[who_q]);
    end
    assert ((on & queued_q) == '0);
    for (int c = 0; c < NumCpus; c++)
      for (int d = 0; d < c; d++) if (running_q[c] && running_q[d]) assert (current_q[c] != current_q[d]);
    // A CPU is told to leave its thread as soon as another one's call has blocked that, and until it leaves it or it is woken.
    if (quiet) assert (stop == stop_q);
    // A priority is changed as was asked: at least that for RAISE, that for LOWER.
    if (op_done && op_raise_i && alive_q[op_id_i]) assert (raised_q);
    if (op_done && op_lower_i && alive_q[op_id_i]) assert (lowered_q);
    // A wake-up of a thread that no CPU runs goes out when it is made; no other goes out.
    if (Hardware && op_done && !op_block_i && !op_levels && alive_q[op_id_i] && hard_q[op_id_i]) assert (went_q && went_id_q == op_id_i);
    if (Hardware && rvalid && cmd == Add && !rdata[31] && hard_q[id]) assert (went_q && went_id_q == id);
    if (Hardware && went_q) assert ((op_done || rvalid) && hard_q[went_id_q]);
    if (!Hardware) assert (!went_q);
    // A number is given once.
    if (rvalid && cmd == Create && !rdata[31]) assert (!used_q[rdata[IdWidth-1:0]]);
    if (quiet) for (int t = 0; t < NumThreads; t++) begin
      // Nothing that is blocked, or has ended, is queued; what was woken since waits for its turn, or runs.
      if (queued_q[t]) assert (!blocked_q[t] && alive_q[t] && !hard_q[t]);
      if (alive_q[t] && added_q[t] && !blocked_q[t]) assert (queued_q[t] || on[t] || hard_q[t]);
    end
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam logic [2:0] SIdle = 3'd1, SLook = 3'd2, SDo = 3'd3, SAsk = 3'd4, SAgain = 3'd5;
  // The induction sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [2:0]            \u_threads.state_q ;
  (* hierconn *) wire                  \u_threads.held_q ;
  (* hierconn *) wire                  \u_threads.op_q ;
  (* hierconn *) wire [3:0]            \u_threads.cmd_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_threads.id_q ;
  (* hierconn *) wire [7:0]            \u_threads.arg_q ;
  (* hierconn *) wire [NumCpus*IdWidth-1:0] \u_threads.current_q ;
  (* hierconn *) wire [IdWidth-1:0]    \u_threads.parent ;
  (* hierconn *) wire [NumCpus-1:0]    \u_threads.runs_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_threads.used_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_threads.exited_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_threads.joined_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_threads.detached_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_threads.blocked_q ;
  (* hierconn *) wire [NumThreads-1:0] \u_threads.hard_q ;
  (* hierconn *) wire [NumThreads*IdWidth-1:0] \u_threads.parents ;
  logic [2:0]                         state;
  logic                               held, busy, for_op, runs, rests;
  logic [NumCpus-1:0]                 all_run;
  logic [NumCpus-1:0][IdWidth-1:0]    all_current;
  logic [NumThreads-1:0]              placed, now_leaving;
  logic [3:0]                         did;
  logic [IdWidth-1:0]                 tid, now_current, whom;
  logic [NumThreads-1:0]              exists, living, blocks, now_used, now_alive, now_blocked, now_added, now_joined, now_hard;
  logic [NumThreads-1:0][IdWidth-1:0] parents, now_joiner;
  assign state       = \u_threads.state_q ;
  assign held        = \u_threads.held_q ;
  assign for_op      = \u_threads.op_q ;
  assign did         = \u_threads.cmd_q ;
  assign tid         = \u_threads.id_q ;
  assign all_current = \u_threads.current_q ;
  assign all_run     = \u_threads.runs_q ;
  assign now_current = all_current[cpu_i];
  assign runs        = all_run[cpu_i];
  always_comb begin
    placed = '0;
    for (int c = 0; c < NumCpus; c++) if (all_run[c]) placed[all_current[c]] = 1'b1;
  end
  assign exists      = \u_threads.used_q ;
  assign living      = exists & ~\u_threads.exited_q ;
  assign blocks      = \u_threads.blocked_q ;
  assign parents     = \u_threads.parents ;
  assign busy        = state > SIdle && !for_op;
  assign rests       = runs && !blocks[now_current];

  // What the scheduler was asked for.
  logic [3:0] want;
  always_comb begin
    want = 4'd1;
    whom = tid;
    unique case (did)
      Next, Yield: begin
        want = rests ? 4'd1 : 4'd10;
        whom = now_current;
      end
      Exit:         whom = \u_threads.parent ;
      Clear, Block: want = 4'd2;
      4'd5:         want = 4'd3;
      Raise:        want = 4'd12;
      Lower:        want = 4'd5;
      default: ;
    endcase
  end

  // What the model will say after the command that has had its effect on threads, but not been answered or done, or is just now.
  logic late;
  assign late = state == SAsk || state == SAgain;
  always_comb begin
    now_used    = used_q;
    now_alive   = alive_q;
    now_blocked = blocked_q;
    now_added   = added_q;
    now_joined  = joined_q;
    now_joiner  = joiner_q;
    now_hard    = hard_q;
    now_leaving = leaving_q;
    if (rvalid && !rdata[31] && cmd == Hard) now_hard[id] = addr_q[14];
    if (rvalid && !rdata[31] && cmd == Create) begin
      now_used[rdata[IdWidth-1:0]]    = 1'b1;
      now_alive[rdata[IdWidth-1:0]]   = 1'b1;
      now_blocked[rdata[IdWidth-1:0]] = 1'b0;
      now_added[rdata[IdWidth-1:0]]   = 1'b0;
      now_joined[rdata[IdWidth-1:0]]  = 1'b0;
      now_hard[rdata[IdWidth-1:0]]    = 1'b0;
    end
    if ((rvalid && !rdata[31]) || (late && !for_op)) begin
      if (cmd == Clear) begin
        now_used[id]  = 1'b0;
        now_alive[id] = 1'b0;
      end
      if (cmd == Exit) begin
        now_alive[now_current] = 1'b0;
        if (joined_q[now_current]) begin
          now_blocked[joiner_q[now_current]] = 1'b0;
          now_added[joiner_q[now_current]]   = 1'b1;
        end
      end
      if (cmd == Add) begin
        now_blocked[id] = 1'b0;
        now_added[id]   = 1'b1;
      end
      if (cmd == Block) now_blocked[id] = 1'b1;
      if (rvalid && cmd == Join && rdata[0]) begin
        now_joined[id]           = 1'b1;
        now_joiner[id]           = now_current;
        now_blocked[now_current] = 1'b1;
      end
      if (rvalid && cmd == Join && rdata == '0) begin
        if (on[id]) now_leaving[id] = 1'b1;
        else now_used[id] = 1'b0;
      end
      if (late && want == 4'd10 && runs && leaving_q[now_current]) begin
        now_used[now_current]    = 1'b0;
        now_leaving[now_current] = 1'b0;
      end
    end
    if ((op_done || (late && for_op)) && alive_q[op_id_i] && !op_levels) begin
      now_blocked[op_id_i] = op_block_i;
      now_added[op_id_i]   = added_q[op_id_i] || !op_block_i;
    end
  end

  always_comb if (rst_ni && live_q) begin
    // Calls, requests, and the scheduler's answers.
    if (open_q) assert (32'(rvalid) + 32'(held) + 32'(busy) == 32'd1);
    else assert (!rvalid && !held && !busy);
    if (open_q) assert ((cmd <= Lower || (Hardware && cmd == Hard)) && cmd != Detach && addr_q[13:6+IdWidth] == '0 && !(cmd == Create && addr_q[14]));
    if (busy) assert (did == cmd && tid == (cmd == Exit && state < SAsk ? now_current : cmd == Exit || (late && want == 4'd10) ? tid : id));
    if (busy && cmd == Hard) assert (\u_threads.arg_q [0] == addr_q[14]);
    if (open_q && cmd == Hard) assert (!added_q[id] && !(for_op && state > SIdle && tid == id));
    if (busy && cmd == Create) assert (!\u_threads.arg_q [0]);
    if (busy && cmd == Exit) assert (tid == now_current);
    if (state > SIdle && for_op) assert (op_q && tid == op_id_i && did == (op_raise_i ? Raise : op_lower_i ? Lower : op_block_i ? Block : Add));
    if (op_done) assert (op_q && state == SIdle);
    if (rvalid) assert (state == SIdle);
    if (held) assert (state == 3'd0 || state == SIdle || for_op);
    assert (ask_q == (state == SAsk));
    if (state == SAsk) assert (list_cmd_q == want && (want == 4'd10 || who_q == whom));
    if (state > SIdle && for_op && op_levels) assert (\u_threads.arg_q == op_level_i);
    if (state == SAsk && for_op && op_levels) assert (list_arg_q == op_level_i);
    if (op_done && op_levels && alive_q[op_id_i]) assert (op_raise_i ? raised_q : lowered_q);
    if (state == SAgain) assert (rests && (did == Next || did == Yield) && queued_q[now_current]);
    if (state == SAsk) assert (did == Next || did == Yield || did == Clear || did == Exit || did == Add || did == Block || did == 4'd5 || did == Raise || did == Lower);
    if (state == SAsk && (did == Next || did == Yield) && !rests) assert (!runs || blocks[now_current]);
    if (state == SAsk && (did == Add || did == Exit)) assert (living[whom] && !blocks[whom] && !placed[whom]);
    if (state == SAsk && did == Exit) assert (runs && joined_q[now_current] && joiner_q[now_current] == whom);
    if (state == SAsk && want == 4'd2) assert (!placed[tid] && (blocks[tid] || !exists[tid]));
    if (late && for_op) assert (alive_q[op_id_i]);
    if (late && !for_op && (did == Add || did == Block)) assert (alive_q[id]);
    if (late && !for_op && did == Clear) assert (used_q[id]);
    if (rvalid && !rdata[31] && (cmd == Add || cmd == Block)) assert (alive_q[id]);
    if (rvalid && cmd == Exit && !rdata[31]) assert (runs);
    if (rvalid && cmd == Join && !rdata[31]) assert (rdata <= 32'd1 && !(rdata[0] && !runs) && !(rdata == '0 && alive_q[id]));
    // Threads.
    if (open_q) assert (32'(cpu_q) < NumCpus);
    for (int t = 0; t < NumThreads; t++) begin
      // Joined before they have left their CPU.
      if (exists[t]) assert (\u_threads.detached_q [t] == now_leaving[t]);
      if (leaving_q[t]) assert (on[t] && !alive_q[t] && used_q[t]);
      if (now_leaving[t]) assert (placed[t]);
    end
    for (int c = 0; c < NumCpus; c++) begin
      for (int d = 0; d < c; d++) if (all_run[c] && all_run[d]) assert (all_current[c] != all_current[d]);
      if (all_run[c]) assert (!now_hard[all_current[c]]);
      assert (running_q[c] == (all_run[c] && !(state == SAgain && cpu_i == CpuWidth'(c))));
      if (all_run[c]) assert (current_q[c] == all_current[c]);
      if (all_run[c]) assert (exists[all_current[c]] || (late && want == 4'd10 && cpu_i == CpuWidth'(c) && leaving_q[all_current[c]]));
      if (stop_q[c]) assert (running_q[c] && blocked_q[current_q[c]]);
      if (NumCpus > 1) assert (stop[c] == (late && (did == Next || did == Yield) && cpu_i == CpuWidth'(c) ? 1'b0 : now_stop[c]));
      else assert (stop_q == '0);
    end
    for (int t = 0; t < NumThreads; t++) if (exists[t]) assert (\u_threads.hard_q [t] == now_hard[t]);
    if (!Hardware) assert (hard_q == '0);
    if (rvalid && cmd == Hard && !rdata[31]) assert (alive_q[id]);
    if (state == SAsk && (did == Add || did == Exit)) assert (!now_hard[whom]);
    assert (exists == now_used);
    assert (living == now_alive);
    if (open_q && cmd == Exit && (held || state < SAsk) && !rvalid && running_q[cpu_q] && joined_q[mine])
      assert (alive_q[joiner_q[mine]]);
    for (int t = 0; t < NumThreads; t++) begin
      if (living[t]) assert (blocks[t] == now_blocked[t]);
      if (exists[t]) assert (\u_threads.joined_q [t] == now_joined[t]);
      if (exists[t] && now_joined[t]) assert (parents[t] == now_joiner[t]);
      if (exists[t] && !living[t]) assert (blocks[t]);
      // In a queue, in the clocks of a change too.
      if (queued_q[t]) assert ((state == SAsk && want == 4'd2 && tid == IdWidth'(t)) || (living[t] && !blocks[t]));
      if (queued_q[t]) assert (!placed[t] || (state == SAgain && now_current == IdWidth'(t)));
      if (living[t] && now_added[t] && !blocks[t])
        assert (queued_q[t] || placed[t] || (state == SAsk && (did == Add || did == Exit) && whom == IdWidth'(t)) || now_hard[t]);
      if (queued_q[t]) assert (!now_hard[t]);
      if (!now_added[t] && living[t]) assert (!queued_q[t] && !placed[t] &&
                                              !(state == SAsk && (did == Add || did == Exit) && whom == IdWidth'(t)));
    end
  end
`endif
endmodule
