// Data-parallel training: a rank a SIP, a host thread a rank, and the memory of a recorded step, again and again.
#include "experiments/experiment_dma.hpp"
#include "experiments/training_step.hpp"

#include "tlmalloc/kernel.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>

namespace tlmalloc {

namespace {

enum figure {
    figure_tokens,
    figure_step,
    figure_host,
    figure_driver,
    figure_not_waiting,
    figure_driver_calls,
    figure_lock_waits,
    figure_values,
    figure_count
};

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// Part k of n parts of `whole` that are as equal as whole picoseconds can be, and together are the whole.
std::uint64_t part(std::uint64_t whole, std::size_t k, std::size_t n) {
    const auto until = [&](std::size_t i) { return whole / n * i + whole % n * i / n; };
    return until(k + 1) - until(k);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15u + b;
    x ^= x >> 29;
    return x * 0xbf58476d1ce4e5b9u ^ x >> 32;
}

// The time of a step's calls in the driver, without contention.
std::uint64_t driver_ps(const tla_config &config, const training_step &step) {
    return step.allocs * config.host.driver.alloc_ps + step.frees * config.host.driver.free_ps;
}

struct block {
    shard memory;
    std::uint64_t value; // the value that the device writes there
};

// An operation of the device: it writes a block, or (take: the block is freed) reads it for the last time.
struct operation {
    block on;
    std::uint64_t takes_ps, ready_ps; // ready_ps: the driver's part is done
    bool take;
};

// One rank: the thread of the host that launches, and the queue of its device.
struct rank {
    pe_unit *pe = nullptr;
    std::uint64_t number = 0;
    std::vector<block> opening, last, now; // by slot
    std::deque<operation> queue;
    sc_core::sc_event given, done;
    bool busy = false;
    std::uint64_t written = 0, sum = 0; // values made so far; the values that the device has read, folded

