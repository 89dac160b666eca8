// The table of processes as it ships: a place that is found is there, whole, while the table grows; it is one owner's at a time; and
// its generations never come back.
#include <array>
#include <cstdint>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/processes/process_table.hpp>

namespace process_table_check {
namespace {

using namespace apiary;

template <class Sync>
struct place {
    using link_type = place;
    typename Sync::template cell<place*> next;
    typename Sync::template cell<int> made{1};  // written by the constructor alone
    typename Sync::template cell<int> owner{0};
    std::uint32_t index = 0, generation = 0;
};

template <class Sync>
struct table_grows_while_it_is_read {
    static constexpr const char* what = "one thread takes places while another looks for them: what is found is whole";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"table.found", "table.not_yet"};
    process_table<place<Sync>, Sync, 3> table;
    void thread(unsigned i) {
        if (i == 0) {
            (void)table.acquire(nullptr);
            (void)table.acquire(nullptr);
            return;
        }
        unsigned seen = 0;
        table.each([&](place<Sync>& p) {
            Sync::law(p.made.read() == 1, "a place was found before it was made");
            ++seen;
        });
        place<Sync>* const second = table.find(1);
        Sync::reach(second != nullptr ? "table.found" : "table.not_yet");
        if (second != nullptr) Sync::law(second->made.read() == 1, "a place was found before it was made");
        Sync::law(seen < 2 || second != nullptr, "a place was there, and is no more");
    }
    void after() { Sync::law(table.find(0) != table.find(1), "two places are one"); }
};
APIARY_CHECK(table_grows_while_it_is_read);

// Two threads take and give back, one of them by a spare list. Four of three generations are all there is of two places.
template <class Sync>
struct table_places_have_one_owner {
    static constexpr const char* what =
        "two threads take and give back places: never the same one, nor a generation twice";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"table.reused", "process_table.retired"};
    using table_type = process_table<place<Sync>, Sync, 2>;
    table_type table;
    std::array<std::array<std::uint32_t, 3>, 2> pids{};
    void thread(unsigned i) {
        typename table_type::list spare;
        for (unsigned n = 0; n != 3; ++n) {
            place<Sync>* const p = table.acquire(i == 0 ? &spare : nullptr);
            if (p == nullptr) break;
            p->owner.write(static_cast<int>(i));
            pids[i][n] = p->generation * 16 + p->index + 1;
            if (p->generation == 2) Sync::reach("table.reused");
            Sync::law(p->owner.read() == static_cast<int>(i), "a place has two owners");
            table.release(p, i == 0 ? &spare : nullptr);
        }
        table.give_back(spare, spare.size());
    }
    void after() {
        for (unsigned a = 0; a != 6; ++a)
            for (unsigned b = 0; b != a; ++b)
                Sync::law(pids[a / 3][a % 3] == 0 || pids[a / 3][a % 3] != pids[b / 3][b % 3], "a pid came back");
    }
};
APIARY_CHECK(table_places_have_one_owner);

}  // namespace
}  // namespace process_table_check
