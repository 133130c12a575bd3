// Requests that reach one input at one time behind a foreign bus that waits: they are taken in the order of their
// initiators' names, whichever thread wakes first. Beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "plain_event_model.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <tlm_utils/multi_passthrough_target_socket.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

// Everything takes a multiple of 1 ns, so that many requests have the same time.
const std::uint64_t burst = 256, capacity = 1 << 20, grid_ps = 1000, channel_count = 2;
const std::uint64_t dma_bandwidth = 256'000'000'000, channel_bandwidth = 64'000'000'000, slice_latency_ps = 3000;
const std::uint64_t first_start_ps = 1'000'000, apart_ps = 5'000'000;

struct access {
    std::uint64_t offset, nbytes, pause_ps; // after the end of the one before
    std::uint64_t end_ps = 0;
};

struct initiator_program {
    std::string name; // of the module
    bool dma;
    std::uint32_t outstanding;
    std::vector<access> accesses; // one after the other
};

struct scenario {
    bool serial; // the bus passes one request at a time, in the order of the calls
    std::uint64_t there_ps, back_ps;
    std::vector<initiator_program> initiators;
};

// What the bus takes for a request, there.
std::uint64_t passage_ps(const scenario &s, std::uint64_t address) {
    return s.there_ps + (s.serial ? 0 : address / burst % 3 * grid_ps);
}

// --- the modules -----------------------------------------------------------------------------------------------------

struct waiting_bus : sc_core::sc_module {
    tlm_utils::multi_passthrough_target_socket<waiting_bus> in{"in"};
    tlm_utils::simple_initiator_socket<waiting_bus> out{"out"};
    waiting_bus(sc_core::sc_module_name name, const scenario &s) : sc_module(name), how(s) {
        in.register_b_transport(this, &waiting_bus::b_transport);
    }
    void b_transport(int, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        sc_core::wait(delay);
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp()), start = how.serial ? std::max(now, free_ps) : now;
        free_ps = start + passage_ps(how, payload.get_address());
        sc_core::wait(from_ps(free_ps - now));
        delay = sc_core::SC_ZERO_TIME;
        out->b_transport(payload, delay);
        sc_core::wait(delay + from_ps(how.back_ps));
        delay = sc_core::SC_ZERO_TIME;
    }
    const scenario &how;
    std::uint64_t free_ps = 0;
};

struct foreign_cpu : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<foreign_cpu> out{"out"};
    foreign_cpu(sc_core::sc_module_name name, std::vector<access> &what, std::uint64_t start)
        : sc_module(name), program(what), start_ps(start) {
        TLMALLOC_HAS_PROCESS(foreign_cpu);
        SC_THREAD(run);
    }
    void run() {
        sc_core::wait(from_ps(start_ps));
        for (access &a : program) {
            sc_core::wait(from_ps(a.pause_ps));
            bytes data(a.nbytes);
            tlm::tlm_generic_payload payload;
            payload.set_read();
            payload.set_address(a.offset);
            payload.set_data_ptr(data.data());
            payload.set_data_length(static_cast<unsigned>(a.nbytes));
            payload.set_streaming_width(static_cast<unsigned>(a.nbytes));
            sc_core::sc_time delay;
            out->b_transport(payload, delay);
            BOOST_REQUIRE_EQUAL(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
            a.end_ps = local_ps(delay);
        }
    }
    std::vector<access> &program;
    const std::uint64_t start_ps;
};

struct dma_engine : sc_core::sc_module {
    pe_dma dma;
    tcm local;
    dma_engine(sc_core::sc_module_name name, initiator_program &what, std::uint64_t start)
        : sc_module(name), dma("dma", dma_config(what)), local("tcm", tcm_config()), program(what.accesses),
          start_ps(start) {
        TLMALLOC_HAS_PROCESS(dma_engine);
        SC_THREAD(run);
        dma.local.bind(local.in);
    }
    static pe_dma::config dma_config(const initiator_program &what) {
        pe_dma::config c = bare<pe_dma>();
        c.chunk = burst;
        c.bandwidth = dma_bandwidth;
        c.outstanding = what.outstanding;
        return c;
    }
    static tcm::config tcm_config() {
        tcm::config c = bare<tcm>();
        c.capacity = capacity;
        c.read_bandwidth = c.write_bandwidth = dma_bandwidth;
        return c;
    }
    void run() {
        sc_core::wait(from_ps(start_ps));
        for (access &a : program) {
            sc_core::wait(from_ps(a.pause_ps));
            sc_core::sc_time delay;
            const pe_dma::request what{pe_dma::direction::read, {a.offset}, {0}, 1, a.nbytes, a.nbytes};
            BOOST_REQUIRE_EQUAL(dma.transfer(what, delay), TLA_OK);
            sc_core::wait(delay);
            a.end_ps = to_ps(sc_core::sc_time_stamp());
        }
    }
    std::vector<access> &program;
    const std::uint64_t start_ps;
};

