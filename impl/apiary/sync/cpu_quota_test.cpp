// default_workers and the quota, over made-up trees of control groups.
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <apiary/sync/processors.hpp>

namespace cpu_quota_test {
namespace {
thread_local bool masks_are_too_small = false;
}
}  // namespace cpu_quota_test

// In place of the C library's: it refuses, as the kernel does where a machine has more processors than a mask has bits.
extern "C" int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t* mask) noexcept {
    if (cpu_quota_test::masks_are_too_small) {
        errno = EINVAL;
        return -1;
    }
    std::memset(mask, 0, bytes);  // the kernel writes as many bytes as it has processors for
    const long done = ::syscall(SYS_sched_getaffinity, thread, bytes, mask);
    return done < 0 ? -1 : 0;
}

namespace cpu_quota_test {
namespace {

namespace fs = std::filesystem;

struct file {
    std::string path, text;  // the path from the root of the tree
};

class made_up_tree {
public:
    // "@" in the mounts and in the paths' place: the tree's own folder.
    made_up_tree(const std::string& groups, std::string mounts, const std::vector<file>& files) {
        std::string name = testing::TempDir() + "apiary-cgroup-XXXXXX";
        folder_ = ::mkdtemp(name.data());
        for (std::size_t at; (at = mounts.find('@')) != mounts.npos;) mounts.replace(at, 1, folder_.string());
        write({"groups", groups});
        write({"mounts", mounts});
        for (const file& f : files) write(f);
    }
    ~made_up_tree() { fs::remove_all(folder_); }
    made_up_tree(const made_up_tree&) = delete;
    made_up_tree& operator=(const made_up_tree&) = delete;

