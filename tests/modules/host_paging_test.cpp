// Demand paging by the host module: page faults of several MMUs that the host serves one at a time, by an ALLOC of its
// memory's controller and a MAP of the VA manager. When each access is answered, with which bytes or which error, and
// how many faults come, beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "plain_paging.hpp"
#include "tlmalloc/modules/host.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <random>

namespace {

using namespace scenarios;

// A tensor on demand, and a page that belongs to none.
const std::uint64_t first_page = 256, tensor_pages = 8, pages = tensor_pages + 1;
const unsigned mmus = 3;

struct scenario {
    paging_mmu::settings mmu;
    std::uint64_t fault_ps, alloc_ps, frames; // of a fault, of an ALLOC; frames: the host has
    tla_host_pool pool;                       // keeps nothing for page faults
    std::vector<memory_access> accesses;      // of MMU i % mmus
    std::uint64_t faults = 0, refusals = 0;
};

// --- the modules -----------------------------------------------------------------------------------------------------

tla_paddr control_of(unsigned pe) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_PE_MMU, 0, &pa), TLA_OK);
    return pa;
}
tla_paddr memory_at(bool control) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(control ? tla_paddr_host_memory_control(0, &pa) : tla_paddr_host_memory(0, &pa), TLA_OK);
    return pa;
}

// Everything hangs on one node of the fabric, so that the fabric takes no time.
struct bench : sc_core::sc_module {
    bench(sc_core::sc_module_name name, scenario &of)
        : sc_module(name), s(of), h("host", host_config()), va("va", va_config()),
          memory("memory", slice_config(s.frames * page, s.mmu.latency_ps)),
          controller("controller", controller_config()), fabric("fabric", fabric_config()) {
        for (unsigned m = 0; m < mmus; m++) {
            pe_mmu::config c = mmu_config(s.mmu.how, s.mmu.level_ps);
            c.unmapped = TLA_UNMAPPED_DEMAND;
            c.fault_patience_ps = s.mmu.patience_ps;
            c.cost.fixed_ps = s.mmu.map_ps;
            mmu.push_back(std::make_unique<pe_mmu>(("mmu" + std::to_string(m)).c_str(), c));
            cpu.push_back(std::make_unique<socket>(("cpu" + std::to_string(m)).c_str()));
            cpu[m]->bind(mmu[m]->in);
            mmu[m]->fault.bind(h.faults);
        }
        h.va.bind(va.control);
        controller.host_memory.bind(memory.in);
        h.out.bind(fabric.in);
        va.out.bind(fabric.in);
        for (auto &m : mmu)
            m->out.bind(fabric.in);
        fabric.out.bind(controller.in);
        fabric.out.bind(controller.control);
        for (auto &m : mmu)
            fabric.out.bind(m->control);
        h.main = [this] {
            tensor *made = nullptr;
            tla_error error{};
            host::sharding where{h.everywhere().pes, spread::demand, TLA_HOST_MEMORY};
            BOOST_REQUIRE_EQUAL(h.create_tensor("t", tensor_pages * page, 1, where, &made, &error), TLA_OK);
            BOOST_REQUIRE_EQUAL(made->va.value, first_page * page);
        };
    }
    host::config host_config() const {
        host::config c = bare<host>();
        for (unsigned m = 0; m < mmus; m++)
            c.pes.push_back({0, 0, m});
        c.page_size = page;
        c.fault_latency_ps = s.fault_ps;
        c.memory = s.frames * page;
        c.pool = s.pool;
        return c;
    }
    static va_manager::config va_config() {
        va_manager::config c = bare<va_manager>();
        c.space.page_size = page;
        c.space.base = {first_page * page};
        c.space.nbytes = 64 * page;
        for (unsigned m = 0; m < mmus; m++)
            c.routes.push_back({control_of(m).value, {1, 1, 1u << m}});
        return c;
    }
    memory_controller::config controller_config() const {
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_HBM].bytes = c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.memory.of[TLA_HOST_MEMORY].bytes = s.frames * page;
        c.cost.fixed_ps = s.alloc_ps;
        return c;
    }
    interconnect::config fabric_config() const {
        interconnect::config c = bare<interconnect>();
        c.nodes.resize(1);
        c.sources.assign(2 + mmus, 0);
        c.targets.assign(2 + mmus, 0);
        c.windows.push_back({memory_at(false).value, s.frames * page, 0, false});
        c.windows.push_back({memory_at(true).value, TLA_CONTROL_BLOCK_BYTES, 1, true});
        for (unsigned m = 0; m < mmus; m++)
            c.windows.push_back({control_of(m).value, TLA_CONTROL_BLOCK_BYTES, 2 + m, true});
        return c;
    }
    void prepare() {
        bytes all(s.frames * page);
        for (std::size_t i = 0; i < all.size(); i++)
            all[i] = fill_byte(i);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(memory_at(false).value);
        payload.set_data_ptr(all.data());
        payload.set_data_length(static_cast<unsigned>(all.size()));
        BOOST_REQUIRE_EQUAL(h.out->transport_dbg(payload), all.size());
    }

    using socket = tlm_utils::simple_initiator_socket<bench>;
    scenario &s;
    host h;
    va_manager va;
    hbm_slice memory;
    memory_controller controller;
    interconnect fabric;
    std::vector<std::unique_ptr<pe_mmu>> mmu;
    std::vector<std::unique_ptr<socket>> cpu;
};

