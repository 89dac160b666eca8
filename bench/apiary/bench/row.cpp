// Prints a row as RFC 4180.
#include <cmath>
#include <cstdio>

#include <apiary/bench/row.hpp>

namespace apiary::bench {

namespace {

class csv_line {
public:
    csv_line& operator<<(const std::string& text) {
        if (!first_) line_ += ',';
        first_ = false;
        line_ += text;
        return *this;
    }
    csv_line& operator<<(const row::count& value) { return *this << (value ? std::to_string(*value) : std::string()); }
    csv_line& operator<<(const row::real& value) { return *this << (value ? short_decimal(*value) : std::string()); }

    [[nodiscard]] const std::string& text() const { return line_; }

private:
    std::string line_;
    bool first_ = true;
};

std::string hex16(const row::count& value) {
    if (!value) return {};
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(*value));
    return digits;
}

}  // namespace

std::string short_decimal(double value) {
    if (!std::isfinite(value)) return {};
    char digits[352];  // the longest double in %f
    std::snprintf(digits, sizeof digits, "%.3f", value);
    std::string text = digits;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

void row::set_latency(const histogram& h) {
    lat_count = h.count();
    lat_min_ns = h.min();
    lat_p50_ns = h.printed_percentile({500});
    lat_p90_ns = h.printed_percentile({900});
    lat_p95_ns = h.printed_percentile({950});
    lat_p99_ns = h.printed_percentile({990});
    lat_p999_ns = h.printed_percentile({999});
    lat_max_ns = h.max();
}

void row::add_flag(const std::string& flag) {
    if (!flags.empty()) flags += ';';
    flags += flag;
}

std::string row::to_csv() const {
    csv_line line;
    line << scenario << workers << seed << warmup_blocks << steady << blocks << ops << wall_ns << cpu_ns;
    line << ns_per_op << ops_per_s << offered_per_s << achieved_per_s;
    line << lat_count << lat_min_ns << lat_p50_ns << lat_p90_ns << lat_p95_ns << lat_p99_ns << lat_p999_ns;
    line << lat_max_ns << lateness_p99_ns << nvcsw << nivcsw << minflt << maxrss_kib;
    line << allocs << wakes << parks << steals << hex16(check) << flags << status;
    return line.text();
}

}  // namespace apiary::bench
