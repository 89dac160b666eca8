// prices: reading a profile, and saying what is wrong with one.
#include <apiary/virtual/prices.hpp>

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

namespace apiary::virt {

std::span<const price_name> price_names() {
    constexpr double ns = 1000, most = 1e9;
    using p = prices;
    static const price_name all[] = {
        {"cluster", "processors", "in a cluster", &p::cluster, 1, 1, 1024},
        {"hit", "ns", "load or store of a line that the processor has", &p::hit, ns, 0, most},
        {"cell_hit", "ns", "the same of a plain member", &p::cell_hit, ns, 0, most},
        {"change_hit", "ns", "read-modify-write, or seq_cst store, of a line that it owns", &p::change_hit, ns, 0, most},
        {"transfer", "ns", "a line that another processor of the cluster owns", &p::transfer, ns, 0, most},
        {"far_transfer", "ns", "a line that a processor of another cluster owns", &p::far_transfer, ns, 0, most},
        {"clean_copy", "ns", "load of a line of which others have clean copies", &p::clean_copy, ns, 0, most},
        {"upgrade", "ns", "write to a line of which its writer and others of the cluster have copies", &p::upgrade, ns, 0, most},
        {"cold", "ns", "a line that no cache has", &p::cold, ns, 0, most},
        {"copy_occupies", "ns", "time for which a clean copy keeps the next access waiting", &p::copy_occupies, ns, 0, most},
        {"load_takes", "(0 or 1)", "1: a load takes a changed line whole, and leaves its owner no copy", &p::load_takes, 1, 0, 1},
        {"request_permille", "permille", "part of a transfer in which the former owner still has the line",
         &p::request_permille, 1, 0, 1000},
        {"basic_block", "ns", "a basic block of plain instructions", &p::basic_block, ns, 0, most},
        {"fence", "ns", "seq_cst fence, beside the wait for earlier stores", &p::fence, ns, 0, most},
        {"store_buffer", "ns", "how far a processor runs ahead of its stores under way", &p::store_buffer, ns, 0, most},
        {"relax", "ns", "spin hint", &p::relax, ns, 0, most},
        {"yield", "ns", "yield to nobody", &p::yield, ns, 0, most},
        {"clock_read", "ns", "now_ns", &p::clock_read, ns, 0, most},
        {"barrier", "ns", "heavy fence, for its caller", &p::barrier, ns, 0, most},
        {"barrier_interrupt", "ns", "heavy fence, for each other thread that runs", &p::barrier_interrupt, ns, 0, most},
        {"futex_wait", "ns", "call that puts its caller to sleep", &p::futex_wait, ns, 0, most},
        {"futex_wake", "ns", "call that wakes a thread, for each thread", &p::futex_wake, ns, 0, most},
        {"futex_wake_nobody", "ns", "call that finds nobody to wake", &p::futex_wake_nobody, ns, 0, most},
        {"wake_latency", "ns", "from a wake to the first operation of the woken thread", &p::wake_latency, ns, 0, most},
        {"timer_slack", "ns", "so much later a timed sleep ends", &p::timer_slack, ns, 0, most},
        {"block", "ns", "object made or destroyed, by the magazine of its processor", &p::block, ns, 0, most},
        {"depot", "ns", "full magazine exchanged for an empty one, one processor at a time", &p::depot, ns, 0, most},
        {"heap", "ns", "operator new or delete", &p::heap, ns, 0, most},
    };
    return all;
}

namespace {

[[noreturn]] void refuse(const std::string& seen, const std::string& cause, const std::string& remedy) {
    throw profile_error(seen + "\n  cause:  " + cause + "\n  remedy: " + remedy);
}

std::string_view trimmed(std::string_view s) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!s.empty() && blank(s.front())) s.remove_prefix(1);
    while (!s.empty() && blank(s.back())) s.remove_suffix(1);
    return s;
}

std::string plain(double x) {
    std::ostringstream s;
    s.precision(12);
    s << x;
    return s.str();
}

// A line `name = number`; which price it was.
const price_name& assign(prices& to, std::string_view line, const std::string& where) {
    const auto equals = line.find('=');
    const std::string shown = "\"" + std::string(line) + "\"";
    if (equals == std::string_view::npos)
        refuse(where + ": " + shown, "a line of a profile is `name = number`", "write it so, or put # before a comment");
    const std::string_view name = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    for (const price_name& n : price_names()) {
        if (n.name != name) continue;
        double x = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
        if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(x))
            refuse(where + ": " + shown, "this is no number",
                   "a number of " + std::string(n.unit) + ": " + std::string(n.meaning));
        if (x < n.least || x > n.most)
            refuse(where + ": " + shown, std::string(n.name) + " lies outside of " + plain(n.least) + " to " + plain(n.most) +
                   " " + std::string(n.unit), "a number within: " + std::string(n.meaning));
        to.*n.member = static_cast<std::int64_t>(std::llround(x * n.scale));
        return n;
    }
    std::string known;
    for (const price_name& n : price_names()) known += (known.empty() ? "" : ", ") + std::string(n.name);
    refuse(where + ": " + shown, "there is no price of that name", "one of " + known);
}

}  // namespace

prices parse_profile(std::string_view text, const std::string& source) {
    prices p;
    std::vector<const price_name*> given;
    for (unsigned number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const std::string where = source + ":" + std::to_string(number);
        const price_name& n = assign(p, line, where);
        for (const price_name* before : given)
            if (before == &n)
                refuse(where + ": \"" + std::string(line) + "\"", "an earlier line names that price", "keep one of them");
        given.push_back(&n);
    }
    for (const price_name& n : price_names()) {
        bool there = false;
        for (const price_name* g : given) there = there || g == &n;
        if (!there)
            refuse(source + ": no line for " + std::string(n.name),
                   "a profile names every price: a default is a number that nobody chose",
                   "add `" + std::string(n.name) + " = …`, " + std::string(n.unit) + ": " + std::string(n.meaning));
    }
    return p;
}

prices read_profile(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    if (!in || !(text << in.rdbuf()))
        refuse(path, "this profile cannot be read", "a file, or a name of bench/virtual/profiles");
    return parse_profile(text.str(), path);
}

void change_price(prices& p, std::string_view change) { (void)assign(p, trimmed(change), "--price"); }

}  // namespace apiary::virt
