// Demand paging: accesses of several MMUs to pages that the host maps on their first use. When each access is answered
// and with which bytes or which error, and what the host is asked, beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "plain_paging.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <random>
#include <tlm_utils/multi_passthrough_target_socket.h>

namespace {

using namespace scenarios;

const std::uint64_t pages = 8, frames = 16;
const std::uint64_t answer_ps = 500; // from the visible mapping to the answer of the host
const std::size_t mmus = 2;          // each with a slice of its own

// What the host does about a page, latency_ps after each question.
enum class service {
    map_and_wait, // the first time: maps it everywhere, and answers when that is visible; then: answers at once
    promise,      // answers at once, and maps it everywhere gap_ps after the first answer
    refuse,       // answers with an error
    lose          // answers at once, and never maps it
};
struct page_service {
    service what;
    std::uint64_t latency_ps, gap_ps, frame;
};
struct question {
    std::uint64_t at_ps, va;
    std::size_t mmu;
    bool again;
    bool operator==(const question &other) const {
        return at_ps == other.at_ps && va == other.va && mmu == other.mmu && again == other.again;
    }
};
struct scenario {
    paging_mmu::settings mmu;
    std::vector<page_service> host;      // of each page
    std::vector<memory_access> accesses; // of MMU i % mmus
    std::vector<question> questions{};
};

// --- the modules -----------------------------------------------------------------------------------------------------

// The MMUs of one scenario, who uses them, and the host.
struct bench : sc_core::sc_module {
    explicit bench(sc_core::sc_module_name name, scenario &of) : sc_module(name), s(of) {
        for (std::size_t m = 0; m < mmus; m++)
            mmu.push_back(std::make_unique<pe_mmu>(("mmu" + std::to_string(m)).c_str(), config_of_mmu()));
        for (std::size_t m = 0; m < mmus; m++) {
            slice.push_back(std::make_unique<hbm_slice>(("slice" + std::to_string(m)).c_str(),
                                                        slice_config(frames * page, s.mmu.latency_ps)));
            cpu.push_back(std::make_unique<socket>(("cpu" + std::to_string(m)).c_str()));
            control.push_back(std::make_unique<socket>(("control" + std::to_string(m)).c_str()));
            cpu[m]->bind(mmu[m]->in);
            control[m]->bind(mmu[m]->control);
            mmu[m]->out.bind(slice[m]->in);
            mmu[m]->fault.bind(faults);
        }
        faults.register_b_transport(this, &bench::serve);
    }
    pe_mmu::config config_of_mmu() const {
        pe_mmu::config c = mmu_config(s.mmu.how, s.mmu.level_ps);
        c.unmapped = TLA_UNMAPPED_DEMAND;
        c.fault_patience_ps = s.mmu.patience_ps;
        c.cost.fixed_ps = s.mmu.map_ps;
        return c;
    }
    // Returns when that is visible everywhere.
    void map(std::uint64_t number) {
        const tla_command command =
            map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{number * page, s.host[number].frame * page, page}});
        sc_core::sc_time delay;
        for (auto &to : control)
            write_command(*to->operator->(), static_cast<unsigned>(number), command, delay);
        for (auto &to : control) {
            const tla_completion done = await_completion(*to->operator->(), static_cast<unsigned>(number), delay);
            BOOST_REQUIRE_EQUAL(done.status, static_cast<std::uint32_t>(TLA_OK));
        }
        sc_core::wait(delay);
    }
    void serve(int from, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const page_fault asked = page_fault::decode(payload.get_data_ptr());
        s.questions.push_back(
            {local_ps(delay), asked.va, static_cast<std::size_t>(from), (asked.access & page_fault::again) != 0});
        const std::uint64_t number = asked.va / page;
        const page_service &how = s.host[number];
        const bool first = !std::exchange(begun[number], true);
        sc_core::wait(delay + from_ps(how.latency_ps));
        delay = sc_core::SC_ZERO_TIME;
        if (how.what == service::map_and_wait && first) {
            map(number);
            sc_core::wait(from_ps(answer_ps));
        }
        if (how.what == service::promise && first)
            sc_core::sc_spawn([this, number, &how] {
                sc_core::wait(from_ps(how.gap_ps));
                map(number);
            });
        payload.set_response_status(how.what == service::refuse ? tlm::TLM_ADDRESS_ERROR_RESPONSE
                                                                : tlm::TLM_OK_RESPONSE);
    }

    using socket = tlm_utils::simple_initiator_socket<bench>;
    scenario &s;
    std::vector<std::unique_ptr<pe_mmu>> mmu;
    std::vector<std::unique_ptr<hbm_slice>> slice;
    std::vector<std::unique_ptr<socket>> cpu, control;
    tlm_utils::multi_passthrough_target_socket<bench> faults{"faults"};
    std::map<std::uint64_t, bool> begun; // pages that the host has been asked for
};

