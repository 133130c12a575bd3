// MAP, UNMAP and INVALIDATE while accesses and walks are under way: when each access is answered, with which bytes or
// which error, and when each command is done. Beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "plain_mmu.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <sstream>

using namespace tlmalloc;

namespace {

const std::uint64_t page = plain::mmu::page, pages = 10, frames = 24;
const std::uint64_t burst = 256, channel_bandwidth = 32'000'000'000;
const unsigned channel_count = 4;

// One initiator each, which waits until its time; issued_ps: after the scenario's start.
struct access {
    std::uint64_t va, nbytes, issued_ps;
    bool write;
    std::uint64_t end_ps = 0;
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bytes data{};
};
struct range {
    std::uint64_t first, count, frame; // pages
};
struct change {
    tla_opcode opcode;
    unsigned port;
    std::uint64_t issued_ps;
    std::vector<range> ranges;
    std::uint32_t flags;
    std::uint64_t accepted_ps = 0, done_ps = 0;
    tla_status status = TLA_STATUS_COUNT;
};
struct scenario {
    plain::mmu::settings how;
    std::uint64_t level_ps, latency_ps; // of a walk's level, of the slice
    bool allow_remap;
    unsigned queue_depth;
    tla_cost_profile cost{};
    std::vector<range> mapped; // at the start
    std::vector<access> accesses;
    std::vector<change> changes;
};

std::uint8_t fill_byte(std::uint64_t pa) {
    return static_cast<std::uint8_t>(pa * 31 + pa / page * 7 + pa / 251);
}
std::uint8_t written_byte(std::size_t access) {
    return static_cast<std::uint8_t>(access * 2 + 1);
}

tla_command command_of(const change &c) {
    tla_command command = map_command(TLA_TARGET_PE_MMU, c.opcode, {});
    for (const range &r : c.ranges)
        command.entries[command.count++] = {{r.first * page}, {r.frame * page}, r.count * page, c.flags, 0};
    return command;
}

// --- the modules -----------------------------------------------------------------------------------------------------

// The MMU of one scenario, and who uses it.
struct bench : sc_core::sc_module {
    bench(sc_core::sc_module_name name, const scenario &s)
        : sc_module(name), mmu("mmu", mmu_config(s)), slice("slice", slice_config(s)) {
        cpu.bind(mmu.in);
        control.bind(mmu.control);
        mmu.out.bind(slice.in);
    }
    static pe_mmu::config mmu_config(const scenario &s) {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.va_bits = 48;
        c.allow_remap = s.allow_remap;
        c.queue_depth = s.queue_depth;
        c.cost = s.cost;
        c.walk = s.how.ideal ? TLA_WALK_IDEAL : TLA_WALK_FLAT;
        c.overhead_ps = s.how.overhead_ps;
        c.tlb_l1 = {s.how.tlb_entries, 0, s.how.tlb_ps, TLA_REPLACE_LRU};
        c.walkers = {s.how.walkers, s.how.merge_slots, 0, false, s.how.hit_under_miss, s.level_ps};
        return c;
    }
    static hbm_slice::config slice_config(const scenario &s) {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = frames * page;
        c.pseudo_channels = channel_count;
        c.pseudo_channel_bandwidth = channel_bandwidth;
        c.latency_ps = s.latency_ps;
        return c;
    }
    void make(access &a, std::size_t number) {
        a.data.assign(a.nbytes, a.write ? written_byte(number) : 0);
        tlm::tlm_generic_payload payload;
        payload.set_command(a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_address(a.va);
        payload.set_data_ptr(a.data.data());
        payload.set_data_length(static_cast<unsigned>(a.nbytes));
        payload.set_streaming_width(static_cast<unsigned>(a.nbytes));
        sc_core::sc_time delay;
        cpu->b_transport(payload, delay);
        a.status = payload.get_response_status();
        a.end_ps = local_ps(delay);
    }
    void make(change &c) {
        bytes descriptor(TLA_COMMAND_MAX_BYTES);
        const tla_command command = command_of(c);
        std::size_t length = 0;
        BOOST_REQUIRE_EQUAL(tla_command_encode(&command, descriptor.data(), descriptor.size(), &length), TLA_OK);
        sc_core::sc_time delay;
        move(tlm::TLM_WRITE_COMMAND, c.port * TLA_PORT_BYTES, descriptor.data(), length, delay);
        c.accepted_ps = local_ps(delay);
        std::uint8_t answer[TLA_COMPLETION_BYTES];
        move(tlm::TLM_READ_COMMAND, c.port * TLA_PORT_BYTES + TLA_PORT_COMPLETION, answer, sizeof answer, delay);
        c.done_ps = local_ps(delay);
        tla_completion done{};
        BOOST_REQUIRE_EQUAL(tla_completion_decode(answer, &done), TLA_OK);
        c.status = done.status;
    }
    void move(tlm::tlm_command what, std::uint64_t address, std::uint8_t *data, std::size_t nbytes,
              sc_core::sc_time &delay) {
        tlm::tlm_generic_payload payload;
        payload.set_command(what);
        payload.set_address(address);
        payload.set_data_ptr(data);
        payload.set_data_length(static_cast<unsigned>(nbytes));
        payload.set_streaming_width(static_cast<unsigned>(nbytes));
        control->b_transport(payload, delay);
        BOOST_REQUIRE_EQUAL(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
    }
    void fill_memory() {
        bytes all(frames * page);
        for (std::size_t i = 0; i < all.size(); i++)
            all[i] = fill_byte(i);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_data_ptr(all.data());
        payload.set_data_length(static_cast<unsigned>(all.size()));
        BOOST_REQUIRE_EQUAL(mmu.out->transport_dbg(payload), all.size());
    }

    tlm_utils::simple_initiator_socket<bench> cpu{"cpu"}, control{"control"};
    pe_mmu mmu;
    hbm_slice slice;
};

const std::uint64_t first_start_ps = 1'000'000'000, apart_ps = 100'000'000;

std::uint64_t start_of(std::size_t number) {
    return first_start_ps + number * apart_ps;
}

std::string name_of(const char *kind, std::size_t number) { // so that texts are ordered as numbers are
    std::string digits = std::to_string(number);
    return kind + std::string(3 - digits.size(), '0') + digits;
}

// One scenario after the other, each on an MMU of its own; thread i makes access i of each, and so for changes.
void run_modules(std::vector<scenario> &scenarios) {
    std::deque<bench> benches;
    std::size_t accesses = 0, changes = 0;
    for (const scenario &s : scenarios) {
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), s);
        accesses = std::max(accesses, s.accesses.size());
        changes = std::max(changes, s.changes.size());
    }
    sc_core::sc_spawn([&] {
        for (std::size_t i = 0; i < scenarios.size(); i++) {
            benches[i].fill_memory();
            change first{TLA_OP_MAP, 0, 0, scenarios[i].mapped, TLA_READ | TLA_WRITE};
            if (!first.ranges.empty()) benches[i].make(first);
        }
    });
    const auto spawn = [&](const std::string &name, auto act) {
        sc_core::sc_spawn(
            [&scenarios, act] {
                for (std::size_t i = 0; i < scenarios.size(); i++)
                    act(i);
            },
            name.c_str());
    };
    const auto wait_until = [](std::uint64_t at_ps) { sc_core::wait(from_ps(at_ps) - sc_core::sc_time_stamp()); };
    for (std::size_t thread = accesses; thread-- > 0;) // made in an order that means nothing
        spawn(name_of("access", thread), [&, thread](std::size_t i) {
            if (thread >= scenarios[i].accesses.size()) return;
            access &mine = scenarios[i].accesses[thread];
            wait_until(start_of(i) + mine.issued_ps);
            benches[i].make(mine, thread);
            BOOST_REQUIRE_LT(mine.end_ps, start_of(i + 1));
        });
    for (std::size_t thread = changes; thread-- > 0;)
        spawn(name_of("change", thread), [&, thread](std::size_t i) {
            if (thread >= scenarios[i].changes.size()) return;
            change &mine = scenarios[i].changes[thread];
            wait_until(start_of(i) + mine.issued_ps);
            benches[i].make(mine);
            BOOST_REQUIRE_LT(mine.done_ps, start_of(i + 1));
        });
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING); // refusals are expected
    sc_core::sc_start();
}

