# Two sockets of 64 processors. The two prices are of a socket and of the way between sockets: clusters within are averaged.
# Default: of flat.profile.
cluster = 64  # a socket

hit = 0.25  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
cell_hit = 0.25  # default
change_hit = 2.3  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
transfer = 110  # ASSUMED: the mean of server_64's 30 and 128, by how many processors are in a cluster and outside it
far_transfer = 220  # ASSUMED: twice that
clean_copy = 110  # ASSUMED: as transfer
upgrade = 110  # ASSUMED: as transfer
cold = 10  # default
copy_occupies = 5  # default
load_takes = 1  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
request_permille = 400  # default
basic_block = 0.4  # measured on an AMD EPYC (scripts/apiary calibrate): 0.28 when nothing else ran, 0.46 under load

fence = 2.4  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
store_buffer = 1500  # default
relax = 26  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
yield = 600  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
clock_read = 23  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)

barrier = 3000  # default
barrier_interrupt = 300  # default
futex_wait = 400  # default
futex_wake = 600  # default
futex_wake_nobody = 270  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
wake_latency = 8000  # default
timer_slack = 50000  # default

block = 1.5  # default
depot = 50  # ASSUMED
heap = 7  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
