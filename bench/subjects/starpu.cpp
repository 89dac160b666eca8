// Subject `starpu`: StarPU on N processor workers, its default scheduler. Tasks without data; a task is told which
// tasks it depends on before it is submitted, and runs as soon as they have ended, while others are still submitted.
// The main thread submits and waits; it is none of the N.
//
// Most of its users declare dependencies by data handles, which would register a handle for each task.
#include <starpu.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/list.hpp"

namespace {

class star_pu {
public:
    static constexpr std::string_view name = "starpu";
    static std::string version() {
        return std::to_string(STARPU_MAJOR_VERSION) + "." + std::to_string(STARPU_MINOR_VERSION) + "." +
               std::to_string(STARPU_RELEASE_VERSION);
    }

    explicit star_pu(unsigned workers) {
        starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = static_cast<int>(workers);
        conf.ncuda = 0;
        conf.nopencl = 0;
        if (starpu_init(&conf) != 0) throw std::runtime_error("starpu_init failed");
        if (starpu_cpu_worker_get_count() != workers) {
            starpu_shutdown();
            throw apiary::bench::unsupported_here("StarPU gives " + std::to_string(usable()) +
                                                  " workers here, a processor each");
        }
    }
    ~star_pu() { starpu_shutdown(); }
    star_pu(const star_pu&) = delete;
    star_pu& operator=(const star_pu&) = delete;

    class submitter {
    public:
        template <class F>
        void submit(std::uint64_t, std::span<const std::uint64_t> producers, F task) {
            starpu_task* const mine = starpu_task_create();
            mine->cl = codelet_of<F>();
            mine->cl_arg = new F(task);
            mine->destroy = 0;  // its consumers name it
            needed_.clear();
            for (const std::uint64_t producer : producers) needed_.push_back(tasks_[producer]);
            if (!needed_.empty())
                starpu_task_declare_deps_array(mine, static_cast<unsigned>(needed_.size()), needed_.data());
            tasks_.push_back(mine);
            if (starpu_task_submit(mine) != 0) throw std::runtime_error("starpu_task_submit failed");
        }

        void wait() {
            starpu_task_wait_for_all();
            for (starpu_task* const one : tasks_) starpu_task_destroy(one);
        }

    private:
        template <class F>
        static void run(void**, void* argument) {
            F* const task = static_cast<F*>(argument);
            (*task)();
            delete task;
        }

        template <class F>
        static starpu_codelet* codelet_of() {
            static starpu_codelet made = [] {
                starpu_codelet one;
                starpu_codelet_init(&one);
                one.cpu_funcs[0] = &run<F>;
                one.nbuffers = 0;
                return one;
            }();
            return &made;
        }

        std::vector<starpu_task*> tasks_, needed_;
    };

    template <class Build>
    void graph(std::uint64_t, Build build) {
        submitter all;
        build(all);
        all.wait();
    }

private:
    static unsigned usable() { return apiary::bench::usable_processors(); }
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<star_pu>(argc, argv); }
