// Demand paging: accesses of several MMUs to pages that the host maps on their first use. When each access is answered
// and with which bytes or which error, and what the host is asked, beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "plain_mmu.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/page_fault.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <tlm_utils/multi_passthrough_target_socket.h>

using namespace tlmalloc;

namespace {

const std::uint64_t page = plain::mmu::page, pages = 8, frames = 16;
const std::uint64_t burst = 256, channel_bandwidth = 32'000'000'000;
const unsigned channel_count = 4;
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
struct memory_access { // one initiator each
    std::uint64_t va, nbytes, issued_ps;
    bool write;
    std::uint64_t end_ps = 0;
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bytes data{};
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
    plain::mmu::settings how;
    std::uint64_t level_ps, latency_ps, patience_ps; // of a walk's level, of the slice, of a fault
    std::uint64_t map_ps;                            // of a MAP
    std::vector<page_service> host;                  // of each page
    std::vector<memory_access> accesses;             // of MMU i % mmus
    std::vector<question> questions{};
};

std::uint8_t fill_byte(std::uint64_t pa) {
    return static_cast<std::uint8_t>(pa * 31 + pa / page * 7 + pa / 251);
}
std::uint8_t written_byte(std::size_t access) {
    return static_cast<std::uint8_t>(access * 2 + 1);
}

// --- the modules -----------------------------------------------------------------------------------------------------

void move(tlm::tlm_fw_transport_if<> &to, tlm::tlm_command what, std::uint64_t address, std::uint8_t *data,
          std::size_t nbytes, sc_core::sc_time &delay) {
    tlm::tlm_generic_payload payload;
    payload.set_command(what);
    payload.set_address(address);
    payload.set_data_ptr(data);
    payload.set_data_length(static_cast<unsigned>(nbytes));
    payload.set_streaming_width(static_cast<unsigned>(nbytes));
    to.b_transport(payload, delay);
    BOOST_REQUIRE_EQUAL(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
}

// The MMUs of one scenario, who uses them, and the host.
struct bench : sc_core::sc_module {
    explicit bench(sc_core::sc_module_name name, scenario &of) : sc_module(name), s(of) {
        for (std::size_t m = 0; m < mmus; m++)
            mmu.push_back(std::make_unique<pe_mmu>(("mmu" + std::to_string(m)).c_str(), mmu_config()));
        for (std::size_t m = 0; m < mmus; m++) {
            slice.push_back(std::make_unique<hbm_slice>(("slice" + std::to_string(m)).c_str(), slice_config()));
            cpu.push_back(std::make_unique<socket>(("cpu" + std::to_string(m)).c_str()));
            control.push_back(std::make_unique<socket>(("control" + std::to_string(m)).c_str()));
            cpu[m]->bind(mmu[m]->in);
            control[m]->bind(mmu[m]->control);
            mmu[m]->out.bind(slice[m]->in);
            mmu[m]->fault.bind(faults);
        }
        faults.register_b_transport(this, &bench::serve);
    }
    pe_mmu::config mmu_config() const {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.va_bits = 48;
        c.unmapped = TLA_UNMAPPED_DEMAND;
        c.fault_patience_ps = s.patience_ps;
        c.cost.fixed_ps = s.map_ps;
        c.walk = s.how.ideal ? TLA_WALK_IDEAL : TLA_WALK_FLAT;
        c.overhead_ps = s.how.overhead_ps;
        c.tlb_l1 = {s.how.tlb_entries, 0, s.how.tlb_ps, TLA_REPLACE_LRU};
        c.walkers = {s.how.walkers, s.how.merge_slots, 0, false, s.how.hit_under_miss, s.level_ps};
        return c;
    }
    hbm_slice::config slice_config() const {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = frames * page;
        c.pseudo_channels = channel_count;
        c.pseudo_channel_bandwidth = channel_bandwidth;
        c.latency_ps = s.latency_ps;
        return c;
    }
    void fill_memory() {
        bytes all(frames * page);
        for (std::size_t i = 0; i < all.size(); i++)
            all[i] = fill_byte(i);
        for (std::size_t m = 0; m < mmus; m++) {
            tlm::tlm_generic_payload payload;
            payload.set_write();
            payload.set_data_ptr(all.data());
            payload.set_data_length(static_cast<unsigned>(all.size()));
            BOOST_REQUIRE_EQUAL(mmu[m]->out->transport_dbg(payload), all.size());
        }
    }
    void make(memory_access &a, std::size_t number) {
        a.data.assign(a.nbytes, a.write ? written_byte(number) : 0);
        tlm::tlm_generic_payload payload;
        payload.set_command(a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_address(a.va);
        payload.set_data_ptr(a.data.data());
        payload.set_data_length(static_cast<unsigned>(a.nbytes));
        payload.set_streaming_width(static_cast<unsigned>(a.nbytes));
        sc_core::sc_time delay;
        (*cpu[number % mmus])->b_transport(payload, delay);
        a.status = payload.get_response_status();
        a.end_ps = local_ps(delay);
    }
    // Returns when that is visible everywhere.
    void map(std::uint64_t number) {
        const tla_command command =
            map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{number * page, s.host[number].frame * page, page}});
        bytes descriptor(TLA_COMMAND_MAX_BYTES);
        std::size_t length = 0;
        BOOST_REQUIRE_EQUAL(tla_command_encode(&command, descriptor.data(), descriptor.size(), &length), TLA_OK);
        sc_core::sc_time delay;
        for (auto &to : control)
            move(*to->operator->(), tlm::TLM_WRITE_COMMAND, number * TLA_PORT_BYTES, descriptor.data(), length, delay);
        for (auto &to : control) {
            std::uint8_t answer[TLA_COMPLETION_BYTES];
            move(*to->operator->(), tlm::TLM_READ_COMMAND, number * TLA_PORT_BYTES + TLA_PORT_COMPLETION, answer,
                 sizeof answer, delay);
            tla_completion done{};
            BOOST_REQUIRE_EQUAL(tla_completion_decode(answer, &done), TLA_OK);
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

const std::uint64_t first_start_ps = 1'000'000'000, apart_ps = 200'000'000;

std::uint64_t start_of(std::size_t number) {
    return first_start_ps + number * apart_ps;
}

void run_modules(std::vector<scenario> &scenarios) {
    std::deque<bench> benches;
    std::size_t accesses = 0;
    for (scenario &s : scenarios) {
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), s);
        accesses = std::max(accesses, s.accesses.size());
    }
    sc_core::sc_spawn([&] {
        for (bench &b : benches)
            b.fill_memory();
    });
    for (std::size_t thread = accesses; thread-- > 0;) { // made in an order that means nothing
        const std::string digits = std::to_string(thread);
        sc_core::sc_spawn(
            [&, thread] {
                for (std::size_t i = 0; i < scenarios.size(); i++) {
                    if (thread >= scenarios[i].accesses.size()) continue;
                    memory_access &mine = scenarios[i].accesses[thread];
                    sc_core::wait(from_ps(start_of(i) + mine.issued_ps) - sc_core::sc_time_stamp());
                    benches[i].make(mine, thread);
                    BOOST_REQUIRE_LT(mine.end_ps, start_of(i + 1));
                }
            },
            ("access" + std::string(3 - digits.size(), '0') + digits).c_str());
    }
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
        for (unsigned m = 0; m < mmus; m++)
            pes_.emplace_back(*this, m);
        for (std::size_t i = 0; i < s.accesses.size(); i++)
            e_.at(start_ps + s.accesses[i].issued_ps, threads, 0,
                  [this, i](plain::picoseconds now) { pes_[i % mmus].begin(i, now); });
        e_.run();
    }

  private:
    using access_ptr = plain::mmu::access_ptr;
    struct asker { // an access that has asked the host
        access_ptr of;
        std::uint64_t number; // of the page
        bool asked_again = false, waits = false;
        plain::picoseconds patience = 0;
    };
    using asker_ptr = std::shared_ptr<asker>;

    struct pe {
        pe(plain_run &r, unsigned m)
            : run(r), index(m), slice{first_slice + m, burst, channel_bandwidth, r.s_.latency_ps,
                                      std::vector<plain::server>(channel_count)},
              mmu(
                  r.e_, first_mmu + m, r.s_.how,
                  [this](std::uint64_t, plain::picoseconds now, plain::arrived done) {
                      run.e_.at(now + 4 * run.s_.level_ps, first_mmu + index, 0, done);
                  },
                  &maps) {
            for (std::size_t i = 0; i < frames * page; i++)
                memory.push_back(fill_byte(i));
            mmu.fault = [this](const access_ptr &a, std::uint64_t number, plain::picoseconds time) {
                meet(a, number, time);
            };
        }
        void begin(std::size_t number, plain::picoseconds now) {
            memory_access &a = run.s_.accesses[number];
            a.data.assign(a.nbytes, a.write ? written_byte(number) : 0);
            mmu.translate(a.write, a.va, a.nbytes, now, false,
                          [this, number](plain::picoseconds at, const plain::mmu::translations &to) {
                              leave(run.s_.accesses[number], at, to);
                          });
        }
        void leave(memory_access &a, plain::picoseconds at, const plain::mmu::translations &to) {
            a.end_ps = at;
            a.status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
            for (const plain::translation &t : to)
                if (!t.mapped) return;
            a.status = tlm::TLM_OK_RESPONSE;
            for (std::uint64_t done = 0; done < a.nbytes;) {
                const std::uint64_t va = a.va + done, part = std::min(a.nbytes - done, page - va % page);
                const std::uint64_t pa = to[va / page - a.va / page].pa + va % page;
                run.e_.at(at + run.s_.latency_ps, first_slice + index, 0, [=, &a](plain::picoseconds) {
                    for (std::uint64_t i = 0; i < part; i++)
                        (a.write ? memory[pa + i] : a.data[done + i]) = a.write ? a.data[done + i] : memory[pa + i];
                });
                slice.access(run.e_, a.write, pa, part, at,
                             [&a](plain::picoseconds end) { a.end_ps = std::max(a.end_ps, end); });
                done += part;
            }
        }

        // The access meets an unmapped page: the host is asked, once more if it has answered and lost patience.
        void meet(const access_ptr &a, std::uint64_t number, plain::picoseconds time) {
            const auto asks = std::make_shared<asker>();
            asks->of = a;
            asks->number = number;
            ask(asks, time);
        }
        void ask(const asker_ptr &asks, plain::picoseconds time) {
            run.e_.at(time, questions, index, [=](plain::picoseconds at) { run.be_asked(index, asks, at); });
        }
        // An answer of the host.
        void answer(const asker_ptr &asks, bool granted, plain::picoseconds now) {
            if (!granted) {
                mmu.refuse(asks->of, now);
            } else if (maps.at(asks->number, now).mapped) {
                mmu.retry(asks->of, now);
            } else {
                asks->waits = true;
                asks->patience = now + run.s_.patience_ps;
                waiting.push_back(asks);
                run.e_.at(asks->patience, first_mmu + index, 0,
                          [=](plain::picoseconds at) { lose_patience(asks, at); });
                const plain::picoseconds visible = maps.holds_until(asks->number, now);
                if (visible != plain::never)
                    run.e_.at(visible, first_mmu + index, 0, [=](plain::picoseconds at) { look_again(at); });
            }
        }
        void look_again(plain::picoseconds now) {
            std::vector<asker_ptr> before;
            before.swap(waiting);
            for (const asker_ptr &asks : before)
                if (maps.at(asks->number, now).mapped) {
                    asks->waits = false;
                    mmu.retry(asks->of, now);
                } else {
                    waiting.push_back(asks);
                }
        }
        void lose_patience(const asker_ptr &asks, plain::picoseconds now) {
            if (!asks->waits || now < asks->patience) return;
            asks->waits = false;
            waiting.erase(std::find(waiting.begin(), waiting.end(), asks));
            if (asks->asked_again) {
                mmu.refuse(asks->of, now);
                return;
            }
            asks->asked_again = true;
            ask(asks, now);
        }
        plain::picoseconds map(std::uint64_t number, plain::picoseconds now) { // when it is visible
            const plain::picoseconds visible = engine.serve(now, run.s_.map_ps).done;
            mmu.decided({number}, visible);
            maps.set(number, {true, run.s_.host[number].frame * page, true, true}, visible);
            run.e_.at(visible, first_mmu + index, 0, [=](plain::picoseconds at) { look_again(at); });
            return visible;
        }

        plain_run &run;
        const unsigned index;
        plain::mappings maps;
        plain::channels slice;
        plain::command_engine engine{16};
        plain::mmu mmu;
        bytes memory;
        std::vector<asker_ptr> waiting; // for a mapping that the host has promised
    };

    void be_asked(unsigned from, const asker_ptr &asks, plain::picoseconds now) {
        const std::uint64_t number = asks->number;
        const page_service &how = s_.host[number];
        const std::uint64_t first_byte = std::max(number * page, asks->of->first_byte);
        s_.questions.push_back({now, first_byte, from, asks->asked_again});
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
        for (pe &p : pes_)
            visible = std::max(visible, p.map(number, now));
        return visible;
    }

    scenario &s_;
    plain::events e_;
    std::deque<pe> pes_;
    std::map<std::uint64_t, bool> begun_;
};

// --- both ------------------------------------------------------------------------------------------------------------

scenario random_scenario(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto random = [&](std::uint64_t below) { return generator() % below; };
    scenario s{};
    s.how.ideal = random(4) == 0;
    s.how.walkers = 1 + static_cast<std::uint32_t>(random(3));
    s.how.merge_slots = static_cast<std::uint32_t>(random(3));
    if (random(4)) {
        s.how.tlb_entries = 2 + static_cast<std::uint32_t>(random(6));
        s.how.tlb_ps = random(3) * 1000;
    }
    s.how.hit_under_miss = random(4) > 0;
    s.how.overhead_ps = random(2) * 1000;
    s.level_ps = std::uint64_t{25'000} << random(3);
    s.latency_ps = random(3) * 8000;
    s.patience_ps = 2'000'000 + random(3) * 500'000;
    s.map_ps = 1000 + random(4) * 50'000;
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
    for (std::size_t i = 0; i < ours.accesses.size(); i++) {
        const memory_access &a = ours.accesses[i], &b = theirs.accesses[i];
        if (a.end_ps == b.end_ps && a.status == b.status && (a.status != tlm::TLM_OK_RESPONSE || a.data == b.data))
            continue;
        text << "access " << i << " ended at " << a.end_ps - start_ps << " with " << a.status << ", should "
             << b.end_ps - start_ps << " with " << b.status << (a.data == b.data ? "" : ", other bytes") << "\n";
        break;
    }
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

// TLMALLOC_SEED: one scenario, or the first of TLMALLOC_SCENARIOS.
BOOST_AUTO_TEST_CASE(random_page_faults_take_the_time_of_the_plain_event_model) {
    const char *const seed = std::getenv("TLMALLOC_SEED"), *const count = std::getenv("TLMALLOC_SCENARIOS");
    const std::uint64_t first = seed ? std::strtoull(seed, nullptr, 0) : 1,
                        many = count  ? std::strtoull(count, nullptr, 0)
                               : seed ? 1
                                      : 500;
    std::vector<scenario> scenarios;
    for (std::uint64_t i = 0; i < many; i++)
        scenarios.push_back(random_scenario(first + i));
    std::vector<scenario> expected = scenarios;
    std::uint64_t accesses = 0, refused = 0, asked = 0, again = 0, differ = 0;
    for (std::size_t i = 0; i < expected.size(); i++)
        plain_run(expected[i], start_of(i));
    run_modules(scenarios);
    for (std::size_t i = 0; i < scenarios.size(); i++) {
        const std::string what = difference(scenarios[i], expected[i], start_of(i));
        differ += !what.empty();
        if (!what.empty() && differ <= 3) BOOST_ERROR("TLMALLOC_SEED=" << first + i << ": " << what);
        for (const memory_access &a : expected[i].accesses) {
            accesses++;
            refused += a.status != tlm::TLM_OK_RESPONSE;
        }
        asked += expected[i].questions.size();
        for (const question &q : expected[i].questions)
            again += q.again;
    }
    BOOST_CHECK_EQUAL(differ, 0u);
    BOOST_TEST_MESSAGE(many << " scenarios, " << differ << " differ; " << accesses << " accesses (" << refused
                            << " refused), " << asked << " questions to the host (" << again << " once more)");
    BOOST_CHECK(many < 500 || (refused * 20 > accesses && asked * 2 > accesses && again * 50 > asked));
}
