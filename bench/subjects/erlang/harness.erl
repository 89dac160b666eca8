%% Subject `erlang`: the BEAM with N schedulers behind bench/contract/CLI.md. This is the command line, the ledger, the blocks and
%% the row; programs.erl has the programs. subject.sh starts the machine, for the number of schedulers is one of its own words.
-module(harness).
-export([main/0, added/2, ended/2, heard/1, peak_resident_bytes/0]).

-define(MASK, 16#FFFFFFFFFFFFFFFF).

%% Everything the treaty names, so that what is missing here is `unsupported` and not unknown.
treaty() ->
    string:lexemes("post_throughput post_latency timer_lateness targeted_throughput targeted_latency steal_pressure mixed_load "
        "latency_vs_load successor spawn_many_local spawn_many_remote_idle spawn_many_remote_busy1 spawn_many_remote_busy2 "
        "ping_pong yield_many chained_spawn remote_spawn fib tree_sum skynet nqueens uts matmul loop_empty loop_for loop_reduce loop_scan loop_sort graph graph_again wake_chain idle_cpu", " ").

%% By a process as its last act. The operation's cells: the sum of the values, and how many processes are left.
ended({Cells, Main, _} = O, Value) ->
    added(O, Value),
    case atomics:sub_get(Cells, 2, 1) of
        0 -> Main ! {ended, now_ns()};
        _ -> ok
    end.

added({Cells, _, _}, Value) -> atomics:add(Cells, 1, Value).

%% For each letter: the built-in slow-down, every 64th of a scheduler.
heard({_, _, none}) -> ok;
heard({_, _, {Ns, Calls}}) ->
    case atomics:add_get(Calls, erlang:system_info(scheduler_id), 1) rem 64 of
        0 -> busy_until(now_ns() + Ns);
        _ -> ok
    end.

busy_until(Due) ->
    case now_ns() < Due of
        true -> busy_until(Due);
        false -> ok
    end.

now_ns() -> erlang:monotonic_time(nanosecond).

mix(I) ->
    Z0 = (I + 16#9E3779B97F4A7C15) band ?MASK,
    Z1 = ((Z0 bxor (Z0 bsr 30)) * 16#BF58476D1CE4E5B9) band ?MASK,
    Z2 = ((Z1 bxor (Z1 bsr 27)) * 16#94D049BB133111EB) band ?MASK,
    Z2 bxor (Z2 bsr 31).

mark(I) -> (mix(I band ?MASK) band 16#FFFFFFFF00000000) bor 1.

expected_sum(N) -> lists:foldl(fun(I, Sum) -> (Sum + mark(I)) band ?MASK end, 0, lists:seq(0, N - 1)).

%% The numbers of a line of /proc/self/status, in its own unit.
status(Key) -> status(Key, "/proc/self/status").
status(Key, File) ->
    {ok, Text} = file:read_file(File),
    {match, [Number]} = re:run(Text, ["(?m)^", Key, ":\\s+([0-9]+)"], [{capture, all_but_first, list}]),
    list_to_integer(Number).

peak_resident_bytes() -> status("VmHWM") * 1024.

%% Of all threads: /proc has it for each.
switches(Key) -> lists:sum([status(Key, Thread ++ "/status") || Thread <- filelib:wildcard("/proc/self/task/*")]).

minor_faults() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    [_, After] = string:split(Text, ") ", trailing),
    binary_to_integer(lists:nth(8, string:lexemes(After, " "))).

%% The system's clock of processor time is told in milliseconds alone: what it did not see is not told.
cpu_ns() -> element(1, erlang:statistics(runtime)) * 1000000.
cpu_told(0) -> "";
cpu_told(Ns) -> whole(Ns).

%% ---------------------------------------------------------------------------------------------- blocks

block(Program, Slow, Ops) -> block(Program, Slow, Ops, 0, cpu_ns(), 0, 0).

block(_, _, Ops, Ops, Cpu, Wall, Sum) -> {Wall / Ops, Wall, cpu_ns() - Cpu, Sum};
block({Ends, Answer, _, _, Root} = Program, Slow, Ops, I, Cpu, Wall, Sum) ->
    Cells = atomics:new(3, [{signed, false}]),
    atomics:put(Cells, 2, Ends),
    Operation = {Cells, self(), Slow},
    Start = now_ns(),
    spawn(fun() -> Root(Operation) end),
    End = receive {ended, Stamp} -> Stamp end,
    programs:forget(),
    Mark = mark(I + atomics:get(Cells, 1) - Answer),
    case atomics:get(Cells, 3) of
        0 -> ok;
        Peak -> get(peak) =:= undefined andalso put(peak, Peak)
    end,
    block(Program, Slow, Ops, I + 1, Cpu, Wall + End - Start, (Sum + Mark) band ?MASK).

%% The operations of a block: doubled until it lasts.
calibrate(Run, Ops, Ns) ->
    case Run(Ops) of
        {_, Wall, _, _} when Wall < Ns -> calibrate(Run, 2 * Ops, Ns);
        _ -> Ops
    end.

warm_up(_, _, 0, Done, _) -> {Done, 0};
warm_up(Run, Ops, Left, Done, Before) ->
    {Now, _, _, _} = Run(Ops),
    case Before =/= none andalso abs(Now - Before) =< 0.02 * min(Now, Before) of
        true -> {Done + 1, 1};
        false -> warm_up(Run, Ops, Left - 1, Done + 1, Now)
    end.

measure(Name, Options, Params) ->
    {_, _, Unit, Units, _} = Program = programs:program(Name, Params),
    Slow = case maps:get("--slowdown-ns", Options) of
        0 -> none;
        Ns -> {Ns, atomics:new(1025, [])}
    end,
    Before = peak_resident_bytes(),
    Run = fun(Ops) ->
        {_, _, _, Sum} = Block = block(Program, Slow, Ops),
        case expected_sum(Ops) of
            Sum -> ok;
            Expected ->
                put(wrong, true),
                complain("wrong: the sum is ~16.16.0b, expected ~16.16.0b: a task was lost, run twice or swapped",
                         [Sum, Expected])
        end,
        Block
    end,
    Ops = case Params of
        #{"ops" := Fixed} -> Fixed;
        _ -> calibrate(Run, 1, maps:get("--block-ms", Options) * 1000000)
    end,
    {Warm, Steady} = warm_up(Run, Ops, maps:get("--warmup-blocks", Options), 0, none),
    Blocks = maps:get("--blocks", Options),
    Measured = lists:sort([Run(Ops) || _ <- lists:seq(1, Blocks)]),
    {Each, Wall, Cpu, Sum} = lists:nth((Blocks + 1) div 2, Measured),
    Bytes = case get(peak) of
        undefined -> "";
        Peak -> io_lib:format(";bytes_each=~b", [(Peak - Before) div Units])
    end,
    Row = #{"scenario" => Name, "workers" => whole(maps:get("--workers", Options)), "seed" => whole(maps:get("--seed", Options)),
        "warmup_blocks" => whole(Warm), "steady" => whole(Steady), "blocks" => whole(Blocks), "ops" => whole(Ops),
        "wall_ns" => whole(Wall), "cpu_ns" => cpu_told(Cpu), "ns_per_op" => decimal(Each), "ops_per_s" => decimal(1.0e9 / Each),
        "nvcsw" => whole(switches("voluntary_ctxt_switches")), "nivcsw" => whole(switches("nonvoluntary_ctxt_switches")),
        "minflt" => whole(minor_faults()), "maxrss_kib" => whole(status("VmHWM")),
        "check" => io_lib:format("~16.16.0b", [Sum]), "flags" => io_lib:format("~s=~b~s", [Unit, Units, Bytes]),
        "status" => case get(wrong) of true -> "wrong"; _ -> "ok" end},
    Header = "scenario,workers,seed,warmup_blocks,steady,blocks,ops,wall_ns,cpu_ns,ns_per_op,ops_per_s,offered_per_s,"
        "achieved_per_s,lat_count,lat_min_ns,lat_p50_ns,lat_p90_ns,lat_p95_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,lateness_p99_ns,"
        "nvcsw,nivcsw,minflt,maxrss_kib,allocs,wakes,parks,steals,check,flags,status",
    Cells = [maps:get(Column, Row, "") || Column <- string:split(Header, ",", all)],
    io:format("~s~n~s~n", [Header, lists:join(",", Cells)]),
    case get(wrong) of true -> 4; _ -> 0 end.

whole(N) -> integer_to_list(N).

decimal(Value) -> float_to_list(Value, [{decimals, 3}, compact]).

%% ---------------------------------------------------------------------------------------------- the command line

complain(Format, Words) -> io:format(standard_error, "erlang: " ++ Format ++ "~n", Words).

bad(Format, Words) -> throw({bad, io_lib:format(Format, Words)}).

number(What, Text, Least, Most) ->
    case re:run(Text, "^[0-9]{1,20}$") =/= nomatch andalso list_to_integer(Text) of
        N when is_integer(N), N >= Least, N =< Most -> N;
        _ -> bad("~s: expected a whole number from ~b to ~b, seen '~s'", [What, Least, Most, Text])
    end.

numbers() ->
    #{"--workers" => {none, 1, 1024}, "--seed" => {1, 0, ?MASK}, "--warmup-blocks" => {5, 0, 1000}, "--blocks" => {3, 1, 1000},
      "--block-ms" => {100, 1, 60000}, "--slowdown-ns" => {0, 0, 1000000000}}.

parse([], Options, Params) -> {Options, Params};
parse([Option], _, _) -> bad("~s needs a value", [Option]);
parse(["--param", Pair | Rest], Options, Params) -> parse(Rest, Options, [Pair | Params]);
parse([Option, Value | Rest], Options, Params) ->
    Known = ["--scenario", "--plan", "--hist", "--load" | maps:keys(numbers())],  % --load: for servers, which are not here
    lists:member(Option, Known) orelse
        bad("unknown option ~s; there are: --param, ~s", [Option, lists:join(", ", Known)]),
    parse(Rest, Options#{Option => Value}, Params).

read_numbers(Options) ->
    maps:merge(Options, maps:map(fun(Option, {Standard, Least, Most}) ->
        case Options of
            #{Option := Text} -> number(Option, Text, Least, Most);
            _ when Standard =:= none -> bad("~s is missing", [Option]);
            _ -> Standard
        end
    end, numbers())).

read_params(Name, Pairs) ->
    Known = programs:parameters(Name) ++ [{"ops", none, 1, 1 bsl 40}],
    Given = maps:from_list([begin
        {Key, Text} = case string:split(Pair, "=") of
            [One, Two] -> {One, Two};
            _ -> bad("--param: expected KEY=VALUE, seen '~s'", [Pair])
        end,
        case lists:keyfind(Key, 1, Known) of
            {_, _, Least, Most} -> {Key, number("--param " ++ Key, Text, Least, Most)};
            false -> bad("--param: ~s has no parameter '~s'; there are: ~s",
                         [Name, Key, lists:join(", ", [Other || {Other, _, _, _} <- Known])])
        end
    end || Pair <- Pairs]),
    maps:merge(maps:from_list([{Key, Standard} || {Key, Standard, _, _} <- Known, Standard =/= none]), Given).

run(Words) ->
    {Options, Pairs} = parse(Words, #{}, []),
    Name = maps:get("--scenario", Options, ""),
    case lists:member(Name, programs:names()) of
        false ->
            lists:member(Name, treaty()) orelse
                bad("--scenario: unknown scenario '~s'; there are: ~s", [Name, lists:join(", ", programs:names())]),
            complain("unsupported: ~s cannot be expressed by this runtime; --list names what can", [Name]),
            3;
        true ->
            Read = read_numbers(Options),
            Params = read_params(Name, Pairs),
            %% First: a wrong path should cost no measurement. The scenarios have no latencies.
            case Read of
                #{"--hist" := Path} ->
                    file:write_file(Path, "value_lo_ns,value_hi_ns,count\n") =:= ok orelse bad("--hist: cannot write '~s'", [Path]);
                _ -> ok
            end,
            measure(Name, Read, Params)
    end.

main() ->
    Status = try command(init:get_plain_arguments())
    catch
        throw:{bad, Why} -> complain("~s", [Why]), 2;
        Class:Reason:Stack -> complain("~p: ~p ~p", [Class, Reason, Stack]), 1
    end,
    erlang:halt(Status).

command(["--version"]) ->
    Release = erlang:system_info(otp_release),
    io:format("{\"subject\":\"erlang\",\"subject_version\":\"OTP-~s erts-~s\",\"language\":\"erlang\","
              "\"build_id\":\"erlc ~s; emulator=~p; allocator=erts\"}~n",
              [Release, erlang:system_info(version), Release, erlang:system_info(emu_flavor)]),
    0;
command(["--list"]) ->
    io:format("~s~n", [lists:join("\n", programs:names())]),
    0;
command(["run" | Words]) -> run(Words);
command(Words) -> bad("expected one of: --version, --list, run; seen '~s'", [lists:join(" ", Words)]).
