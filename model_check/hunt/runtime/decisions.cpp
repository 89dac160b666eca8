// decisions: see the header.
#include "decisions.hpp"

#include <cstdio>
#include <cstdlib>

namespace apiary::hunt {

namespace {
constexpr std::uint32_t most_threads = 65'536;
}

void decisions::follow(const decision* all, std::size_t count) {
    follows_ = true;
    for (std::size_t i = 0; i < count; ++i) {
        if (all[i].thread >= threads_.size()) threads_.resize(all[i].thread + 1);
        threads_[all[i].thread].all.push_back(all[i]);
        threads_[all[i].thread].all.back().taken = false;
    }
}

decision* decisions::find(std::uint32_t thread, std::uint32_t operation, char kind) {
    if (thread >= threads_.size()) return nullptr;
    of_thread& t = threads_[thread];
    while (t.next < t.all.size() && t.all[t.next].operation < operation) ++t.next;
    for (std::size_t i = t.next; i < t.all.size() && t.all[i].operation == operation; ++i)
        if (t.all[i].kind == kind && !t.all[i].taken) return &t.all[i];
    return nullptr;
}

std::uint32_t decisions::decided(std::uint32_t thread, std::uint32_t operation, char kind, std::uint32_t usual,
                                 std::uint32_t drawn) {
    std::uint32_t value = drawn;
    if (follows_) {
        decision* const d = find(thread, operation, kind);
        value = d != nullptr ? d->value : usual;
        if (d != nullptr) d->taken = true;
    }
    if (log_ == nullptr || value == usual) return value;
    if (log_->count == decision_log::most)
        log_->overflowed = true;
    else
        log_->all[log_->count++] = {thread, operation, value, kind, false};
    return value;
}

bool decision_list::read(const char* text) {
    for (; *text == 'p' || *text == 'a'; ++text) (*text == 'p' ? patient : uses_blocks_again) = true;
    while (*text == ',') {
        char* end = nullptr;
        decision d{};
        d.thread = static_cast<std::uint32_t>(std::strtoul(text + 1, &end, 10));
        if (*end != '.' || d.thread >= most_threads) return false;
        d.operation = static_cast<std::uint32_t>(std::strtoul(end + 1, &end, 10));
        d.kind = *end++;
        if (d.kind != decision::switches && d.kind != decision::reads && d.kind != decision::fails &&
            d.kind != decision::wakes)
            return false;
        d.value = static_cast<std::uint32_t>(std::strtoul(end, &end, 10));
        all.push_back(d);
        text = end;
    }
    return *text == '\0';
}

bool decision_list::write(char* to, std::size_t room) const {
    char* const end = to + room;
    to += std::snprintf(to, room, "%s%s", patient ? "p" : "", uses_blocks_again ? "a" : "");
    for (const decision& d : all) {
        to +=
            std::snprintf(to, static_cast<std::size_t>(end - to), ",%u.%u%c%u", d.thread, d.operation, d.kind, d.value);
        if (to >= end) return false;
    }
    return true;
}

}  // namespace apiary::hunt
