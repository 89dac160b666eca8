// libstdcxx: what libstdc++.so keeps to itself and orders the program by: the locks of std::atomic_load(&shared_ptr) and its
// like, the counts of exceptions.
#include <dlfcn.h>

#include <cstdint>
#include <memory>

#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/places.hpp>

namespace {

using namespace apiary::model::as_it_is;
namespace ex = apiary::model::explorer;

#define CALLER __builtin_return_address(0)

// What is in a std::_Sp_locker: which locks it has. The library has sixteen for all pointers, and it is an accident when two
// share one; here each pointer has its own, beside its bytes, since it guards plain accesses to them.
struct pointer_locks {
    static constexpr std::uint8_t none = runtime::no_key;
    std::uint8_t first, second;
};
static_assert(sizeof(pointer_locks) == sizeof(std::_Sp_locker));

std::uint8_t lock(const void* p, void* pc) {
    std::uint8_t key = pointer_locks::none;
    ex::object& o = the_runtime().lock_beside(number(p), key, pc);
    ex::lock(o, place_of_call(pc));
    the_runtime().takes(o);
    return key;
}
void unlock(std::uint8_t key, void* pc) {
    if (key == pointer_locks::none) return;
    ex::object& o = the_runtime().lock_beside(key);
    ex::unlock(o, place_of_call(pc));
    the_runtime().gives_back(o);
}

using destructor = void (*)(void*);
// What to tell the library of an exception's destructor.
destructor counted(void* object, destructor destroy) {
    if (!in_program) return destroy;
    const beside_program now;
    the_runtime().is_counted(object, destroy);
    if (destroy == nullptr) return nullptr;
    return [](void* p) { the_runtime().destroy_counted(p); };
}

}  // namespace

extern "C" {

void apiary_lock_pointer(pointer_locks* locks, const void* p) {
    *locks = {pointer_locks::none, pointer_locks::none};
    if (!in_program) return;
    const registers where = apiary_registers.with(p);
    const outside_program now;
    the_runtime().may_stall(CALLER, where, "lock");
    locks->first = lock(p, CALLER);
}
void apiary_lock_pointers(pointer_locks* locks, const void* p, const void* q) {
    *locks = {pointer_locks::none, pointer_locks::none};
    if (!in_program) return;
    const registers where = apiary_registers.with(p, q);
    const outside_program now;
    the_runtime().may_stall(CALLER, where, "lock");
    locks->first = lock(p < q ? p : q, CALLER);
    if (p != q) locks->second = lock(p < q ? q : p, CALLER);
}
void apiary_unlock_pointers(pointer_locks* locks) {
    if (!in_program) return;
    const outside_program now;
    unlock(locks->second, CALLER);
    unlock(locks->first, CALLER);
}
// std::_Sp_locker's constructors and its destructor.
KEEPS_REGISTERS_OF(_ZNSt10_Sp_lockerC1EPKv, lock_pointer)
KEEPS_REGISTERS_OF(_ZNSt10_Sp_lockerC1EPKvS1_, lock_pointers)
KEEPS_REGISTERS_OF(_ZNSt10_Sp_lockerD1Ev, unlock_pointers)

// The library counts the holders of an exception; the last one destroys it and gives its memory back. A throw comes here, too.
// The program runs: a local static would have a guard, which is a lock of its own to it.
void* __cxa_init_primary_exception(void* object, void* type, void (*destroy)(void*)) {
    using initialiser = void* (*)(void*, void*, void (*)(void*));
    static constinit initialiser library = nullptr;
    if (library == nullptr)
        library = reinterpret_cast<initialiser>(::dlsym(RTLD_NEXT, "__cxa_init_primary_exception"));
    return library(object, type, counted(object, destroy));
}
}

namespace apiary::model::as_it_is {
void libstdcxx_is_linked() {}
}  // namespace apiary::model::as_it_is
