// Subject `libuv`: a server only. N threads, each with a loop of its own, all of which accept; a connection stays where
// it was accepted. A write is tried at once (uv_try_write); what the socket does not take is a uv_write.
#include <uv.h>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "scenarios/list.hpp"

namespace {

using apiary::bench::requests;
using apiary::bench::serving;

void checked(int result, const char* what) {
    if (result >= 0) return;
    std::fprintf(stderr, "%s: %s\n", what, uv_strerror(result));
    std::abort();
}

// A stream of libuv's. Its owner is told of what it reads, of its end, and that it is closed. While a write waits it does
// not read, so the owner may overwrite what it has written when it is told of the next read.
template <class Owner>
class link {
public:
    explicit link(Owner& o, std::size_t n = 0) : number(n), owner_(o) {
        stream_.data = this;
        write_.data = this;
    }
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    void accept(uv_loop_t* loop, uv_stream_t* listening) {
        checked(uv_tcp_init(loop, &stream_), "uv_tcp_init");
        checked(uv_accept(listening, base()), "uv_accept");
        (void)uv_tcp_nodelay(&stream_, 1);
        read();
    }
    void adopt(uv_loop_t* loop, int fd) {
        checked(uv_tcp_init(loop, &stream_), "uv_tcp_init");
        checked(uv_tcp_open(&stream_, fd), "uv_tcp_open");
        read();
    }
    // False: it is under way, and `on_written` comes.
    [[nodiscard]] bool write(std::span<const std::byte> what) {
        uv_buf_t all = buffer(what);
        const int put = uv_try_write(base(), &all, 1);
        if (put == static_cast<int>(what.size())) return true;
        all = buffer(what.subspan(put > 0 ? static_cast<std::size_t>(put) : 0));
        (void)uv_read_stop(base());
        checked(uv_write(&write_, base(), &all, 1, [](uv_write_t* w, int status) { of(w).written(status); }),
                "uv_write");
        return false;
    }
    // The owner has room again.
    void go_on() {
        if (full_) read();
    }
    void close() {
        uv_close(reinterpret_cast<uv_handle_t*>(&stream_), [](uv_handle_t* h) { of(h).owner_.on_closed(); });
    }

    const std::size_t number;

private:
    static link& of(auto* handle) { return *static_cast<link*>(handle->data); }
    uv_stream_t* base() { return reinterpret_cast<uv_stream_t*>(&stream_); }
    static uv_buf_t buffer(std::span<const std::byte> of) {
        return uv_buf_init(reinterpret_cast<char*>(const_cast<std::byte*>(of.data())),
                           static_cast<unsigned>(of.size()));
    }
    void read() {
        full_ = false;
        checked(
            uv_read_start(
                base(), [](uv_handle_t* h, std::size_t, uv_buf_t* into) { *into = buffer(of(h).owner_.room(of(h))); },
                [](uv_stream_t* s, ssize_t n, const uv_buf_t*) { of(s).has_read(n); }),
            "uv_read_start");
    }
    void has_read(ssize_t n) {
        if (n > 0) return owner_.on_read(*this, static_cast<std::size_t>(n));
        if (n == 0) return;
        if (n != UV_ENOBUFS) return owner_.on_end();
        full_ = true;
        (void)uv_read_stop(base());
    }
    void written(int status) {
        if (status == UV_ECANCELED) return;
        if (status < 0) return owner_.on_end();
        read();
        owner_.on_written(*this);
    }

    Owner& owner_;
    uv_tcp_t stream_{};
    uv_write_t write_{};
    bool full_ = false;
};

class echo_connection {
public:
    echo_connection(uv_loop_t* loop, uv_stream_t* listening, const serving& what) : what_(what), seen_(what.bytes) {
        client_.accept(loop, listening);
    }

    std::span<std::byte> room(auto&) { return seen_.room(); }
    void on_read(auto&, std::size_t n) {
        seen_.add(n);
        const auto whole = seen_.whole();
        if (whole.empty()) return;
        what_.answer(whole);
        if (client_.write(whole)) on_written(client_);
    }
    void on_written(auto&) { seen_.drop(seen_.whole().size()); }
    void on_end() {
        if (!ended_) client_.close();
        ended_ = true;
    }
    void on_closed() { delete this; }

private:
    const serving& what_;
    requests seen_;
    link<echo_connection> client_{*this};
    bool ended_ = false;
};

class front_connection {
public:
    front_connection(uv_loop_t* loop, uv_stream_t* listening, const serving& what)
        : what_(what), seen_(what.bytes), parts_(what.backends.size() * stride()), read_(what.backends.size()) {
        for (std::size_t b = 0; b != what.backends.size(); ++b)
            links_.emplace_back(*this, b).adopt(loop, serving::connected(what.backends[b]));
        links_.emplace_back(*this, client()).accept(loop, listening);
    }