// --- the plain model -------------------------------------------------------------------------------------------------

// Resources in the order of time's ties: threads that call, the MMU, the slice; commands are executed by threads that
// their window wakes, when everything else of that time is done.
enum { callers = 0, mmu_resource = 1, slice_resource = 2, commands = 3 };

struct seen { // how often what this test is about has happened
    std::uint64_t accesses = 0, refused = 0, commands = 0, failed = 0, repeated = 0;
};

class plain_run {
  public:
    plain_run(scenario &s, std::uint64_t start_ps)
        : s_(s), slice_{slice_resource, burst, channel_bandwidth, s.latency_ps, {}}, engine_(s.queue_depth),
          mmu_(
              e_, mmu_resource, s.how,
              [this](std::uint64_t, plain::picoseconds now, plain::arrived done) {
                  if (s_.level_ps > 0)
                      e_.at(now + 4 * s_.level_ps, mmu_resource, 0, done);
                  else
                      done(now); // before everything else of that time
              },
              &maps_) {
        slice_.channel.resize(channel_count);
        for (std::size_t i = 0; i < frames * page; i++)
            memory_.push_back(fill_byte(i));
        for (const range &r : s.mapped)
            for (std::uint64_t i = 0; i < r.count; i++)
                maps_.set(r.first + i, {true, (r.frame + i) * page, true, true}, 0);
        for (std::size_t i = 0; i < s.accesses.size(); i++)
            e_.at(start_ps + s.accesses[i].issued_ps, callers, 0, [this, i](plain::picoseconds now) { begin(i, now); });
        for (change &c : s.changes)
            e_.at(start_ps + c.issued_ps, commands, c.port, [&](plain::picoseconds now) { decide(c, now); });
        e_.run();
    }
    std::uint64_t repeated() const { return mmu_.repeated; }

