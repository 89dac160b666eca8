// See verdict_wire.hpp. Fields in a fixed order, each "<length>:<bytes>"; parent and child are one program.
#include <apiary/model_check/verdict_wire.hpp>

#include <charconv>

namespace apiary::model {

namespace {

class writer {
public:
    void operator()(const std::string& text) { out += std::to_string(text.size()) + ":" + text; }
    void operator()(std::uint64_t n) { (*this)(std::to_string(n)); }
    void operator()(double d) { (*this)(std::to_string(d)); }
    void operator()(outcome o) { (*this)(static_cast<std::uint64_t>(o)); }
    template <class Value>
    void operator()(const std::map<std::string, Value>& map) {
        (*this)(static_cast<std::uint64_t>(map.size()));
        for (const auto& [key, value] : map) (*this)(key), (*this)(value);
    }
    std::string out;
};

class reader {
public:
    explicit reader(std::string_view bytes) : rest_(bytes) {}
    // Every field was there, and nothing came after the last.
    bool good() const { return good_ && rest_.empty(); }

    void operator()(std::string& text) {
        std::size_t length = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), length);
        const auto digits = static_cast<std::size_t>(end - rest_.data());
        const bool whole = error == std::errc{} && digits < rest_.size() && rest_[digits] == ':' &&
                           length <= rest_.size() - digits - 1;
        if (!whole) return broken();
        text = rest_.substr(digits + 1, length);
        rest_.remove_prefix(digits + 1 + length);
    }
    void operator()(std::uint64_t& n) {
        std::string text;
        (*this)(text);
        number(text, n);
    }
    void operator()(double& d) {
        std::string text;
        (*this)(text);
        number(text, d);
    }
    void operator()(outcome& o) {
        std::uint64_t n = 0;
        (*this)(n);
        if (n > static_cast<std::uint64_t>(outcome::error)) return broken();
        o = static_cast<outcome>(n);
    }
    template <class Value>
    void operator()(std::map<std::string, Value>& map) {
        std::uint64_t size = 0;
        (*this)(size);
        for (std::uint64_t i = 0; i != size && good_; ++i) {
            std::string key;
            (*this)(key);
            (*this)(map[key]);
        }
    }

private:
    template <class N>
    void number(const std::string& text, N& n) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (!good_ || error != std::errc{} || end != text.data() + text.size()) broken();
    }
    void broken() {
        good_ = false;
        rest_ = {};
    }

    std::string_view rest_;
    bool good_ = true;
};

template <class Wire, class Verdict>
void every_field(Wire& wire, Verdict& v) {
    wire(v.result), wire(v.mode), wire(v.bound), wire(v.executions), wire(v.graphs), wire(v.blocked);
    wire(v.seconds), wire(v.reason), wire(v.trace), wire(v.trace_html), wire(v.replay), wire(v.blind);
    wire(v.reached), wire(v.outcomes), wire(v.sites), wire(v.laws), wire(v.acted), wire(v.mutation_met),
        wire(v.estimated_executions), wire(v.left), wire(v.came_to);
}

}  // namespace

std::string to_wire(const verdict& v) {
    writer wire;
    every_field(wire, v);
    wire(std::string("end"));
    return std::move(wire.out);
}

std::optional<verdict> from_wire(std::string_view bytes) {
    reader wire(bytes);
    verdict v;
    every_field(wire, v);
    std::string end;
    wire(end);
    if (!wire.good() || end != "end") return std::nullopt;
    return v;
}

}  // namespace apiary::model
