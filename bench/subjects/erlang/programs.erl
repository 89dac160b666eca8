%% The programs of processes, after Savina (bench/contract/CLI.md, "Messages"). Twins of bench/scenarios/msg_*.hpp.
%%
%% The machine has room for two million processes (subject.sh.in).
%%
%% Its library has supervisors: one of them starts the processes of restart_storm.
%%
%% A program is {how many processes end, the sum of their values, unit, units, the root}; a letter is {What, Number}.
-module(programs).
-behaviour(supervisor).
-export([names/0, parameters/1, program/2, forget/0]).
-export([init/1, start_storm/3]).
-import(harness, [added/2, ended/2, heard/1]).

names() -> [Name || {Name, _} <- list()].

parameters(Name) -> element(2, lists:keyfind(Name, 1, list())).

list() ->
    [{"msg_ping_pong", [{"pings", 40000, 1, 1000000000}]},
     {"msg_count", [{"messages", 1000000, 1, 1000000000}]},
     {"msg_ring", [{"processes", 100, 2, 1000000}, {"hops", 100000, 1, 1000000000}]},
     {"msg_create", [{"processes", 40000, 1, 2000000}]},
     {"msg_throughput", [{"processes", 60, 1, 1000000}, {"messages", 10000, 1, 1000000000},
                         {"rounds", 0, 0, 1000000000}]},
     {"chameneos", [{"processes", 100, 2, 1000000}, {"meetings", 200000, 1, 1000000000}]},
     {"big", [{"processes", 120, 1, 1000000}, {"pings", 20000, 1, 1000000}]},
     {"bounded_buffer", [{"capacity", 50, 1, 1000000}, {"producers", 40, 1, 1000000}, {"consumers", 40, 1, 1000000},
                         {"items", 1000, 1, 1000000}]},
     {"idle_processes", [{"processes", 100000, 1, 2000000}]},
     {"restart_storm", [{"processes", 100, 1, 100000}, {"restarts", 1000, 1, 1000000}]}].

below(N) -> N * (N - 1) div 2.

%% Calls F with From, From + 1, … To - 1.
each(To, To, _) -> ok;
each(From, To, F) -> F(From), each(From + 1, To, F).

