# One cluster, at the prices that a trial of this machine set by hand for a Xeon of sixteen processors.
# Nothing here but basic_block was measured. It is the default: what another profile does not know it takes from here.
cluster = 1024

hit = 0.5
cell_hit = 0.25
change_hit = 5
transfer = 80
far_transfer = 80
clean_copy = 60
upgrade = 80
cold = 10
copy_occupies = 5
load_takes = 0
request_permille = 400
basic_block = 0.4  # measured on an AMD EPYC (scripts/apiary calibrate): 0.28 when nothing else ran, 0.46 under load

fence = 8
store_buffer = 1500
relax = 20
yield = 250
clock_read = 22

barrier = 3000
barrier_interrupt = 300
futex_wait = 400
futex_wake = 600
futex_wake_nobody = 150
wake_latency = 8000
timer_slack = 50000

block = 1.5
depot = 25
heap = 20
