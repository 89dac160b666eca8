# A Xeon of sixteen processors, one cluster: of the machine that the races of 26 November 2026 were lent.
# Nobody calibrated that machine. Each fitted price names the point of the races that it is fitted on; all other points judge
# the profile (scripts/apiary virtual --compare).
# Default: of flat.profile.
cluster = 1024  # default

hit = 0.5  # default
cell_hit = 0.25  # default
change_hit = 5  # default
transfer = 55  # fitted: processes msg_throughput, 8 workers
far_transfer = 55  # as transfer
clean_copy = 55  # as transfer
upgrade = 55  # as transfer
cold = 10  # default
copy_occupies = 5  # default
load_takes = 1  # fitted: processes msg_throughput, 8 workers, of which 0 makes twice the time
request_permille = 400  # default
basic_block = 0.25  # fitted: fork_join fib, 1 worker

fence = 8  # default
store_buffer = 1500  # default
relax = 45  # published: about 140 cycles since Skylake (Intel's optimisation manual)
yield = 250  # default
clock_read = 22  # default

barrier = 3000  # default
barrier_interrupt = 300  # default
futex_wait = 400  # default
futex_wake = 600  # default
futex_wake_nobody = 150  # default
wake_latency = 8000  # default
timer_slack = 50000  # default

block = 1.5  # default
depot = 25  # default
heap = 20  # default