    bool idle() const { return queue.empty() && !busy; }
};

// Sums a gradient of ones over the ranks by the platform's collective, and stores the first element of its last part,
// which each rank receives last. Arguments: the tensor for these elements, elements.
tla_status sum_gradient(tl_context *tl) {
    const auto columns = static_cast<std::uint32_t>(tl_argument(tl, 1));
    tl_world world{};
    if (const tla_status status = tl_world_init(tl, &world)) return status;
    tl_tile tiles[2] = {{{}, 1, columns, TL_F32, 0}, {{}, 1, tl_room(&world, columns), TL_F32, 0}};
    tla_status status = tl_alloc_tiles(tl, tiles, 2);
    if (status) return status;
    status = tl_fill(tl, &tiles[0], 1);
    if (!status) status = tl_all_reduce(tl, &world, &tiles[0], &tiles[1]);
    const tl_tile seen = tl_view(tl, &tiles[0], 0, columns - 1, 1, 1);
    if (!status) status = tl_store(tl, {tl_argument(tl, 0) + world.rank * sizeof(float)}, sizeof(float), &seen);
    return tl_free_tiles(tl, tiles, 2, status);
}

const tl_kernel kernels[] = {sum_gradient};

class training_run : public platform_run {
  public:
    training_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {kernels, 1}), p_(p), config_(config), ranks_(config.system.sips),
          memories_((std::string(name) + "_memories").c_str(), ranks_.size()) {
        const std::size_t each = platform_.pes().size() / ranks_.size();
        for (std::size_t i = 0; i < ranks_.size(); i++) {
            ranks_[i].number = i;
            ranks_[i].pe = platform_.pes()[i * each];
            memories_.to[i].bind(ranks_[i].pe->controller.in);
        }
        if (host_driver *of_host = platform_.host().driver())
            of_host->wait_for_device = [this](std::uint32_t sip) {
                while (!ranks_[sip].idle())
                    sc_core::wait(ranks_[sip].done);
            };
        platform_.host().main = [this] {
            tla_status status = run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

  private:
    struct memory_ports : sc_core::sc_module {
        memory_ports(sc_core::sc_module_name name, std::size_t count) : sc_module(name) {
            for (std::size_t i = 0; i < count; i++)
                to.emplace_back(("to" + std::to_string(i)).c_str());
        }
        std::deque<tlm_utils::simple_initiator_socket<memory_ports>> to; // of each rank
    };

    // ---- the device: its operations, in order ----

    void serve_queue(rank &r) {
        for (;;) {
            while (r.queue.empty())
                sc_core::wait(r.given);
            operation o = r.queue.front();
            r.queue.pop_front();
            r.busy = true;
            if (o.ready_ps > now_ps()) sc_core::wait(from_ps(o.ready_ps - now_ps()));
            if (o.takes_ps > 0) sc_core::wait(from_ps(o.takes_ps));
            if (o.take)
                read(r, o.on);
            else
                write(r, o.on);
            r.busy = false;
            r.done.notify(sc_core::SC_ZERO_TIME);
        }
    }

    // Write and read the first and last bytes of a block by debug accesses, because the bytes must cost no time of
    // their own.
    void write(rank &r, const block &b) {
        for (const std::uint64_t at : ends_of(b)) {
            std::uint64_t value = b.value;
            if (access(r, tlm::TLM_WRITE_COMMAND, b, at, &value)) return;
        }
    }

    void read(rank &r, const block &b) {
        const std::uint64_t count = std::min<std::uint64_t>(sizeof b.value, b.memory.nbytes);
        for (const std::uint64_t at : ends_of(b)) {
            std::uint64_t value = 0;
            if (access(r, tlm::TLM_READ_COMMAND, b, at, &value)) return;
            if (std::memcmp(&value, &b.value, count) != 0)
                tla_error_set(&failure_, TLA_WRONG_RESULT,
                              "rank %llu: a block of %llu bytes does not hold the bytes that were written to it",
                              static_cast<unsigned long long>(r.number),
                              static_cast<unsigned long long>(b.memory.nbytes));
            r.sum = mix(r.sum ^ value, b.memory.nbytes);
        }
    }

    static std::vector<std::uint64_t> ends_of(const block &b) {
        const std::uint64_t word = sizeof b.value, nbytes = b.memory.nbytes;
        if (nbytes < 2 * word) return {0};
        return {0, nbytes - word};
    }

    tla_status access(rank &r, tlm::tlm_command command, const block &b, std::uint64_t at, std::uint64_t *value) {
        tlm::tlm_generic_payload payload;
        const auto count = static_cast<unsigned>(std::min<std::uint64_t>(sizeof *value, b.memory.nbytes));
        payload.set_command(command);
        payload.set_address(b.memory.pa.value + at);
        payload.set_data_ptr(reinterpret_cast<std::uint8_t *>(value));
        payload.set_data_length(count);
        payload.set_streaming_width(count);
        if (memories_.to[r.number]->transport_dbg(payload) == count) return TLA_OK;
        return tla_error_set(&failure_, TLA_BUS_ERROR, "rank %llu: no memory at 0x%llx",
                             static_cast<unsigned long long>(r.number),
                             static_cast<unsigned long long>(b.memory.pa.value));
    }

    // ---- the host: a thread for each rank ----

    std::vector<block> &blocks(rank &r, training_step::kept where) {
        return where == training_step::kept::opening ? r.opening : where == training_step::kept::last ? r.last : r.now;
    }

    void give(rank &r, const block &b, std::uint64_t takes_ps, bool take) {
        host_driver *const of_host = platform_.host().driver();
        r.queue.push_back({b, takes_ps, of_host ? of_host->ready_ps(r.pe->where.sip) : 0, take});
        r.given.notify(sc_core::SC_ZERO_TIME);
    }

    // An alloc, of which an operation of the device follows: launch_ps on the host, compute_ps on the device; or a
    // free.
    tla_status play(rank &r, const training_step::event &e, std::uint64_t launch_ps, std::uint64_t compute_ps) {
        block &b = blocks(r, e.where)[e.slot];
        if (e.is_free) {
            give(r, b, 0, true);
            return platform_.host().release(b.memory, &failure_);
        }
        if (const tla_status status = platform_.host().allocate(r.pe->where, TLA_HBM, e.nbytes, &b.memory, &failure_))
            return status;
        b.value = mix(r.number + 1, ++r.written);
        if (launch_ps > 0) sc_core::wait(from_ps(launch_ps));
        give(r, b, compute_ps, false);
        return TLA_OK;
    }

    tla_status play_step(rank &r) {
        std::size_t launched = 0;
        for (const training_step::event &e : step_.step) {
            const std::size_t k = launched;
            launched += !e.is_free;
            const tla_status status = play(r, e, e.is_free ? 0 : part(launch_ps_, k, step_.allocs),
                                           e.is_free ? 0 : part(p_.at("compute"), k, step_.allocs));
            if (status || failure_.status) return failure_.status;
        }
        while (!r.idle())
            sc_core::wait(r.done);
        std::swap(r.last, r.now);
        return failure_.status;
    }

    // All ranks are here: then the gradients are reduced, where there are several.
    tla_status meet() {
        if (++here_ == ranks_.size()) {
            if (ranks_.size() > 1) reduce();
            here_ = 0;
            meetings_++;
            all_here_.notify(sc_core::SC_ZERO_TIME);
        } else {
            for (const std::uint64_t meeting = meetings_; meeting == meetings_;)
                sc_core::wait(all_here_);
        }
        return failure_.status;
    }

    void reduce() {
        const std::uint64_t ps = p_.at("all_reduce_fixed") + 2 * (ranks_.size() - 1) * p_.at("all_reduce_step");
        if (ps > 0) sc_core::wait(from_ps(ps));
        if (!sums_ || platform_.host().launch(0, {sums_->va.value, p_.at("gradient") / sizeof(float)}, &failure_))
            return;
        std::vector<float> sums(ranks_.size());
        if (platform_.host().read_tensor(*sums_, reinterpret_cast<std::uint8_t *>(sums.data()), &failure_)) return;
        for (const float sum : sums)
            if (sum != static_cast<float>(ranks_.size()))
                tla_error_set(&failure_, TLA_WRONG_RESULT, "a sum of ones over %zu ranks is %g", ranks_.size(),
                              static_cast<double>(sum));
    }

    void train(rank &r) {
        for (const training_step::event &e : step_.opening)
            if (play(r, e, 0, 0) || failure_.status) return;
        for (std::uint64_t i = 0; i < p_.at("warm_up") + p_.at("steps"); i++) {
            if (i == p_.at("warm_up")) look(begin_);
            if (play_step(r) || meet()) return;
        }
        look(end_);
        give_everything_back(r);
    }

    void give_everything_back(rank &r) {
        for (const training_step::event &e : step_.living)
            if (platform_.host().release(blocks(r, e.where)[e.slot].memory, &failure_)) return;
    }

    // ---- measurements ----

    struct counts {
        std::uint64_t at_ps = never, calls = 0, waits = 0, waited_ps = 0, busy_ps = 0;
    };

    // Every rank calls this when all have met, at one time; the first rank measures, before any rank continues.
    void look(counts &all) {
        if (all.at_ps != never) return;
        all.at_ps = now_ps();
        const host_driver *const of_host = platform_.host().driver();
        for (const rank &r : ranks_) {
            if (!of_host) return;
            const tla_host_driver_stats s = of_host->get_statistics(r.pe->where.sip);
            all.calls += s.allocs + s.frees;
            all.waits += s.waits;
            all.waited_ps += s.waited_ps;
            all.busy_ps += s.busy_ps;
        }
    }

    tla_status run() {
        if (const tla_status status =
                load_training_step(p_.files.at("trace"), p_.at("first"), p_.at("calls"), step_, &failure_))
            return status;
        launch_ps_ = p_.at("alone") - driver_ps(config_, step_);
        if (p_.at("gradient") > 0)
            if (const tla_status status = platform_.host().create_tensor("sums", ranks_.size() * sizeof(float), 1,
                                                                         {{{0, 0, 0}}}, &sums_, &failure_))
                return status;
        running_ = ranks_.size();
        for (rank &r : ranks_) {
            r.opening.resize(step_.opening_slots);
            r.last.resize(step_.step.size());
            r.now.resize(step_.step.size());
            sc_core::sc_spawn([this, &r] { serve_queue(r); });
            sc_core::sc_spawn([this, &r] {
                train(r);
                running_--;
                ended_.notify(sc_core::SC_ZERO_TIME);
            });
        }
        while (running_ > 0 && !failure_.status)
            sc_core::wait(ended_);
        if (failure_.status) return failure_.status;
        tell();
        return TLA_OK;
    }

    void tell() {
        const auto steps = static_cast<double>(p_.at("steps")), n = static_cast<double>(ranks_.size());
        const double step_ps = static_cast<double>(end_.at_ps - begin_.at_ps) / steps;
        const auto each = [&](std::uint64_t from, std::uint64_t to) { return static_cast<double>(to - from) / steps; };
        std::uint64_t sum = 0;
        for (const rank &r : ranks_)
            sum = mix(sum, r.sum);
        results_.assign(figure_count, 0);
        results_[figure_tokens] = n * static_cast<double>(p_.at("tokens")) / step_ps * 1e12;
        results_[figure_step] = step_ps / 1e9;
        results_[figure_host] = static_cast<double>(launch_ps_) / 1e9;
        results_[figure_driver] = each(begin_.busy_ps, end_.busy_ps) / n / 1e9;
        results_[figure_not_waiting] = n - each(begin_.waited_ps, end_.waited_ps) / step_ps;
        results_[figure_driver_calls] = each(begin_.calls, end_.calls) / n;
        results_[figure_lock_waits] = each(begin_.waits, end_.waits) / n;
        results_[figure_values] = static_cast<double>(sum % 1000000000);
    }

    const experiment_parameters p_;
    const tla_config config_;
    training_step step_;
    std::uint64_t launch_ps_ = 0; // of the host in a step, beside the driver
    tensor *sums_ = nullptr;      // or null: no gradient moves
    std::deque<rank> ranks_;
    memory_ports memories_;
    std::size_t here_ = 0;
    std::uint64_t meetings_ = 0;
    sc_core::sc_event all_here_, ended_;
    std::size_t running_ = 0; // ranks
    counts begin_, end_;
};

tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
    training_step step;
    if (const tla_status status = load_training_step(p.files.at("trace"), p.at("first"), p.at("calls"), step, error))
        return status;
    if (p.at("steps") == 0 || p.at("warm_up") == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "warm_up is %llu and steps is %llu: each must be at least 1",
                             static_cast<unsigned long long>(p.at("warm_up")),
                             static_cast<unsigned long long>(p.at("steps")));
    const std::uint64_t in_driver = driver_ps(config, step);
    if (p.at("alone") >= in_driver) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "alone is %.3f ms, less than the driver needs for the %zu calls of a step, %.3f ms",
                         static_cast<double>(p.at("alone")) / 1e9, step.step.size(),
                         static_cast<double>(in_driver) / 1e9);
}

} // namespace

experiment_workload training() {
    return {"training",
            {{"trace", TLA_VALUE_TEXT},
             {"first", TLA_VALUE_COUNT},
             {"calls", TLA_VALUE_COUNT},
             {"warm_up", TLA_VALUE_COUNT},
             {"steps", TLA_VALUE_COUNT},
             {"tokens", TLA_VALUE_COUNT},
             {"alone", TLA_VALUE_TIME},
             {"compute", TLA_VALUE_TIME},
             {"all_reduce_fixed", TLA_VALUE_TIME},
             {"all_reduce_step", TLA_VALUE_TIME},
             {"gradient", TLA_VALUE_SIZE}},
            {"tokens_per_s", "step", "host", "driver", "not_waiting", "driver_calls", "lock_waits", "values"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<training_run>(name, config, p));
            },
            check};
}

} // namespace tlmalloc
