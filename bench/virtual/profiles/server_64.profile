# A server of 64 processors in clusters of eight, each with its last cache.
# Default: of flat.profile.
cluster = 8  # processors that share a last cache, as an AMD EPYC of 64 has them

hit = 0.25  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
cell_hit = 0.25  # default
change_hit = 2.3  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
transfer = 30  # measured on two virtual processors of an AMD EPYC (27 to 31, and 128 in runs in which the hypervisor had put them apart)
far_transfer = 128  # the same, apart
clean_copy = 30  # the same
upgrade = 39  # the same
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
depot = 25  # default
heap = 7  # measured on an AMD EPYC of this generation, two virtual processors (scripts/apiary calibrate)
