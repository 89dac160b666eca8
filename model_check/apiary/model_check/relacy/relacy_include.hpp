// The only door to Relacy: includes relacy.hpp, and takes back every macro that it leaves behind.
//
// Relacy redefines `new`, `delete`, `malloc`, `assert`, `errno`, memory_order_* and the names of POSIX and
// Windows, so that test code is hooked by being recompiled. Here the hooks are the Sync policy instead, and
// nothing of that may leak. Every standard header that a check could want comes first: it must not be
// parsed while the macros live. relacy_std.hpp is never used.
//
// Compiler flags that belong to this header (apiary_model.cmake sets them):
//   -fno-sized-deallocation  Relacy replaces the unsized operator delete only
//   -fno-lifetime-dse        Relacy finds a use after free by a mark its destructors leave in dead memory
//   -U_FORTIFY_SOURCE        its fibers jump between stacks, which a fortified longjmp refuses
// RTTI and exceptions on; no sanitizers; one simulation per process.
//
// The lists below are the difference of `g++ -E -dM` without and with relacy.hpp (relacy-dev 0.0+git20191025).
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <memory.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <ucontext.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <concepts>
#include <condition_variable>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <source_location>
#include <span>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

// Redefined by Relacy: put aside and restored.
#pragma push_macro("EAGAIN")
#pragma push_macro("EBUSY")
#pragma push_macro("EINTR")
#pragma push_macro("EINVAL")
#pragma push_macro("ETIMEDOUT")
#pragma push_macro("EWOULDBLOCK")
#pragma push_macro("FUTEX_WAIT")
#pragma push_macro("FUTEX_WAKE")
#pragma push_macro("assert")
#pragma push_macro("errno")

#if !__has_include(<relacy/relacy.hpp>)
#error "the Relacy Race Detector is missing, with which checks are compiled: apt-get install relacy-dev, or its folder by -isystem"
#endif
#define RL_DO_ASSERT 1  // its own internal checks stay on
#include <relacy/relacy.hpp>