void run_modules(std::vector<scenario> &all) {
    std::deque<bench> benches;
    for (scenario &s : all)
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), s);
    sc_core::sc_spawn([&] {
        for (bench &b : benches)
            b.prepare();
    });
    spawn_threads(all, "access", &scenario::accesses, [&](std::size_t i, std::size_t number) {
        make(*benches[i].cpu[number % mmus]->operator->(), all[i].accesses[number], number);
    });
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING); // refusals are expected
    sc_core::sc_start();
    for (std::size_t i = 0; i < all.size(); i++)
        for (const auto &m : benches[i].mmu)
            all[i].faults += m->get_statistics().demand_faults;
}

// --- the plain model -------------------------------------------------------------------------------------------------

// Resources in the order of time's ties: threads that are due (accesses), the memory, the MMUs; then what threads do
// that these wake: the host, whose command is done, questions to it; its answers and commands.
enum { threads = 0, memory_resource, first_mmu, completions = first_mmu + mmus, questions, answers, commands };

class plain_run {
  public:
    plain_run(scenario &s, std::uint64_t start_ps)
        : s_(s), memory_(memory_resource, s.frames * page, s.mmu.latency_ps) {
        for (unsigned m = 0; m < mmus; m++) {
            pes_.emplace_back(e_, first_mmu + m, s.mmu, memory_);
            pes_.back().ask = [=](const paging_mmu::asker_ptr &asks, plain::picoseconds time) {
                e_.at(time, questions, m, [=](plain::picoseconds at) {
                    s_.faults++;
                    queue_.push_back({m, asks, at});
                    if (queue_.size() == 1) serve(at);
                });
            };
        }
        for (std::size_t i = 0; i < s.accesses.size(); i++)
            e_.at(start_ps + s.accesses[i].issued_ps, threads, 0,
                  [this, i](plain::picoseconds now) { pes_[i % mmus].begin(s_.accesses[i], i, now); });
        e_.run();
    }

  private:
    struct fault {
        unsigned from;
        paging_mmu::asker_ptr asks;
        plain::picoseconds at;
    };

    // The first of the queue. It is over for the host when the page is there.
    void serve(plain::picoseconds now) {
        const fault f = queue_.front();
        const std::uint64_t number = f.asks->number - first_page;
        const auto page_there = there_.find(number);
        if (number >= tensor_pages) {
            answer(f, false, now);
            next(now);
        } else if (page_there != there_.end()) {
            answer(f, true, std::max(now, page_there->second));
            next(now);
        } else {
            const plain::picoseconds begin = std::max(now, served_) + s_.fault_ps;
            e_.at(begin, commands, 0, [=](plain::picoseconds at) { allocate(f, number, at); });
        }
    }
    void allocate(const fault &f, std::uint64_t number, plain::picoseconds now) {
        const plain::picoseconds allocated = engine_.serve(now, s_.alloc_ps).done;
        if (taken_ == s_.frames) {
            e_.at(allocated, completions, 0, [=](plain::picoseconds at) {
                answer(f, false, at);
                next(at);
            });
            return;
        }
        served_ = allocated;
        const std::uint64_t frame = taken_++;
        e_.at(allocated, completions, 0, [=](plain::picoseconds at) {
            plain::picoseconds visible = 0;
            for (paging_mmu &p : pes_)
                visible = std::max(visible, p.map(f.asks->number, frame, at));
            served_ = there_[number] = visible;
            e_.at(visible, completions, 0, [=](plain::picoseconds then) {
                answer(f, true, then);
                next(then);
            });
        });
    }
    void next(plain::picoseconds now) {
        queue_.pop_front();
        if (!queue_.empty()) serve(now);
    }
    void answer(const fault &f, bool granted, plain::picoseconds time) {
        s_.refusals += !granted;
        e_.at(time, answers, f.from, [=](plain::picoseconds due) {
            e_.at(due, first_mmu + f.from, 0, [=](plain::picoseconds at) { pes_[f.from].answer(f.asks, granted, at); });
        });
    }