  private:
    void begin(std::size_t number, plain::picoseconds now) {
        access &a = s_.accesses[number];
        a.data.assign(a.nbytes, a.write ? written_byte(number) : 0);
        mmu_.translate(
            a.write, a.va, a.nbytes, now, false,
            [this, number](plain::picoseconds at, const plain::mmu::translations &to) { leave(number, at, to); });
    }
    void leave(std::size_t number, plain::picoseconds at, const plain::mmu::translations &to) {
        access &a = s_.accesses[number];
        a.end_ps = at;
        for (const plain::translation &t : to) {
            if (t.permits(a.write)) continue;
            a.status = t.mapped ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
            return;
        }
        a.status = tlm::TLM_OK_RESPONSE;
        for (std::uint64_t done = 0; done < a.nbytes;) {
            const std::uint64_t va = a.va + done, part = std::min(a.nbytes - done, page - va % page);
            const std::uint64_t pa = to[va / page - a.va / page].pa + va % page;
            e_.at(at + s_.latency_ps, slice_resource, 0, [=, &a](plain::picoseconds) {
                for (std::uint64_t i = 0; i < part; i++)
                    (a.write ? memory_[pa + i] : a.data[done + i]) = a.write ? a.data[done + i] : memory_[pa + i];
            });
            slice_.access(e_, a.write, pa, part, at,
                          [&a](plain::picoseconds end) { a.end_ps = std::max(a.end_ps, end); });
            done += part;
        }
    }
    void decide(change &c, plain::picoseconds now) {
        plain::picoseconds takes = s_.cost.fixed_ps;
        c.status = check(c);
        std::vector<std::uint64_t> all;
        for (const range &r : c.ranges)
            for (std::uint64_t i = 0; i < r.count; i++)
                all.push_back(r.first + i);
        if (c.status == TLA_OK) {
            if (c.opcode != TLA_OP_INVALIDATE)
                takes += c.ranges.size() * s_.cost.chunk_ps + all.size() * s_.cost.pte_write_ps;
            if (c.opcode != TLA_OP_MAP) takes += s_.cost.invalidate_ps;
        }
        const plain::command_engine::service service = engine_.serve(now, takes);
        c.accepted_ps = service.accepted;
        c.done_ps = service.done;
        if (c.status != TLA_OK) return;
        if (c.opcode == TLA_OP_INVALIDATE)
            mmu_.invalidate(all);
        else
            mmu_.decided(all, service.done);
        for (const range &r : c.ranges)
            for (std::uint64_t i = 0; i < r.count; i++)
                if (c.opcode == TLA_OP_MAP)
                    maps_.set(r.first + i,
                              {true, (r.frame + i) * page, (c.flags & TLA_READ) != 0, (c.flags & TLA_WRITE) != 0},
                              service.done);
                else if (c.opcode == TLA_OP_UNMAP)
                    maps_.set(r.first + i, {}, service.done);
    }
    tla_status check(const change &c) const {
        std::vector<std::uint64_t> before; // pages of this command
        for (const range &r : c.ranges)
            for (std::uint64_t p = r.first; p < r.first + r.count; p++) {
                const bool mapped = maps_.latest(p).mapped, twice = std::count(before.begin(), before.end(), p) > 0;
                if (c.opcode == TLA_OP_MAP && (mapped || twice) && !s_.allow_remap) return TLA_OVERLAP;
                if (c.opcode == TLA_OP_UNMAP && (!mapped || twice)) return TLA_UNMAPPED;
                before.push_back(p);
            }
        return TLA_OK;
    }