    std::span<std::byte> room(auto& l) {
        if (l.number == client()) return seen_.room();
        return std::span(parts_).subspan(l.number * stride() + read_[l.number], stride() - read_[l.number]);
    }
    void on_read(auto& l, std::size_t n) {
        if (l.number != client()) {
            read_[l.number] += n;
            if (read_[l.number] == what_.bytes && --left_ == 0) answer();
        } else {
            seen_.add(n);
            if (left_ == 0 && !answering_) next();
        }
    }
    void on_written(auto& l) {
        if (l.number == client()) answered();
    }
    void on_end() {
        if (ended_) return;
        ended_ = true;
        for (auto& l : links_) l.close();
    }
    void on_closed() {
        if (++closed_ == links_.size()) delete this;
    }

private:
    [[nodiscard]] std::size_t client() const { return what_.backends.size(); }
    // A read that fills its room is followed by another one.
    [[nodiscard]] std::size_t stride() const { return what_.bytes + 1; }
    void next() {
        if (seen_.whole().empty()) return links_.back().go_on();
        const auto request = seen_.whole().first(what_.bytes);
        left_ = what_.ask;
        for (std::uint64_t j = 0; j != what_.ask; ++j) (void)links_[what_.backend(request.data(), j)].write(request);
    }
    void answer() {
        const auto request = seen_.whole().first(what_.bytes);
        std::uint64_t sum = 0;
        for (std::uint64_t j = 0; j != what_.ask; ++j) {
            const std::size_t b = what_.backend(request.data(), j);
            sum += serving::part_of(&parts_[b * stride()]);
            read_[b] = 0;
        }
        what_.finish(request.data(), sum);
        answering_ = true;
        if (links_.back().write(request)) answered();
    }
    void answered() {
        answering_ = false;
        seen_.drop(what_.bytes);
        next();
    }

    const serving& what_;
    requests seen_;
    std::vector<std::byte> parts_;
    std::vector<std::size_t> read_;             // of each backend's part
    std::deque<link<front_connection>> links_;  // the client's is the last
    std::uint64_t left_ = 0;                    // backends that have not answered
    std::size_t closed_ = 0;
    bool answering_ = false, ended_ = false;
};

// A loop on a thread, until its listening socket has been shut down and its connections have ended.
class uv_worker {
public:
    explicit uv_worker(const serving& what) : what_(what) {
        checked(uv_loop_init(&loop_), "uv_loop_init");
        checked(uv_tcp_init(&loop_, &listening_), "uv_tcp_init");
        listening_.data = this;
        checked(uv_tcp_open(&listening_, ::dup(what.listening)), "uv_tcp_open");
        checked(uv_listen(reinterpret_cast<uv_stream_t*>(&listening_), 4096,
                          [](uv_stream_t* s, int status) { static_cast<uv_worker*>(s->data)->accept(s, status); }),
                "uv_listen");
        thread_ = std::thread([this] { (void)uv_run(&loop_, UV_RUN_DEFAULT); });
    }
    ~uv_worker() {
        thread_.join();
        checked(uv_loop_close(&loop_), "uv_loop_close");
    }
    uv_worker(const uv_worker&) = delete;
    uv_worker& operator=(const uv_worker&) = delete;

private:
    void accept(uv_stream_t* s, int status) {
        if (status < 0) return uv_close(reinterpret_cast<uv_handle_t*>(s), nullptr);
        if (what_.backends.empty())
            new echo_connection(&loop_, s, what_);
        else
            new front_connection(&loop_, s, what_);
    }

    const serving& what_;
    uv_loop_t loop_{};
    uv_tcp_t listening_{};
    std::thread thread_;
};

class libuv {
public:
    static constexpr std::string_view name = "libuv";
    static std::string version() { return uv_version_string(); }
    explicit libuv(unsigned workers) : workers_(workers) {}

    class server {
    public:
        server(libuv& l, const serving& what) : what_(what) {
            for (unsigned w = 0; w != l.workers_; ++w) workers_.emplace_back(what_);
        }

    private:
        const serving what_;
        std::deque<uv_worker> workers_;
    };

private:
    const unsigned workers_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<libuv>(argc, argv); }
