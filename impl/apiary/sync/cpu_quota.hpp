// cpu_quota: the processor time that this process's control group may use, as a number of processors. Docker's --cpus,
// a Kubernetes limit and systemd's CPUQuota set it.
//
// When to use it. Through default_workers() (processors.hpp): with more workers than the quota, the kernel stops all of
// them for the rest of each period. When not: to bind threads; a quota names no processors.
//
// How it counts. It reads the v1 hierarchy if that has the controller cpu, else the v2 hierarchy. It takes the smallest
// quota of the process's group and of all groups above it, up to the root of the mount, and rounds up, so that a half
// is one. If the group does not lie below the mount's root (the path belongs to another namespace, or only a part is
// mounted), it asks the root of the mount alone. Go 1.25 looks at the hierarchies in the same order, asks the group
// alone, and rounds up to at least 2. Rust's standard library also asks the groups above, and rounds down. This one
// rounds half a processor up to one worker, not two: two would share what one can use.
//
// Threads. Any. Blocking. Reads two files of /proc and one or two for each level of the groups, which takes some tenths
// of a millisecond when a pool is constructed without a number of workers. Nothing is cached, since a limit may change
// while the process runs.
// Errors. std::bad_alloc. A file that cannot be read, or holds no number, sets no limit.
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
    std::string groups = "/proc/self/cgroup";      // lists the groups of the process
    std::string mounts = "/proc/self/mountinfo";   // tells where their hierarchies are mounted
    std::string usual_mount = "/sys/fs/cgroup";    // of v2, unless `mounts` says; v1's controllers lie one level below
};

namespace detail {

// The whole file; empty if it cannot be read.
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

// Takes the text up to the separator off, and the separator with it; all of the text if there is none.
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

// The whole number at the beginning, if a blank, a newline or the end follows it; else 0.
inline long long whole(std::string_view text) {
    long long n = 0;  // stays 0 if there is no number, or one that does not fit
    const char* const end = std::from_chars(text.data(), text.data() + text.size(), n).ptr;
    return end == text.data() + text.size() || *end == ' ' || *end == '\n' ? n : 0;
}

// The quota of this group in processors, rounded up; 0 if it has none.
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
    std::string root, point;  // the group at the root of the mount, and where it is mounted
};

// True if the group lies at the root of the mount or below it.
inline bool is_below(std::string_view group, std::string_view root) {
    if (group.find("/..") != group.npos) return false;  // above what this namespace sees
    if (root == "/") return true;
    return group.starts_with(root) && (group.size() == root.size() || group[root.size()] == '/');
}

// The mount that shows the group; else any mount of that hierarchy; else an empty one.
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

// The smallest quota in processors, rounded up; 0: no limit.
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
    std::string below;  // the part of the group's path below the mount
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