void run_modules(std::vector<scenario> &all) {
    std::deque<bench> benches;
    for (scenario &s : all)
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), s);
    sc_core::sc_spawn([&] {
        for (bench &b : benches)
            for (auto &m : b.mmu)
                fill_memory(*m, frames * page);
    });
    spawn_threads(all, "access", &scenario::accesses, [&](std::size_t i, std::size_t number) {
        make(*benches[i].cpu[number % mmus]->operator->(), all[i].accesses[number], number);
    });
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING); // refusals are expected
    sc_core::sc_start();
}

// --- the plain model -------------------------------------------------------------------------------------------------

// Resources in the order of time's ties: threads that are due (accesses, the host's answers), the MMUs, the slices;
// then what threads do that these wake (questions to the host), and commands.
enum { threads = 0, first_mmu = 1, first_slice = first_mmu + mmus, questions = first_slice + mmus, commands };

class plain_run {
  public:
    plain_run(scenario &s, std::uint64_t start_ps) : s_(s) {
        for (unsigned m = 0; m < mmus; m++) {
            slices_.emplace_back(first_slice + m, frames * page, s.mmu.latency_ps);
            pes_.emplace_back(e_, first_mmu + m, s.mmu, slices_.back());
            pes_.back().ask = [=](const paging_mmu::asker_ptr &asks, plain::picoseconds time) {
                e_.at(time, questions, m, [=](plain::picoseconds at) { be_asked(m, asks, at); });
            };
        }
        for (std::size_t i = 0; i < s.accesses.size(); i++)
            e_.at(start_ps + s.accesses[i].issued_ps, threads, 0,
                  [this, i](plain::picoseconds now) { pes_[i % mmus].begin(s_.accesses[i], i, now); });
        e_.run();
    }

  private:
    void be_asked(unsigned from, const paging_mmu::asker_ptr &asks, plain::picoseconds now) {
        const std::uint64_t number = asks->number;
        const page_service &how = s_.host[number];
        s_.questions.push_back({now, asks->first_byte(), from, asks->asked_again});
        const bool first = !std::exchange(begun_[number], true);
        const auto answer = [=](plain::picoseconds time) { // by a thread that is due then
            e_.at(time, threads, 0, [=](plain::picoseconds due) {
                e_.at(due, first_mmu + from, 0, [=](plain::picoseconds at) {
                    pes_[from].answer(asks, s_.host[number].what != service::refuse, at);
                });
            });
        };
        const plain::picoseconds ready = now + how.latency_ps;
        if (how.what == service::map_and_wait && first)
            e_.at(ready, commands, static_cast<unsigned>(number),
                  [=](plain::picoseconds at) { answer(map(number, at) + answer_ps); });
        else
            answer(ready);
        if (how.what == service::promise && first)
            e_.at(ready + how.gap_ps, commands, static_cast<unsigned>(number),
                  [=](plain::picoseconds at) { map(number, at); });
    }
    plain::picoseconds map(std::uint64_t number, plain::picoseconds now) {
        plain::picoseconds visible = 0;
        for (paging_mmu &p : pes_)
            visible = std::max(visible, p.map(number, s_.host[number].frame, now));
        return visible;
    }

    scenario &s_;
    plain::events e_;
    std::deque<plain_memory> slices_;
    std::deque<paging_mmu> pes_;
    std::map<std::uint64_t, bool> begun_;
};

// --- both ------------------------------------------------------------------------------------------------------------

