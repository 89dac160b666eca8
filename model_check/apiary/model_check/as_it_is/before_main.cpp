// See before_main.hpp.
#include <apiary/model_check/as_it_is/before_main.hpp>

#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::as_it_is {

namespace {
constexpr std::size_t most_early_locks = 64;
constinit std::array<lock_from_before, most_early_locks> early_locks{};
constinit std::size_t early_locks_used = 0;
constinit std::array<key_from_before, runtime::most_keys> early_keys{};
constinit std::size_t early_keys_used = 0;
constinit std::int64_t early_clock = 0;

lock_from_before* early_lock_at(const volatile void* lock) {
    for (std::size_t i = 0; i != early_locks_used; ++i)
        if (early_locks[i].at == number(lock)) return &early_locks[i];
    return nullptr;
}
}  // namespace

bool is_a_globals(const volatile void* p) { return !in_program && a_global_is_made() && is_put_back(number(p)); }

bool take_before_main(const volatile void* lock, std::size_t bytes, hold how, void* pc) {
    if (!is_a_globals(lock)) return true;
    if (lock_from_before* const held = early_lock_at(lock)) {
        if (how == hold::alone || held->how == hold::alone) return false;
        ++held->times;
        return true;
    }
    if (early_locks_used == most_early_locks) refuse_outside("more than 64 locks are held", pc);
    early_locks[early_locks_used++] = {number(lock), static_cast<std::uint8_t>(bytes), how, 1, pc};
    return true;
}

int take_or_refuse(const volatile void* lock, std::size_t bytes, hold how, void* pc) {
    if (!take_before_main(lock, bytes, how, pc)) refuse_outside("a lock is taken that is held already,", pc);
    return 0;
}

void give_before_main(const volatile void* lock) {
    lock_from_before* const held = is_a_globals(lock) ? early_lock_at(lock) : nullptr;
    if (held == nullptr || --held->times != 0) return;
    *held = early_locks[--early_locks_used];
}

bool is_held_before_main(const volatile void* lock) { return is_a_globals(lock) && early_lock_at(lock) != nullptr; }

std::span<const lock_from_before> locks_from_before() { return {early_locks.data(), early_locks_used}; }

unsigned make_key_before_main(void (*destroy)(void*), void* pc) {
    std::size_t slot = 0;  // a deleted one's, as the C library gives them again
    while (slot != early_keys_used && early_keys[slot].key != 0) ++slot;
    if (slot == early_keys.size()) refuse_outside("more than 1024 keys are made", pc);
    if (slot == early_keys_used) ++early_keys_used;
    const auto key = static_cast<unsigned>(runtime::first_key + explorer::max_threads * runtime::most_keys + slot);
    early_keys[slot] = {key, destroy, nullptr};
    return key;
}

key_from_before* key_made_before(unsigned key) {
    for (std::size_t i = 0; i != early_keys_used; ++i)
        if (key != 0 && early_keys[i].key == key) return &early_keys[i];
    return nullptr;
}

std::span<const key_from_before> keys_from_before() { return {early_keys.data(), early_keys_used}; }

std::int64_t& clock_from_before() { return early_clock; }

}  // namespace apiary::model::as_it_is