    scenario &s_;
    plain::events e_;
    plain_memory memory_;
    std::deque<paging_mmu> pes_;
    plain::command_engine engine_{16};                  // of the memory's controller
    std::deque<fault> queue_;                           // the first is served
    std::map<std::uint64_t, plain::picoseconds> there_; // pages, and since when
    plain::picoseconds served_ = 0;
    std::uint64_t taken_ = 0; // frames
};

// --- both ------------------------------------------------------------------------------------------------------------

scenario random_scenario(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto random = [&](std::uint64_t below) { return generator() % below; };
    scenario s{};
    plain::mmu::settings &how = s.mmu.how;
    how.ideal = random(4) == 0;
    how.walkers = 1 + static_cast<std::uint32_t>(random(3));
    how.merge_slots = static_cast<std::uint32_t>(random(3));
    if (random(4)) {
        how.tlb_entries = 2 + static_cast<std::uint32_t>(random(6));
        how.tlb_ps = random(3) * 1000;
    }
    how.hit_under_miss = random(4) > 0;
    how.overhead_ps = random(2) * 1000;
    s.mmu.level_ps = std::uint64_t{25'000} << random(3);
    s.mmu.latency_ps = random(3) * 8000;
    s.mmu.patience_ps = 2'000'000;
    s.mmu.map_ps = random(4) * 50'000;
    s.fault_ps = random(5) * 200'000;
    s.alloc_ps = random(4) * 25'000;
    s.pool = random(2) ? TLA_HOST_POOL_CACHING : TLA_HOST_POOL_NONE;
    s.frames = random(2) ? tensor_pages : 1 + random(tensor_pages);
    const std::uint64_t grid = random(2) ? 1000 : 25'000, within = (100 + random(20) * 100) * 1000 / grid;
    for (std::uint64_t i = 3 + random(16); i > 0; i--) {
        const std::uint64_t first = random(random(6) ? tensor_pages : pages),
                            last = std::min(pages - 1, first + (random(3) ? 0 : random(3)));
        const std::uint64_t va = (first_page + first) * page + random(page);
        const std::uint64_t end = last == first ? va + 1 + random(std::min<std::uint64_t>(300, page - va % page))
                                                : (first_page + last) * page + 1 + random(page);
        s.accesses.push_back({va, end - va, random(within) * grid, random(3) == 0});
    }
    return s;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_page_faults_that_the_host_serves_take_the_time_of_the_plain_event_model) {
    const range_of_seeds seeds(500);
    std::vector<scenario> ours;
    for (std::uint64_t i = 0; i < seeds.many; i++)
        ours.push_back(random_scenario(seeds.first + i));
    std::vector<scenario> expected = ours;
    std::uint64_t accesses = 0, faults = 0, refusals = 0, differ = 0;
    for (std::size_t i = 0; i < expected.size(); i++)
        plain_run(expected[i], start_of(i));
    run_modules(ours);
    for (std::size_t i = 0; i < ours.size(); i++) {
        std::string what = difference(ours[i].accesses, expected[i].accesses, start_of(i));
        if (ours[i].faults != expected[i].faults)
            what += std::to_string(ours[i].faults) + " faults, should be " + std::to_string(expected[i].faults);
        differ += !what.empty();
        if (!what.empty() && differ <= 3) BOOST_ERROR("TLMALLOC_SEED=" << seeds.first + i << ": " << what);
        accesses += expected[i].accesses.size();
        faults += expected[i].faults;
        refusals += expected[i].refusals;
    }
    BOOST_CHECK_EQUAL(differ, 0u);
    BOOST_TEST_MESSAGE(seeds.many << " scenarios, " << differ << " differ; " << accesses << " accesses, " << faults
                                  << " faults, of which the host refused " << refusals);
    BOOST_CHECK(seeds.many < 500 || (faults * 2 > accesses && refusals * 50 > faults));
}