// The initiators are built in an order of their own.
struct bench : sc_core::sc_module {
    bench(sc_core::sc_module_name name, scenario &s, std::uint64_t start_ps, std::mt19937 &random)
        : sc_module(name), bus("bus", s), slice("slice", slice_config()) {
        bus.out.bind(slice.in);
        std::vector<initiator_program *> order;
        for (initiator_program &p : s.initiators)
            order.push_back(&p);
        std::shuffle(order.begin(), order.end(), random);
        for (initiator_program *p : order) {
            if (p->dma)
                engines.emplace_back(p->name.c_str(), *p, start_ps).dma.out.bind(bus.in);
            else
                cpus.emplace_back(p->name.c_str(), p->accesses, start_ps).out.bind(bus.in);
        }
    }
    static hbm_slice::config slice_config() {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = capacity;
        c.pseudo_channels = channel_count;
        c.pseudo_channel_bandwidth = channel_bandwidth;
        c.latency_ps = slice_latency_ps;
        return c;
    }
    waiting_bus bus;
    hbm_slice slice;
    std::deque<foreign_cpu> cpus;
    std::deque<dma_engine> engines;
};

std::uint64_t start_of(std::size_t number) {
    return first_start_ps + number * apart_ps;
}

void run_modules(std::vector<scenario> &scenarios, unsigned seed, std::uint64_t quantum_ps) {
    std::mt19937 random(seed);
    std::deque<bench> benches;
    for (std::size_t i = 0; i < scenarios.size(); i++)
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), scenarios[i], start_of(i), random);
    time_queue::of_simulation().allow_quantum(quantum_ps);
    const std::uint64_t end_ps = start_of(scenarios.size());
    for (unsigned i = 0; i < 3; i++) // others in the kernel's queue, which change in which order it wakes threads
        sc_core::sc_spawn([&random, end_ps] {
            while (to_ps(sc_core::sc_time_stamp()) < end_ps)
                sc_core::wait(from_ps((1 + random() % 40) * grid_ps));
        });
    sc_core::sc_start();
}

// --- the plain model -------------------------------------------------------------------------------------------------

// Who makes the calls: an engine's are known by its socket, a thread's by the thread.
std::string caller_of(const initiator_program &p) {
    return p.name + (p.dma ? ".dma.out" : ".run");
}