scenario random_scenario(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto random = [&](std::uint64_t below) { return generator() % below; };
    scenario s{};
    s.mmu.how.ideal = random(4) == 0;
    s.mmu.how.walkers = 1 + static_cast<std::uint32_t>(random(3));
    s.mmu.how.merge_slots = static_cast<std::uint32_t>(random(3));
    if (random(4)) {
        s.mmu.how.tlb_entries = 2 + static_cast<std::uint32_t>(random(6));
        s.mmu.how.tlb_ps = random(3) * 1000;
    }
    s.mmu.how.hit_under_miss = random(4) > 0;
    s.mmu.how.overhead_ps = random(2) * 1000;
    s.mmu.level_ps = std::uint64_t{25'000} << random(3);
    s.mmu.latency_ps = random(3) * 8000;
    s.mmu.patience_ps = 2'000'000 + random(3) * 500'000;
    s.mmu.map_ps = 1000 + random(4) * 50'000;
    for (std::uint64_t p = 0; p < pages; p++) {
        const std::uint64_t kind = random(10);
        s.host.push_back({kind < 5   ? service::map_and_wait
                          : kind < 8 ? service::promise
                          : kind < 9 ? service::refuse
                                     : service::lose,
                          (1 + random(40)) * 25'000, 25'000 + random(30) * 25'000, random(frames)});
    }
    const std::uint64_t grid = random(2) ? 1000 : 25'000, within = (100 + random(20) * 100) * 1000 / grid;
    for (std::uint64_t i = 3 + random(14); i > 0; i--) {
        const std::uint64_t first = random(pages), last = std::min(pages - 1, first + (random(3) ? 0 : random(3)));
        const std::uint64_t va = first * page + random(page);
        const std::uint64_t end = last == first ? va + 1 + random(std::min<std::uint64_t>(300, page - va % page))
                                                : last * page + 1 + random(page);
        s.accesses.push_back({va, end - va, random(within) * grid, random(3) == 0});
    }
    return s;
}

// Empty where both agree.
std::string difference(const scenario &ours, const scenario &theirs, std::uint64_t start_ps) {
    std::ostringstream text;
    text << scenarios::difference(ours.accesses, theirs.accesses, start_ps);
    if (!(ours.questions == theirs.questions)) {
        text << "the host was asked";
        for (const scenario *s : {&ours, &theirs}) {
            for (const question &q : s->questions)
                text << "; at " << q.at_ps - start_ps << " by MMU " << q.mmu << " for " << q.va / page << "+"
                     << q.va % page << (q.again ? " again" : "");
            text << (s == &ours ? "\n  should" : "\n");
        }
    }
    return text.str();
}

} // namespace

BOOST_AUTO_TEST_CASE(random_page_faults_take_the_time_of_the_plain_event_model) {
    const range_of_seeds seeds(500);
    std::vector<scenario> ours;
    for (std::uint64_t i = 0; i < seeds.many; i++)
        ours.push_back(random_scenario(seeds.first + i));
    std::vector<scenario> expected = ours;
    std::uint64_t accesses = 0, refused = 0, asked = 0, again = 0, differ = 0;
    for (std::size_t i = 0; i < expected.size(); i++)
        plain_run(expected[i], start_of(i));
    run_modules(ours);
    for (std::size_t i = 0; i < ours.size(); i++) {
        const std::string what = difference(ours[i], expected[i], start_of(i));
        differ += !what.empty();
        if (!what.empty() && differ <= 3) BOOST_ERROR("TLMALLOC_SEED=" << seeds.first + i << ": " << what);
        for (const memory_access &a : expected[i].accesses) {
            accesses++;
            refused += a.status != tlm::TLM_OK_RESPONSE;
        }
        asked += expected[i].questions.size();
        for (const question &q : expected[i].questions)
            again += q.again;
    }
    BOOST_CHECK_EQUAL(differ, 0u);
    BOOST_TEST_MESSAGE(seeds.many << " scenarios, " << differ << " differ; " << accesses << " accesses (" << refused
                                  << " refused), " << asked << " questions to the host (" << again << " once more)");
    BOOST_CHECK(seeds.many < 500 || (refused * 20 > accesses && asked * 2 > accesses && again * 50 > asked));
}
