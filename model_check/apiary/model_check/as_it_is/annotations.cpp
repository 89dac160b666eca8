// annotations: what a program tells a race detector by name: Annotate…(), and the functions of <sanitizer/tsan_interface.h>.
// They link, and do nothing: what orders two threads is what the program does. An access that only an annotation orders, or calls
// benign, is a race.
//
// Callers pass what they like: nothing of it is looked at. A program that brings one of its own keeps that.
extern "C" {

#define DOES_NOTHING(name) \
    [[gnu::weak]] void name() {}
DOES_NOTHING(AnnotateHappensBefore)
DOES_NOTHING(AnnotateHappensAfter)
DOES_NOTHING(WTFAnnotateHappensBefore)
DOES_NOTHING(WTFAnnotateHappensAfter)
DOES_NOTHING(AnnotateBenignRace)
DOES_NOTHING(AnnotateBenignRaceSized)
DOES_NOTHING(WTFAnnotateBenignRaceSized)
DOES_NOTHING(AnnotateExpectRace)
DOES_NOTHING(AnnotateFlushExpectedRaces)
DOES_NOTHING(AnnotateEnableRaceDetection)
DOES_NOTHING(AnnotateIgnoreReadsBegin)
DOES_NOTHING(AnnotateIgnoreReadsEnd)
DOES_NOTHING(AnnotateIgnoreWritesBegin)
DOES_NOTHING(AnnotateIgnoreWritesEnd)
DOES_NOTHING(AnnotateIgnoreSyncBegin)
DOES_NOTHING(AnnotateIgnoreSyncEnd)
DOES_NOTHING(AnnotateRWLockCreate)
DOES_NOTHING(AnnotateRWLockCreateStatic)
DOES_NOTHING(AnnotateRWLockDestroy)
DOES_NOTHING(AnnotateRWLockAcquired)
DOES_NOTHING(AnnotateRWLockReleased)
DOES_NOTHING(AnnotateMutexIsNotPHB)
DOES_NOTHING(AnnotateMutexIsUsedAsCondVar)
DOES_NOTHING(AnnotateCondVarWait)
DOES_NOTHING(AnnotateCondVarSignal)
DOES_NOTHING(AnnotateCondVarSignalAll)
DOES_NOTHING(AnnotatePCQCreate)
DOES_NOTHING(AnnotatePCQDestroy)
DOES_NOTHING(AnnotatePCQPut)
DOES_NOTHING(AnnotatePCQGet)
DOES_NOTHING(AnnotatePublishMemoryRange)
DOES_NOTHING(AnnotateUnpublishMemoryRange)
DOES_NOTHING(AnnotateNewMemory)
DOES_NOTHING(AnnotateMemoryIsInitialized)
DOES_NOTHING(AnnotateMemoryIsUninitialized)
DOES_NOTHING(AnnotateTraceMemory)
DOES_NOTHING(AnnotateThreadName)
DOES_NOTHING(AnnotateFlushState)
DOES_NOTHING(AnnotateNoOp)

DOES_NOTHING(__tsan_acquire)
DOES_NOTHING(__tsan_release)
DOES_NOTHING(__tsan_mutex_create)
DOES_NOTHING(__tsan_mutex_destroy)
DOES_NOTHING(__tsan_mutex_pre_lock)
DOES_NOTHING(__tsan_mutex_post_lock)
DOES_NOTHING(__tsan_mutex_post_unlock)
DOES_NOTHING(__tsan_mutex_pre_signal)
DOES_NOTHING(__tsan_mutex_post_signal)
DOES_NOTHING(__tsan_mutex_pre_divert)
DOES_NOTHING(__tsan_mutex_post_divert)
DOES_NOTHING(__tsan_external_register_header)
DOES_NOTHING(__tsan_external_assign_tag)
DOES_NOTHING(__tsan_external_read)
DOES_NOTHING(__tsan_external_write)
DOES_NOTHING(__tsan_destroy_fiber)
DOES_NOTHING(__tsan_switch_to_fiber)
DOES_NOTHING(__tsan_set_fiber_name)
DOES_NOTHING(__tsan_flush_memory)

// Those with a result: no recursion, no tag, no fiber, no Valgrind.
[[gnu::weak]] int __tsan_mutex_pre_unlock() { return 0; }
[[gnu::weak]] void* __tsan_external_register_tag() { return nullptr; }
[[gnu::weak]] void* __tsan_get_current_fiber() { return nullptr; }
[[gnu::weak]] void* __tsan_create_fiber() { return nullptr; }
[[gnu::weak]] int RunningOnValgrind() { return 0; }
[[gnu::weak]] double ValgrindSlowdown() { return 1; }
const char* ThreadSanitizerQuery() { return ""; }
}