program("msg_ping_pong", #{"pings" := Pings}) ->
    {2, below(2 * Pings), "messages_per_op", 2 * Pings, fun(O) ->
        Root = self(),
        Partner = spawn(fun() -> pong(O, Root, 0) end),
        Partner ! {ball, 0},
        ping(O, Partner, 2 * Pings, 0)
    end};
program("msg_count", #{"messages" := Messages}) ->
    {2, below(Messages), "messages_per_op", Messages, fun(O) ->
        Root = self(),
        Counter = spawn(fun() -> count(O, Root, 0) end),
        each(0, Messages, fun(K) -> Counter ! {add, K} end),
        Counter ! {tell, 0},
        receive {tell, Sum} -> heard(O), ended(O, Sum) end
    end};
program("msg_ring", #{"processes" := Processes, "hops" := Hops}) ->
    {Processes, below(Hops + 1), "messages_per_op", Hops, fun(O) ->
        Next = lists:foldl(fun(_, To) -> spawn(fun() -> ring(O, Processes, To, 0) end) end, self(), lists:seq(2, Processes)),
        Next ! {token, Hops},
        ring(O, Processes, Next, 0)
    end};
program("msg_create", #{"processes" := N}) ->
    {N + 1, 2 * below(N), "spawns_per_op", N, fun(O) ->
        each(0, N, fun(I) -> spawn(fun() -> once(O, I) end) ! {item, I} end),
        ended(O, 0)
    end};
program("msg_throughput", #{"processes" := N, "messages" := Messages, "rounds" := Rounds}) ->
    {N + 1, N * below(Messages), "messages_per_op", N * Messages, fun(O) ->
        Children = [spawn(fun() -> add(O, Messages, 0) end) || _ <- lists:seq(1, N)],
        to_all(O, Children, 0, Messages, Rounds)
    end};
program("chameneos", #{"processes" := N, "meetings" := Meetings}) ->
    {N + 1, 2 * Meetings, "messages_per_op", 4 * Meetings, fun(O) ->
        Mall = self(),
        Peers = list_to_tuple([spawn(fun() -> creature(O, Mall, I, I rem 3) end) || I <- lists:seq(0, N - 1)]),
        [To ! {peers, Peers} || To <- tuple_to_list(Peers)],
        mall(O, Peers, Meetings, none, 0, N)
    end};
program("big", #{"processes" := N, "pings" := Pings}) ->
    {N + 1, Pings * below(N) + N * below(Pings), "messages_per_op", 2 * N * Pings, fun(O) ->
        Root = self(),
        Nodes = [spawn(fun() -> node_of_big(O, Root, N, Pings, I) end) || I <- lists:seq(0, N - 1)],
        persistent_term:put(big, list_to_tuple(Nodes)),
        [To ! {'begin', 0} || To <- Nodes],
        each(0, N, fun(_) -> receive {done, 0} -> heard(O) end end),
        [To ! {'end', 0} || To <- Nodes],
        ended(O, 0)
    end};
program("bounded_buffer", #{"capacity" := Capacity, "producers" := P, "consumers" := C, "items" := Items}) ->
    All = P * Items,
    {P + C + 1, below(All), "messages_per_op", 4 * All, fun(O) ->
        Buffer = self(),
        Producers = list_to_tuple([spawn(fun() -> producer(O, Buffer, I * Items) end) || I <- lists:seq(0, P - 1)]),
        Consumers = list_to_tuple([spawn(fun() -> consumer(O, Buffer, I, 0) end) || I <- lists:seq(0, C - 1)]),
        buffer(O, {Capacity, Items, Producers, Consumers}, queue:new(), queue:from_list(lists:seq(0, P - 1)), queue:new(), 0, 0,
               All + C)
    end};
program("idle_processes", #{"processes" := N}) ->
    {N + 1, 2 * below(N), "spawns_per_op", N, fun({Cells, _, _} = O) ->
        Root = self(),
        Waiting = atomics:new(1, []),
        Children = [spawn(fun() -> idle(O, Root, Waiting, N, I) end) || I <- lists:seq(0, N - 1)],
        receive {here, 0} -> heard(O) end,
        atomics:put(Cells, 3, harness:peak_resident_bytes()),
        lists:foldl(fun(To, I) -> To ! {item, I}, I + 1 end, 0, Children),
        ended(O, 0)
    end};
program("restart_storm", #{"processes" := N, "restarts" := Restarts}) ->
    logger:set_primary_config(level, none), % a report of each failure would go to standard output
    {N + 1, below(Restarts) + Restarts + N, "restarts_per_op", Restarts, fun(O) ->
        {ok, _} = supervisor:start_link(?MODULE, {O, self(), N, Restarts}),
        storm(O, N, Restarts, 0, 0)
    end}.

ping(O, Partner, End, Sum) ->
    receive
        {ball, N} when N + 1 =:= End -> heard(O), Partner ! {'end', 0}, ended(O, Sum + N);
        {ball, N} -> heard(O), Partner ! {ball, N + 1}, ping(O, Partner, End, Sum + N)
    end.

pong(O, Root, Sum) ->
    receive
        {ball, N} -> heard(O), Root ! {ball, N + 1}, pong(O, Root, Sum + N);
        {'end', _} -> heard(O), ended(O, Sum)
    end.

count(O, Root, Sum) ->
    receive
        {add, N} -> heard(O), count(O, Root, Sum + N);
        {tell, _} -> heard(O), Root ! {tell, Sum}, ended(O, 0)
    end.

ring(O, Processes, Next, Sum) ->
    receive
        {token, 0} -> heard(O), Next ! {'end', Processes - 1}, ended(O, Sum);
        {token, N} -> heard(O), Next ! {token, N - 1}, ring(O, Processes, Next, Sum + N);
        {'end', 1} -> heard(O), ended(O, Sum);
        {'end', N} -> heard(O), Next ! {'end', N - 1}, ended(O, Sum)
    end.

once(O, Number) -> receive {item, N} -> heard(O), ended(O, Number + N) end.

%% The supervisor's; it goes with the root, which is its parent.
init({O, Root, N, Restarts}) ->
    Children = [#{id => I, start => {?MODULE, start_storm, [O, Root, I]}, restart => transient} || I <- lists:seq(1, N)],
    {ok, {#{strategy => one_for_one, intensity => Restarts, period => 1}, Children}}.

start_storm(O, Root, _) -> {ok, spawn_link(fun() -> in_storm(O, Root) end)}.

in_storm(O, Root) ->
    Root ! {started, self()},
    receive
        {fail, K} -> heard(O), added(O, K), exit(failed);
        {'end', _} -> heard(O), Root ! {gone, 0}, ended(O, 0)
    end.

storm(O, N, Restarts, Starts, _) when Starts =:= N + Restarts ->
    each(0, N, fun(_) -> receive {gone, 0} -> heard(O) end end),
    ended(O, Starts);
storm(O, N, Restarts, Starts, Failures) ->
    receive
        {started, Child} when Failures < Restarts ->
            heard(O), Child ! {fail, Failures}, storm(O, N, Restarts, Starts + 1, Failures + 1);
        {started, Child} -> heard(O), Child ! {'end', 0}, storm(O, N, Restarts, Starts + 1, Failures)
    end.

%% Behind so many rounds, a message to itself.
to_all(O, Children, From, Messages, Rounds) ->
    Until = case Rounds of 0 -> Messages; _ -> min(Messages, From + Rounds) end,
    each(From, Until, fun(K) -> [To ! {item, K} || To <- Children] end),
    case Until of
        Messages -> ended(O, 0);
        _ ->
            self() ! {go_on, 0},
            receive {go_on, 0} -> heard(O), to_all(O, Children, Until, Messages, Rounds) end
    end.

add(O, 0, Sum) -> ended(O, Sum);
add(O, Left, Sum) -> receive {item, N} -> heard(O), add(O, Left - 1, Sum + N) end.

idle(O, Root, Waiting, All, Number) ->
    case atomics:add_get(Waiting, 1, 1) of
        All -> Root ! {here, 0};
        _ -> ok
    end,
    once(O, Number).

creature(O, Mall, Number, Colour) ->
    receive {peers, Peers} -> creature(O, Mall, Peers, Number, Colour, 0) end.

creature(O, Mall, Peers, Number, Colour, Met) ->
    Mall ! {meet, Number * 3 + Colour},
    receive
        {'end', _} -> heard(O), ended(O, Met);
        {meet, N} ->
            heard(O),
            New = complement(Colour, N rem 3),
            element(N div 3 + 1, Peers) ! {change, New},
            creature(O, Mall, Peers, Number, New, Met + 1);
        {change, New} -> heard(O), creature(O, Mall, Peers, Number, New, Met + 1)
    end.

complement(Colour, Colour) -> Colour;
complement(One, Other) -> 3 - One - Other.

mall(O, _, _, _, _, 0) -> ended(O, 0);
mall(O, Peers, Meetings, First, Met, Left) ->
    receive
        {meet, N} when Met =:= Meetings ->
            heard(O), element(N div 3 + 1, Peers) ! {'end', 0}, mall(O, Peers, Meetings, First, Met, Left - 1);
        {meet, N} when First =:= none -> heard(O), mall(O, Peers, Meetings, N div 3, Met, Left);
        {meet, N} -> heard(O), element(First + 1, Peers) ! {meet, N}, mall(O, Peers, Meetings, none, Met + 1, Left)
    end.

%% All of them are in one term that is copied to nobody: a tuple of 20,000 in each process would be what is measured.
node_of_big(O, Root, N, Pings, Number) ->
    receive {'begin', 0} -> heard(O) end,
    Peers = persistent_term:get(big),
    node_of_big(O, Root, Peers, N, Pings, Number, ask(Peers, N, Number, Number + 1), 0, 0).

ask(Peers, N, Number, Random) ->
    Next = 16807 * Random rem 2147483647,
    element(Next rem N + 1, Peers) ! {ask, Number},
    Next.

node_of_big(O, Root, Peers, N, Pings, Number, Random, K, Sum) ->
    receive
        {ask, Asker} ->
            heard(O),
            element(Asker + 1, Peers) ! {answer, Asker},
            node_of_big(O, Root, Peers, N, Pings, Number, Random, K, Sum + Asker);
        {answer, _} when K + 1 < Pings ->
            heard(O),
            node_of_big(O, Root, Peers, N, Pings, Number, ask(Peers, N, Number, Random), K + 1, Sum + K);
        {answer, _} ->
            heard(O),
            Root ! {done, 0},
            node_of_big(O, Root, Peers, N, Pings, Number, Random, K + 1, Sum + K);
        {'end', _} -> heard(O), ended(O, Sum)
    end.

%% Between operations, outside the time.
forget() -> persistent_term:erase(big).

producer(O, Buffer, Next) ->
    receive
        {ask, _} -> heard(O), Buffer ! {item, Next}, producer(O, Buffer, Next + 1);
        {'end', _} -> heard(O), ended(O, 0)
    end.

consumer(O, Buffer, Number, Sum) ->
    Buffer ! {free, Number},
    receive
        {item, N} -> heard(O), consumer(O, Buffer, Number, Sum + N);
        {'end', _} -> heard(O), ended(O, Sum)
    end.

%% Held is how many items Items has, Asked how many are on their way.
buffer(O, {_, _, Producers, Consumers}, _, _, _, _, _, 0) ->
    [To ! {'end', 0} || To <- tuple_to_list(Producers) ++ tuple_to_list(Consumers)],
    ended(O, 0);
buffer(O, {Capacity, PerProducer, Producers, _} = Sizes, Items, Willing, Idle, Held, Asked, Left) ->
    case Held + Asked < Capacity andalso not queue:is_empty(Willing) of
        true ->
            {{value, P}, Others} = queue:out(Willing),
            element(P + 1, Producers) ! {ask, 0},
            buffer(O, Sizes, Items, Others, Idle, Held, Asked + 1, Left);
        false ->
            receive
                {item, N} ->
                    heard(O),
                    Again = case (N + 1) rem PerProducer of 0 -> Willing; _ -> queue:in(N div PerProducer, Willing) end,
                    hand_out(O, Sizes, queue:in(N, Items), Again, Idle, Held + 1, Asked - 1, Left);
                {free, C} -> heard(O), hand_out(O, Sizes, Items, Willing, queue:in(C, Idle), Held, Asked, Left - 1)
            end
    end.

hand_out(O, {_, _, _, Consumers} = Sizes, Items, Willing, Idle, Held, Asked, Left) ->
    case {queue:out(Items), queue:out(Idle)} of
        {{{value, N}, Items1}, {{value, C}, Idle1}} ->
            element(C + 1, Consumers) ! {item, N},
            buffer(O, Sizes, Items1, Willing, Idle1, Held - 1, Asked, Left);
        _ -> buffer(O, Sizes, Items, Willing, Idle, Held, Asked, Left)
    end.
