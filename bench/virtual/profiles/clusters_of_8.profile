# Clusters of eight processors. A line from another cluster is ASSUMED to cost twice as much; else flat.profile.
cluster = 8

hit = 0.5
cell_hit = 0.25
change_hit = 5
transfer = 80
far_transfer = 160
clean_copy = 60
cold = 10
copy_occupies = 5
request_permille = 400

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