// New with Relacy: removed. (Its include guards stay.)
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#endif
#undef $
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#undef AcquireSRWLockExclusive
#undef AcquireSRWLockShared
#undef CONDITION_VARIABLE
#undef CONDITION_VARIABLE_LOCKMODE_SHARED
#undef CRITICAL_SECTION
#undef CloseHandle
#undef CreateEvent
#undef CreateEventA
#undef CreateEventW
#undef CreateMutex
#undef CreateMutexA
#undef CreateMutexW
#undef CreateSemaphore
#undef CreateSemaphoreA
#undef CreateSemaphoreW
#undef CreateThread
#undef DeleteConditionVariable
#undef DeleteCriticalSection
#undef DeleteSRWLock
#undef EnterCriticalSection
#undef FlushProcessWriteBuffers
#undef HANDLE
#undef INFINITE
#undef InitializeConditionVariable
#undef InitializeCriticalSection
#undef InitializeCriticalSectionAndSpinCount
#undef InitializeCriticalSectionEx
#undef InitializeSRWLock
#undef LeaveCriticalSection
#undef MAXIMUM_WAIT_OBJECTS
#undef PTHREAD_MUTEX_DEFAULT
#undef PTHREAD_MUTEX_ERRORCHECK
#undef PTHREAD_MUTEX_NORMAL
#undef PTHREAD_MUTEX_RECURSIVE
#undef PulseEvent
#undef RL_ASSERT
#undef RL_ASSERT_IMPL
#undef RL_DEBUGBREAK_ON_ASSERT_IMPL
#undef RL_DEBUGBREAK_ON_FAILURE_IMPL
#undef RL_DELETE_PROXY
#undef RL_DO_ASSERT
#undef RL_DO_ASSERT_IMPL
#undef RL_HIST
#undef RL_HIST_CTX
#undef RL_HIST_END
#undef RL_HIST_IMPL
#undef RL_INFO
#undef RL_INLINE
#undef RL_INT3
#undef RL_LOG
#undef RL_NEW_PROXY
#undef RL_NOCOPY
#undef RL_NOINLINE
#undef RL_RESTRICT
#undef RL_STDCALL
#undef RL_STRINGIZE
#undef RL_STRINGIZE_I
#undef RL_TEST
#undef RL_THROW_SPEC
#undef RL_UNTIL
#undef RL_VERIFY
#undef ReleaseMutex
#undef ReleaseSRWLockExclusive
#undef ReleaseSRWLockShared
#undef ReleaseSemaphore
#undef ResetEvent
#undef ResumeThread
#undef SRWLOCK
#undef SetEvent
#undef SetThreadAffinityMask
#undef SignalObjectAndWait
#undef Sleep
#undef SleepConditionVariableCS
#undef SleepConditionVariableSRW
#undef SuspendThread
#undef SwitchToThread
#undef TLS_T
#undef TlsAlloc
#undef TlsFree
#undef TlsGetValue
#undef TlsSetValue
#undef TryEnterCriticalSection
#undef VAR
#undef VAR_T
#undef WAIT_FAILED
#undef WAIT_IO_COMPLETION
#undef WAIT_OBJECT_0
#undef WAIT_TIMEOUT
#undef WaitForMultipleObjects
#undef WaitForMultipleObjectsEx
#undef WaitForSingleObject
#undef WakeAllConditionVariable
#undef WakeConditionVariable
#undef _CRT_SECURE_NO_WARNINGS
#undef _beginthreadex
#undef calloc
#undef delete
#undef free
#undef futex
#undef malloc
#undef memory_order_acq_rel
#undef memory_order_acquire
#undef memory_order_consume
#undef memory_order_relaxed
#undef memory_order_release
#undef memory_order_seq_cst
#undef new
#undef pthread_attr_t
#undef pthread_cond_broadcast
#undef pthread_cond_destroy
#undef pthread_cond_init
#undef pthread_cond_signal
#undef pthread_cond_t
#undef pthread_cond_timedwait
#undef pthread_cond_wait
#undef pthread_condattr_t
#undef pthread_create
#undef pthread_join
#undef pthread_mutex_destroy
#undef pthread_mutex_init
#undef pthread_mutex_lock
#undef pthread_mutex_t
#undef pthread_mutex_timedlock
#undef pthread_mutex_try_lock
#undef pthread_mutex_unlock
#undef pthread_mutexattr_destroy
#undef pthread_mutexattr_init
#undef pthread_mutexattr_settype
#undef pthread_mutexattr_t
#undef pthread_rwlock_destroy
#undef pthread_rwlock_init
#undef pthread_rwlock_rdlock
#undef pthread_rwlock_t
#undef pthread_rwlock_tryrdlock
#undef pthread_rwlock_trywrlock
#undef pthread_rwlock_unlock
#undef pthread_rwlock_wrlock
#undef pthread_t
#undef pthread_yield
#undef realloc
#undef rl_CreateEvent
#undef rl_CreateMutex
#undef rl_CreateSemaphore
#undef sched_yield
#undef sem_destroy
#undef sem_getvalue
#undef sem_init
#undef sem_post
#undef sem_t
#undef sem_trywait
#undef sem_wait

#undef EAGAIN
#pragma pop_macro("EAGAIN")
#undef EBUSY
#pragma pop_macro("EBUSY")
#undef EINTR
#pragma pop_macro("EINTR")
#undef EINVAL
#pragma pop_macro("EINVAL")
#undef ETIMEDOUT
#pragma pop_macro("ETIMEDOUT")
#undef EWOULDBLOCK
#pragma pop_macro("EWOULDBLOCK")
#undef FUTEX_WAIT
#pragma pop_macro("FUTEX_WAIT")
#undef FUTEX_WAKE
#pragma pop_macro("FUTEX_WAKE")
#undef assert
#pragma pop_macro("assert")
#undef errno
#pragma pop_macro("errno")