    apiary::cgroup_places places() const {
        return {(folder_ / "groups").string(), (folder_ / "mounts").string(), (folder_ / "usual").string()};
    }

private:
    void write(const file& f) {
        fs::create_directories((folder_ / f.path).parent_path());
        if (f.text == "a folder")
            fs::create_directories(folder_ / f.path);
        else
            std::ofstream(folder_ / f.path) << f.text;
    }
    fs::path folder_;
};

struct quota_case {
    const char* what;
    std::string groups, mounts;
    std::vector<file> files;
    unsigned long long quota;
};

const std::string v2 = "36 31 0:29 / @/v2 rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string v1 = "32 31 0:30 / @/cpu rw,relatime - cgroup cgroup rw,cpu\n";
const std::string disk = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n";

const quota_case cases[] = {
    {"v2, a quota of two", "0::/app\n", v2, {{"v2/app/cpu.max", "200000 100000\n"}}, 2},
    {"v2, two and a half is three", "0::/app\n", v2, {{"v2/app/cpu.max", "250000 100000\n"}}, 3},
    {"v2, a tenth is one", "0::/app\n", v2, {{"v2/app/cpu.max", "10000 100000\n"}}, 1},
    {"v2, none", "0::/app\n", v2, {{"v2/app/cpu.max", "max 100000\n"}}, 0},
    {"v2, no file: the controller is off", "0::/app\n", v2, {{"v2/app/cgroup.procs", "1\n"}}, 0},
    {"v2, the group above has less", "0::/pod/app\n", v2,
     {{"v2/pod/cpu.max", "100000 50000\n"}, {"v2/pod/app/cpu.max", "400000 100000\n"}}, 2},
    {"v2, the group above has more", "0::/pod/app\n", v2,
     {{"v2/pod/cpu.max", "800000 100000\n"}, {"v2/pod/app/cpu.max", "400000 100000\n"}}, 4},
    {"v2, the group above alone has one", "0::/pod/app\n", v2,
     {{"v2/pod/cpu.max", "300000 100000\n"}, {"v2/pod/app/cpu.max", "max 100000\n"}}, 3},
    {"v2, the root of the mount, as a container sees it", "0::/\n", v2, {{"v2/cpu.max", "150000 100000\n"}}, 2},
    {"v2, after the last newline nothing", "0::/app", v2, {{"v2/app/cpu.max", "200000 100000"}}, 2},
    {"v2, a colon and a blank in the path", "0::/a:b c\n", v2, {{"v2/a:b c/cpu.max", "200000 100000\n"}}, 2},
    {"v2, a group that was removed: those above it", "0::/pod/app (deleted)\n", v2, {{"v2/pod/cpu.max", "500000 100000\n"}}, 5},
    {"v2, another namespace's path: the mount's root", "0::/../other/app\n", v2,
     {{"v2/cpu.max", "200000 100000\n"}, {"other/app/cpu.max", "100000 100000\n"}}, 2},
    {"v2, a mount of a part, and the group below it", "0::/docker/x/app\n", "36 31 0:29 /docker/x @/v2 rw - cgroup2 cgroup rw\n",
     {{"v2/cpu.max", "600000 100000\n"}, {"v2/app/cpu.max", "400000 100000\n"}}, 4},
    {"v2, a mount of a part, and the group not below it", "0::/docker/xy\n", "36 31 0:29 /docker/x @/v2 rw - cgroup2 cgroup rw\n",
     {{"v2/cpu.max", "600000 100000\n"}, {"v2/y/cpu.max", "100000 100000\n"}}, 6},
    {"v2, of two mounts the one that has the group", "0::/b/app\n",
     "36 31 0:29 /a @/a rw - cgroup2 cgroup rw\n37 31 0:29 /b @/b rw - cgroup2 cgroup rw\n",
     {{"a/cpu.max", "600000 100000\n"}, {"b/app/cpu.max", "300000 100000\n"}}, 3},
    {"v2, escapes in the mount's place", "0::/app\n", "36 31 0:29 / @/a\\040b\\134c rw - cgroup2 cgroup rw\n",
     {{"a b\\c/app/cpu.max", "200000 100000\n"}}, 2},
    {"v2, escapes that are none", "0::/app\n", "36 31 0:29 / @/a\\900\\090\\009\\ rw - cgroup2 cgroup rw\n",
     {{"a\\900\\090\\009\\/app/cpu.max", "200000 100000\n"}}, 2},
    {"v2, three digits that no backslash makes an escape", "0::/app\n",
     "36 31 0:29 / @/pod101 rw - cgroup2 cgroup rw\n", {{"pod101/app/cpu.max", "200000 100000\n"}}, 2},
    {"v2, among other mounts", "0::/app\n", disk + v2 + disk, {{"v2/app/cpu.max", "200000 100000\n"}}, 2},
    {"v1", "4:memory:/m\n2:cpu:/app\n", v1,
     {{"cpu/app/cpu.cfs_quota_us", "350000\n"}, {"cpu/app/cpu.cfs_period_us", "100000\n"}}, 4},
    {"v1, none", "2:cpu:/app\n", v1, {{"cpu/app/cpu.cfs_quota_us", "-1\n"}, {"cpu/app/cpu.cfs_period_us", "100000\n"}}, 0},
    {"v1, two controllers in one mount, and cpuset is not cpu", "3:cpuset:/no\n2:cpuacct,cpu:/app\n",
     "33 31 0:31 / @/set rw - cgroup cgroup rw,cpuset\n32 31 0:30 / @/both rw - cgroup cgroup rw,cpuacct,cpu\n",
     {{"both/app/cpu.cfs_quota_us", "200000\n"}, {"both/app/cpu.cfs_period_us", "100000\n"},
      {"set/app/cpu.cfs_quota_us", "100000\n"}, {"set/app/cpu.cfs_period_us", "100000\n"}}, 2},
    {"v1, a source that is named like a controller", "2:cpu:/app\n",
     "33 31 0:31 / @/set rw - cgroup a,cpu,b rw,cpuset\n" + v1,
     {{"cpu/app/cpu.cfs_quota_us", "200000\n"}, {"cpu/app/cpu.cfs_period_us", "100000\n"},
      {"set/app/cpu.cfs_quota_us", "100000\n"}, {"set/app/cpu.cfs_period_us", "100000\n"}}, 2},
    {"v1, numbers of one byte, the least there are", "2:cpu:/app\n", v1,
     {{"cpu/app/cpu.cfs_quota_us", "1"}, {"cpu/app/cpu.cfs_period_us", "1"}}, 1},
    {"v1, the group above has less", "2:cpu:/pod/app\n", v1,
     {{"cpu/pod/cpu.cfs_quota_us", "100000\n"}, {"cpu/pod/cpu.cfs_period_us", "100000\n"},
      {"cpu/pod/app/cpu.cfs_quota_us", "800000\n"}, {"cpu/pod/app/cpu.cfs_period_us", "100000\n"}}, 1},
    {"v1, the host's path in a container: the mount's root", "2:cpu:/docker/x\n",
     "32 31 0:30 /docker/x @/cpu rw - cgroup c rw,cpu\n",
     {{"cpu/cpu.cfs_quota_us", "200000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}}, 2},
    {"both, and cpu is v1's", "2:cpu:/a\n0::/b\n", v2 + v1,
     {{"cpu/a/cpu.cfs_quota_us", "200000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}, {"v2/b/cpu.max", "100000 100000\n"}}, 2},
    {"both, and v2 stands first", "0::/b\n2:cpu:/a\n", v2 + v1,
     {{"cpu/a/cpu.cfs_quota_us", "200000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}, {"v2/b/cpu.max", "100000 100000\n"}}, 2},
    {"both, and cpu is v2's", "4:memory:/a\n0::/b\n", v2 + v1, {{"v2/b/cpu.max", "100000 100000\n"}}, 1},
    {"no mounts: the usual place of v2", "0::/app\n", "", {{"usual/app/cpu.max", "200000 100000\n"}}, 2},
    {"no mounts: the usual place of v1", "2:cpu:/app\n", disk,
     {{"usual/cpu/app/cpu.cfs_quota_us", "200000\n"}, {"usual/cpu/app/cpu.cfs_period_us", "100000\n"}}, 2},
    {"no groups", "", v2, {{"v2/cpu.max", "100000 100000\n"}}, 0},
    {"groups that are none", "what\n0:\n::\n7:cpu:relative\n\n", v2 + v1, {{"v2/cpu.max", "100000 100000\n"}}, 0},
    {"groups of no hierarchy: of v2 a number and a controller are wrong", "0:memory:/app\n3::/app\n", v2,
     {{"v2/app/cpu.max", "100000 100000\n"}}, 0},
    {"a mount without a place before a good one", "0::/app\n", "36 31 0:29 /  - cgroup2 cgroup rw\n" + v2,
     {{"v2/app/cpu.max", "300000 100000\n"}}, 3},
    {"mounts that are none", "0::/app\n",
     "36\n36 31 0:29 /\n- cgroup2\n36 31 0:29 / @/v2 rw\n\n", {{"v2/app/cpu.max", "100000 100000\n"}}, 0},
    {"a folder for a file", "0::/app\n", v2, {{"v2/app/cpu.max", "a folder"}}, 0},
    {"no number", "0::/app\n", v2, {{"v2/app/cpu.max", "two 100000\n"}}, 0},
    {"more than a number", "0::/app\n", v2, {{"v2/app/cpu.max", "200000x 100000\n"}}, 0},
    {"no period", "0::/app\n", v2, {{"v2/app/cpu.max", "200000\n"}}, 0},
    {"a period of nothing", "0::/app\n", v2, {{"v2/app/cpu.max", "200000 0\n"}}, 0},
    {"a period below nothing", "0::/app\n", v2, {{"v2/app/cpu.max", "200000 -100000\n"}}, 0},
    {"a quota below nothing", "0::/app\n", v2, {{"v2/app/cpu.max", "-200000 100000\n"}}, 0},
    {"beyond all numbers", "0::/app\n", v2, {{"v2/app/cpu.max", "99999999999999999999 1\n"}}, 0},
    {"the largest number", "0::/app\n", v2, {{"v2/app/cpu.max", "9223372036854775807 2\n"}}, 4611686018427387904ULL},
    {"garbage below a good one", "0::/pod/app\n", v2,
     {{"v2/pod/cpu.max", "300000 100000\n"}, {"v2/pod/app/cpu.max", std::string("\0\xff 1", 4)}}, 3},
};

TEST(cpu_quota, is_the_smallest_of_the_group_and_those_above_it_rounded_up) {
    for (const quota_case& c : cases) {
        const made_up_tree tree(c.groups, c.mounts, c.files);
        EXPECT_EQ(apiary::cpu_quota(tree.places()), c.quota) << c.what;
    }
}

// A view of a part of a text: what stands after it is no part of the path.
TEST(cpu_quota, takes_an_escape_for_one_if_all_of_it_is_there) {
    const std::string_view text = "\\101\\040b\\107{\\0.0\\.00";
    EXPECT_EQ(apiary::detail::unescaped(text), "A bG{\\0.0\\.00");
    EXPECT_EQ(apiary::detail::unescaped(text.substr(0, 4)), "A");
    EXPECT_EQ(apiary::detail::unescaped(text.substr(0, 3)), "\\10");
    EXPECT_EQ(apiary::detail::unescaped(text.substr(0, 2)), "\\1");
    EXPECT_EQ(apiary::detail::unescaped(text.substr(0, 1)), "\\");
}

// An earlier call was interrupted, and left its number: that says nothing of a read that comes to the end.
TEST(cpu_quota, reads_a_file_to_its_end_and_once) {
    const made_up_tree tree("0::/app\n", v2, {{"v2/app/cpu.max", "200000 100000\n"}});
    errno = EINTR;
    EXPECT_EQ(apiary::cpu_quota(tree.places()), 2U);
}

// As in a service that has closed its standard input: the first file that is opened is number 0.
TEST(cpu_quota, reads_a_file_whose_number_is_0) {
    const made_up_tree tree("0::/app\n", v2, {{"v2/app/cpu.max", "200000 100000\n"}});
    const int before = ::dup(0);
    (void)::close(0);
    const auto quota = apiary::cpu_quota(tree.places());
    if (before != -1) {
        EXPECT_EQ(::dup2(before, 0), 0);
        (void)::close(before);
    }
    EXPECT_EQ(quota, 2U);
}

TEST(cpu_quota, leaves_no_file_open) {
    const made_up_tree tree("0::/app\n", v2, {{"v2/app/cpu.max", "200000 100000\n"}});
    const auto open_files = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const auto before = open_files();
    (void)apiary::cpu_quota(tree.places());
    EXPECT_EQ(open_files(), before);
}

TEST(cpu_quota, is_none_without_any_file) {
    EXPECT_EQ(apiary::cpu_quota({"/nowhere/cgroup", "/nowhere/mountinfo", "/nowhere"}), 0U);
}

TEST(usable_processors, are_those_of_the_callers_mask) {
    cpu_set_t mask;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    const std::vector<int> all = apiary::usable_processors();
    EXPECT_EQ(all.size(), static_cast<std::size_t>(CPU_COUNT(&mask)));
    for (const int p : all) EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(p), &mask));
    std::promise<void> bound;
    std::vector<int> of_bound;
    std::thread t([&] {
        bound.get_future().wait();
        of_bound = apiary::usable_processors();
    });
    EXPECT_NO_THROW(apiary::bind_to(t, all.back()));
    bound.set_value();
    t.join();
    EXPECT_EQ(of_bound, (std::vector<int>{all.back()}));
}

TEST(usable_processors, are_those_that_a_mask_can_name_where_the_machine_has_more) {
    masks_are_too_small = true;
    const std::vector<int> all = apiary::usable_processors();
    masks_are_too_small = false;
    ASSERT_EQ(all.size(), std::thread::hardware_concurrency());
    for (std::size_t i = 0; i != all.size(); ++i) EXPECT_EQ(all[i], static_cast<int>(i));
}

TEST(default_workers, are_as_many_as_the_quota_lets_run_and_no_more_than_there_are_processors) {
    const auto usable = static_cast<unsigned>(apiary::usable_processors().size());
    const auto with = [](const std::string& max) {
        const made_up_tree tree("0::/app\n", v2, {{"v2/app/cpu.max", max}});
        return apiary::default_workers(tree.places());
    };
    EXPECT_EQ(with("max 100000\n"), usable);
    EXPECT_EQ(with("1000 100000\n"), 1U);
    EXPECT_EQ(with("99900000 100000\n"), usable) << "more than there are";
    EXPECT_EQ(with("9223372036854775807 1\n"), usable);
    EXPECT_GE(apiary::default_workers(), 1U);
    EXPECT_LE(apiary::default_workers(), usable);
}

}  // namespace
}  // namespace cpu_quota_test