    scenario &s_;
    plain::events e_;
    plain::channels slice_;
    plain::command_engine engine_;
    plain::mappings maps_;
    plain::mmu mmu_;
    bytes memory_;
};

// --- both ------------------------------------------------------------------------------------------------------------

// On a grid, so that arrivals, ends of walks and ends of commands often have the same time.
scenario random_scenario(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto random = [&](std::uint64_t below) { return generator() % below; };
    scenario s{};
    s.how.ideal = random(8) == 0;
    s.how.walkers = 1 + static_cast<std::uint32_t>(random(3));
    s.how.merge_slots = static_cast<std::uint32_t>(random(3));
    if (random(4)) {
        s.how.tlb_entries = 2 + static_cast<std::uint32_t>(random(6));
        s.how.tlb_ps = random(3) * 1000;
    }
    s.how.hit_under_miss = random(4) > 0;
    s.how.overhead_ps = random(2) * 1000;
    s.level_ps = random(6) ? std::uint64_t{25'000} << random(3) : 0;
    s.latency_ps = random(3) * 8000;
    s.allow_remap = random(3) > 0;
    s.queue_depth = static_cast<unsigned>(1 + random(3));
    s.cost.fixed_ps = random(4) * 50'000;
    s.cost.chunk_ps = random(2) * 3000;
    s.cost.pte_write_ps = random(2) * 10'000;
    s.cost.invalidate_ps = random(2) * 5000;
    const std::uint64_t grid = random(2) ? 1000 : 25'000, within = (100 + random(8) * 100) * 1000 / grid;
    for (std::uint64_t p = 0, count = 1; p < pages; p += count, count = 1)
        if (random(4)) {
            count = 1 + random(std::min<std::uint64_t>(random(2) ? 4 : 1, pages - p));
            s.mapped.push_back({p, count, random(frames - count)});
        }
    for (std::uint64_t i = 4 + random(16); i > 0; i--) {
        const std::uint64_t first = random(pages), last = std::min(pages - 1, first + (random(3) ? 0 : random(4)));
        const std::uint64_t va = first * page + random(page);
        const std::uint64_t end = last == first ? va + 1 + random(std::min<std::uint64_t>(300, page - va % page))
                                                : last * page + 1 + random(page);
        s.accesses.push_back({va, end - va, random(within) * grid, random(3) == 0});
    }
    const tla_opcode opcodes[] = {TLA_OP_MAP, TLA_OP_UNMAP, TLA_OP_INVALIDATE};
    for (unsigned port = 0, count = static_cast<unsigned>(1 + random(8)); port < count; port++) {
        change c{opcodes[random(3)], port, random(within) * grid, {}, TLA_READ | TLA_WRITE};
        if (random(3) == 0) c.flags = random(2) ? TLA_READ : TLA_WRITE;
        for (std::uint64_t i = random(3) ? 1 : 2; i > 0; i--) {
            const std::uint64_t first = random(pages),
                                count_of_pages = 1 + random(std::min<std::uint64_t>(3, pages - first));
            c.ranges.push_back({first, count_of_pages, random(frames - count_of_pages)});
        }
        s.changes.push_back(c);
    }
    return s;
}

std::string text_of(const scenario &s) {
    std::ostringstream text;
    text << (s.how.ideal ? "ideal" : "flat") << ", " << s.how.walkers << " walkers, " << s.how.merge_slots
         << " slots, TLB " << s.how.tlb_entries << " of " << s.how.tlb_ps << " ps, hit under miss "
         << s.how.hit_under_miss << ", overhead " << s.how.overhead_ps << ", level " << s.level_ps << " ps, remap "
         << s.allow_remap << ", queue " << s.queue_depth << ", slice " << s.latency_ps;
    for (const range &r : s.mapped)
        text << "\n    " << r.count << " pages from " << r.first << " at frame " << r.frame;
    for (std::size_t i = 0; i < s.accesses.size(); i++)
        text << "\n    access " << i << " at " << s.accesses[i].issued_ps
             << (s.accesses[i].write ? " writes " : " reads ") << s.accesses[i].nbytes << " at "
             << s.accesses[i].va / page << "+" << s.accesses[i].va % page;
    for (const change &c : s.changes) {
        text << "\n    " << tla_opcode_name(c.opcode) << " at " << c.issued_ps << ", port " << c.port << ", flags "
             << c.flags;
        for (const range &r : c.ranges)
            text << "; " << r.count << " from " << r.first << " to " << r.frame;
    }
    return text.str();
}

// Empty where both agree; else the first difference.
std::string difference(const scenario &ours, const scenario &theirs, std::uint64_t start_ps) {
    std::ostringstream text;
    for (std::size_t i = 0; i < ours.changes.size(); i++) {
        const change &c = ours.changes[i], &d = theirs.changes[i];
        if (c.accepted_ps == d.accepted_ps && c.done_ps == d.done_ps && c.status == d.status) continue;
        text << "change " << i << " was accepted at " << c.accepted_ps - start_ps << ", done at "
             << c.done_ps - start_ps << " with " << tla_status_name(c.status) << ", should " << d.accepted_ps - start_ps
             << ", " << d.done_ps - start_ps << " with " << tla_status_name(d.status) << "\n";
        break;
    }
    for (std::size_t i = 0; i < ours.accesses.size(); i++) {
        const access &a = ours.accesses[i], &b = theirs.accesses[i];
        if (a.end_ps == b.end_ps && a.status == b.status && (a.status != tlm::TLM_OK_RESPONSE || a.data == b.data))
            continue;
        text << "access " << i << " ended at " << a.end_ps - start_ps << " with " << a.status << ", should "
             << b.end_ps - start_ps << " with " << b.status << (a.data == b.data ? "" : ", other bytes") << "\n";
        break;
    }
    return text.str();
}

seen compare(std::vector<scenario> scenarios, std::uint64_t seed = 0) {
    std::vector<scenario> expected = scenarios;
    seen all;
    for (std::size_t i = 0; i < expected.size(); i++)
        all.repeated += plain_run(expected[i], start_of(i)).repeated();
    run_modules(scenarios);
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < scenarios.size(); i++) {
        const std::string what = difference(scenarios[i], expected[i], start_of(i));
        differ += !what.empty();
        if (!what.empty() && differ <= 3)
            BOOST_ERROR("TLMALLOC_SEED=" << seed + i << ": " << what << "  " << text_of(scenarios[i]));
        for (const access &a : expected[i].accesses) {
            all.accesses++;
            all.refused += a.status != tlm::TLM_OK_RESPONSE;
        }
        for (const change &c : expected[i].changes) {
            all.commands++;
            all.failed += c.status != TLA_OK;
        }
    }
    BOOST_CHECK_EQUAL(differ, 0u);
    BOOST_TEST_MESSAGE(scenarios.size() << " scenarios, " << differ << " differ; " << all.accesses << " accesses ("
                                        << all.refused << " refused, " << all.repeated << " lookups repeated), "
                                        << all.commands << " commands (" << all.failed << " failed)");
    return all;
}

} // namespace

// TLMALLOC_SEED: one scenario, or the first of TLMALLOC_SCENARIOS.
BOOST_AUTO_TEST_CASE(random_accesses_and_commands_take_the_time_of_the_plain_event_model) {
    const char *const seed = std::getenv("TLMALLOC_SEED"), *const count = std::getenv("TLMALLOC_SCENARIOS");
    const std::uint64_t first = seed ? std::strtoull(seed, nullptr, 0) : 1,
                        many = count  ? std::strtoull(count, nullptr, 0)
                               : seed ? 1
                                      : 1000;
    std::vector<scenario> scenarios;
    for (std::uint64_t i = 0; i < many; i++)
        scenarios.push_back(random_scenario(first + i));
    const seen all = compare(std::move(scenarios), first);
    if (many < 1000) return;
    BOOST_CHECK_GT(all.refused * 20, all.accesses);
    BOOST_CHECK_GT(all.failed * 20, all.commands);
    BOOST_CHECK_GT(all.repeated * 200, all.accesses);
}
