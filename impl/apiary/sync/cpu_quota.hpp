// The processor time that this process's control group may use, as a number of processors: what Docker's --cpus, a
// Kubernetes limit and systemd's CPUQuota set.
//
// When to use it. Through default_workers() (processors.hpp): with more workers than that, the kernel stops all of them for
// the rest of each period. When not: to bind threads; a quota names no processors.
//
// What counts. The v1 hierarchy with the controller cpu, where there is one, else the v2 hierarchy. Of the process's group
// and all groups above it, up to the root of the mount, the smallest quota; rounded up, so that a half is one. Where the
// group is not below the mount's root (another namespace's path, a mount of a part), the root of the mount alone. Go 1.25
// has the same order of the hierarchies, asks the group alone, and rounds up, to 2 at least; Rust's standard library asks
// the groups above, too, and rounds down. Two workers for half a processor would share what one can use.
//
// Threads. Any. Blocking. Reads two files of /proc, and one or two for each level of the groups: some tenths of a
// millisecond, at the construction of a pool that was not told its workers. Nothing is kept: a limit may change while a
// process runs.
// Errors. std::bad_alloc. What cannot be read, or is no number, sets no limit.
// Tested by cpu_quota_test.cpp, with made-up trees.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace apiary {

struct cgroup_places {
    std::string groups = "/proc/self/cgroup";      // of which groups the process is
    std::string mounts = "/proc/self/mountinfo";   // where their hierarchies are mounted
    std::string usual_mount = "/sys/fs/cgroup";    // of v2, and of v1's controllers one level below, where `mounts` says nothing
};

namespace detail {

// Empty where it cannot be read.
inline std::string text_of(const std::string& path) {
    std::string all;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file == -1) return all;
    const struct closes {
        int file;
        ~closes() { ::close(file); }
    } at_end{file};
    char some[4096];
    for (;;) {
        const ssize_t n = ::read(file, some, sizeof some);
        if (n > 0)
            all.append(some, static_cast<std::size_t>(n));
        else if (n == 0 || errno != EINTR)
            return all;
    }
}

// Up to the separator, which is taken off, too, or all of it.
inline std::string_view cut(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view first = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return first;
}

inline bool lists(std::string_view words, std::string_view word) {
    while (!words.empty())
        if (cut(words, ',') == word) return true;
    return false;
}

// The kernel writes a blank, tab, newline or backslash of a path as a backslash and three octal digits.
inline std::string unescaped(std::string_view path) {
    const auto octal = [](char c) { return c >= '0' && c <= '7'; };
    std::string plain;
    for (std::size_t i = 0; i < path.size(); ++i)
        if (path[i] == '\\' && i + 3 < path.size() && octal(path[i + 1]) && octal(path[i + 2]) && octal(path[i + 3])) {
            plain += static_cast<char>((path[i + 1] - '0') * 64 + (path[i + 2] - '0') * 8 + (path[i + 3] - '0'));
            i += 3;
        } else {
            plain += path[i];
        }
    return plain;
}

// A whole number at the beginning, up to a blank, a newline or the end; else 0.
inline long long whole(std::string_view text) {
    long long n = 0;  // and stays so where there is none, or one beyond all bounds
    const char* const end = std::from_chars(text.data(), text.data() + text.size(), n).ptr;
    return end == text.data() + text.size() || *end == ' ' || *end == '\n' ? n : 0;
}

// In processors, rounded up; 0: none.
inline unsigned long long quota_in(const std::string& group, bool v1) {
    long long quota, period;
    if (v1) {
        quota = whole(text_of(group + "/cpu.cfs_quota_us"));  // -1: none
        period = quota > 0 ? whole(text_of(group + "/cpu.cfs_period_us")) : 0;
    } else {
        const std::string max = text_of(group + "/cpu.max");  // "max 100000": none
        std::string_view rest = max;
        quota = whole(cut(rest, ' '));
        period = whole(rest);
    }
    if (quota <= 0 || period <= 0) return 0;
    return static_cast<unsigned long long>(quota / period + (quota % period != 0 ? 1 : 0));
}

struct cgroup_mount {
    std::string root, point;  // which group lies at its root, and where it is
};

// True: the group lies at the root of the mount or below it.
inline bool is_below(std::string_view group, std::string_view root) {
    if (group.find("/..") != group.npos) return false;  // above what this namespace sees
    if (root == "/") return true;
    return group.starts_with(root) && (group.size() == root.size() || group[root.size()] == '/');
}

// The mount in which the group is, else any of that hierarchy, else an empty one.
inline cgroup_mount mount_of(std::string_view mounts, bool v1, std::string_view group) {
    cgroup_mount found;
    while (!mounts.empty()) {
        std::string_view line = cut(mounts, '\n'), root, point;
        for (int field = 0; field != 5; ++field) {
            if (field == 3) root = line;
            if (field == 4) point = line;
            (void)cut(line, ' ');
        }
        root = cut(root, ' '), point = cut(point, ' ');
        while (!line.empty() && cut(line, ' ') != "-") {}
        const std::string_view type = cut(line, ' ');
        (void)cut(line, ' ');  // its source
        if (point.empty() || type != (v1 ? "cgroup" : "cgroup2") || (v1 && !lists(line, "cpu"))) continue;
        cgroup_mount here{unescaped(root), unescaped(point)};
        if (is_below(group, here.root)) return here;
        if (found.point.empty()) found = std::move(here);
    }
    return found;
}

}  // namespace detail

// 0: no limit.
inline unsigned long long cpu_quota(const cgroup_places& places = {}) {
    const std::string groups = detail::text_of(places.groups);
    bool v1 = false, v2 = false;
    std::string group;
    for (std::string_view rest = groups; !rest.empty() && !v1;) {
        std::string_view path = detail::cut(rest, '\n');
        const std::string_view number = detail::cut(path, ':'), controllers = detail::cut(path, ':');
        if (!path.starts_with('/')) continue;
        v1 = detail::lists(controllers, "cpu");
        const bool unified = number == "0" && controllers.empty();
        v2 = v2 || unified;
        if (v1 || unified) group = path;
    }
    if (!v1 && !v2) return 0;
    detail::cgroup_mount mount = detail::mount_of(detail::text_of(places.mounts), v1, group);
    if (mount.point.empty()) mount = {"/", places.usual_mount + (v1 ? "/cpu" : "")};
    std::string below;  // what of the group's path is below the mount
    if (detail::is_below(group, mount.root)) below = mount.root == "/" ? group : group.substr(mount.root.size());
    unsigned long long least = 0;
    for (;;) {
        while (below.ends_with('/')) below.pop_back();
        const unsigned long long quota = detail::quota_in(mount.point + below, v1);
        if (quota != 0 && (least == 0 || quota < least)) least = quota;
        if (below.empty()) return least;
        below.resize(below.rfind('/'));
    }
}

}  // namespace apiary