void run_plain(scenario &s, std::uint64_t start_ps) {
    using namespace plain;
    enum : unsigned { arrivals, memory_arrivals, tcm_arrivals, answers, issues = 1000, threads = 1'000'000 };
    std::vector<std::string> names;
    for (const initiator_program &p : s.initiators)
        names.push_back(caller_of(p));
    std::sort(names.begin(), names.end());
    events e;
    channels slice{memory_arrivals, burst, channel_bandwidth, slice_latency_ps, std::vector<server>(channel_count)};
    picoseconds bus_free = 0;
    // From a thread, in its turn among those that are due at this time.
    const auto call = [&](unsigned rank, std::uint64_t offset, std::uint64_t nbytes, picoseconds time, arrived done) {
        e.at(time, threads, rank, [=, &e, &s, &slice, &bus_free](picoseconds now) {
            const picoseconds begin = s.serial ? std::max(now, bus_free) : now;
            bus_free = begin + passage_ps(s, offset);
            e.at(bus_free, arrivals, rank, [=, &e, &s, &slice](picoseconds there) {
                slice.access(e, false, offset, nbytes, there, [=, &s](picoseconds end) { done(end + s.back_ps); });
            });
        });
    };
    std::deque<dma> engines;
    std::deque<server> tcms(s.initiators.size());
    std::vector<unsigned> calls(s.initiators.size());
    std::vector<std::function<void(std::size_t, picoseconds)>> next(s.initiators.size());
    for (unsigned i = 0; i < s.initiators.size(); i++) {
        initiator_program &p = s.initiators[i];
        const auto rank = static_cast<unsigned>(std::find(names.begin(), names.end(), caller_of(p)) - names.begin());
        const auto finished = [&, i](std::size_t n, picoseconds end) {
            s.initiators[i].accesses[n].end_ps = end;
            next[i](n + 1, end);
        };
        const auto move = [&, i, rank](const dma::piece &c, picoseconds time, arrived done) {
            const unsigned number = calls[i]++; // of one time an engine takes the answers in the order of its calls
            call(rank, c.va, c.nbytes, time, [=, &e, &tcms](picoseconds out) {
                e.at(out, answers + i, number, [=, &e, &tcms](picoseconds answered) {
                    e.at(answered, tcm_arrivals, i, [=, &tcms](picoseconds at) {
                        const picoseconds takes = bytes_at(c.nbytes, dma_bandwidth);
                        done(tcms[i].serve(at, takes) + takes);
                    });
                });
            });
        };
        engines.emplace_back(e, issues + i, burst, dma_bandwidth, p.outstanding, move);
        next[i] = [&, i, rank, finished](std::size_t n, picoseconds time) {
            const initiator_program &mine = s.initiators[i];
            if (n == mine.accesses.size()) return;
            const access &a = mine.accesses[n];
            const picoseconds start = time + a.pause_ps;
            const arrived done = [=](picoseconds end) { finished(n, end); };
            if (mine.dma)
                engines[i].transfer({a.offset, 0, 1, a.nbytes, a.nbytes}, start, done);
            else
                call(rank, a.offset, a.nbytes, start, done);
        };
        next[i](0, start_ps);
    }
    e.run();
}

// --- both ------------------------------------------------------------------------------------------------------------

scenario random_scenario(std::mt19937 &generator) {
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    scenario s{random() % 2 == 0, (1 + random() % 5) * grid_ps, random() % 3 * grid_ps, {}};
    const unsigned count = 2 + random() % 11;
    for (unsigned i = 0; i < count; i++) {
        // Which foreign thread calls a foreign bus first is their affair: a serial bus has engines only.
        initiator_program p{"", s.serial || random() % 2 == 0, 1 + random() % 4, {}};
        p.name = (p.dma ? "engine" : "cpu") + std::to_string(i);
        for (unsigned n = 1 + random() % 4; n > 0; n--) {
            const std::uint64_t bursts = 1 + random() % (p.dma ? 8 : 2);
            p.accesses.push_back({random() % 1000 * burst, bursts * burst, random() % 6 * grid_ps});
        }
        s.initiators.push_back(std::move(p));
    }
    return s;
}

void compare(unsigned seed, unsigned count, std::uint64_t quantum_ps) {
    std::mt19937 random(seed);
    std::vector<scenario> scenarios;
    for (unsigned i = 0; i < count; i++)
        scenarios.push_back(random_scenario(random));
    std::vector<scenario> expected = scenarios;
    for (std::size_t i = 0; i < count; i++)
        run_plain(expected[i], start_of(i));
    run_modules(scenarios, seed, quantum_ps);
    std::uint64_t accesses = 0, differ = 0;
    for (std::size_t i = 0; i < count; i++)
        for (std::size_t who = 0; who < scenarios[i].initiators.size(); who++)
            for (std::size_t n = 0; n < scenarios[i].initiators[who].accesses.size(); n++, accesses++) {
                const std::uint64_t ours = scenarios[i].initiators[who].accesses[n].end_ps,
                                    theirs = expected[i].initiators[who].accesses[n].end_ps;
                BOOST_CHECK_MESSAGE(ours == theirs || differ > 10,
                                    "scenario " << i << (scenarios[i].serial ? " (serial)" : "") << ", "
                                                << scenarios[i].initiators[who].name << ", access " << n
                                                << ": ended at " << ours - start_of(i) << ", should "
                                                << theirs - start_of(i));
                differ += ours != theirs;
                BOOST_REQUIRE_LT(theirs, start_of(i + 1));
            }
    BOOST_TEST_MESSAGE(accesses << " accesses, " << differ << " differ");
    BOOST_CHECK_EQUAL(differ, 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_bus_forwards_requests_of_one_time_in_the_order_of_their_initiators_names) {
    compare(1, 1000, 0);
}

BOOST_AUTO_TEST_CASE(a_bus_keeps_this_order_with_a_quantum_and_another_construction_order) {
    compare(2, 1000, 1'000'000);
}
