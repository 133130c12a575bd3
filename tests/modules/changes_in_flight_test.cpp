// MAP, UNMAP and INVALIDATE while accesses and walks are under way: when each access is answered, with which bytes or
// which error, and when each command is done. Beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "mmu_scenarios.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <memory>
#include <random>

namespace {

using namespace scenarios;

// Pages of an address space, in two of the lowest tables. Two more pages keep these tables where they are.
const std::uint64_t first_page = 507, pages = 10, anchors[] = {0, 1000}, frames = 24;
const std::uint64_t table_count = 5; // of an address space: three levels, then two

struct range {
    std::uint64_t first, count, frame; // count: pages; 0: the whole address space
    std::uint32_t asid;
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
    bool in_memory; // the tables
    std::uint32_t asids;
    std::uint64_t level_ps, latency_ps; // of a walk's level, of the slice
    bool allow_remap;
    unsigned queue_depth;
    tla_cost_profile cost{};
    std::vector<range> mapped; // at the start
    std::vector<memory_access> accesses;
    std::vector<change> changes;
};

tla_command command_of(const change &c) {
    tla_command command = map_command(TLA_TARGET_PE_MMU, c.opcode, {});
    for (const range &r : c.ranges)
        command.entries[command.count++] = {{r.first * page}, {r.frame * page}, r.count * page, c.flags, r.asid};
    return command;
}

// --- the modules -----------------------------------------------------------------------------------------------------

// The MMU of one scenario, and who uses it. Data and tables lie in the slice of a controller.
struct bench : sc_core::sc_module {
    bench(sc_core::sc_module_name name, const scenario &of)
        : sc_module(name), s(of), mmu("mmu", config_of(s)), controller("controller", controller_config()),
          slice("slice", slice_config(slice_bytes, s.latency_ps)) {
        cpu.bind(mmu.in);
        control.bind(mmu.control);
        allocator.bind(controller.control);
        mmu.out.bind(controller.in);
        controller.slice.bind(slice.in);
        if (!s.in_memory) return;
        mmu.walk.bind(controller.in);
        mmu.allocator.bind(controller.control);
    }
    static pe_mmu::config config_of(const scenario &s) {
        pe_mmu::config c = mmu_config(s.how, s.level_ps);
        if (s.in_memory) c.walk = TLA_WALK_MEMORY;
        c.asids = s.asids;
        c.allow_remap = s.allow_remap;
        c.queue_depth = s.queue_depth;
        c.cost = s.cost;
        c.allocator_port = 1;
        return c;
    }
    static memory_controller::config controller_config() {
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_HBM].bytes = slice_bytes;
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.memory.layout = TLA_LAYOUT_PLAIN;
        return c;
    }
    void make(change &c) {
        sc_core::sc_time delay;
        write_command(*control.operator->(), c.port, command_of(c), delay);
        c.accepted_ps = local_ps(delay);
        c.status = static_cast<tla_status>(await_completion(*control.operator->(), c.port, delay).status);
        c.done_ps = local_ps(delay);
        sc_core::wait(delay);
    }
    // Tables are allocated behind the data, those of an address space together.
    void prepare() {
        fill_memory(mmu, frames * page);
        sc_core::sc_time delay;
        write_command(*allocator.operator->(), 0, alloc_command(TLA_HBM, frames * page), delay);
        BOOST_REQUIRE_EQUAL(await_completion(*allocator.operator->(), 0, delay).value, 0u);
        sc_core::wait(delay);
        for (std::uint32_t asid = 0; asid < s.asids; asid++) {
            change first{TLA_OP_MAP, 0, 0, {{anchors[0], 1, 0, asid}, {anchors[1], 1, 0, asid}}, TLA_READ};
            make(first);
            first = {TLA_OP_MAP, 0, 0, {}, TLA_READ | TLA_WRITE};
            for (const range &r : s.mapped)
                if (r.asid == asid) first.ranges.push_back(r);
            if (!first.ranges.empty()) make(first);
            BOOST_REQUIRE_EQUAL(first.status, first.ranges.empty() ? TLA_STATUS_COUNT : TLA_OK);
        }
    }

    static constexpr std::uint64_t slice_bytes = 64 * page;
    const scenario &s;
    tlm_utils::simple_initiator_socket<bench> cpu{"cpu"}, control{"control"}, allocator{"allocator"};
    pe_mmu mmu;
    memory_controller controller;
    hbm_slice slice;
};

// One scenario after the other, each on an MMU of its own; thread i makes access i of each, and so for changes.
void run_modules(std::vector<scenario> &all) {
    std::deque<bench> benches;
    for (const scenario &s : all)
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), s);
    sc_core::sc_spawn([&] {
        for (std::size_t i = 0; i < benches.size(); i++) {
            sc_core::wait(from_ps(start_of(i) - apart_ps / 2) - sc_core::sc_time_stamp());
            benches[i].prepare();
            BOOST_REQUIRE_LT(to_ps(sc_core::sc_time_stamp()), start_of(i));
        }
    });
    spawn_threads(all, "access", &scenario::accesses, [&](std::size_t i, std::size_t number) {
        make(*benches[i].cpu.operator->(), all[i].accesses[number], number);
    });
    spawn_threads(all, "change", &scenario::changes,
                  [&](std::size_t i, std::size_t number) { benches[i].make(all[i].changes[number]); });
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING); // refusals are expected
    sc_core::sc_start();
}

// --- the plain model -------------------------------------------------------------------------------------------------

// Resources in the order of time's ties: threads that are due, first the one that executes commands; the slice, the
// MMU; threads that these wake, from which commands come.
enum { executing, callers, slice_resource, mmu_resource, commands };
enum { data_input, walk_input };    // of the slice
enum { access_entry, write_entry }; // of callers: inputs of the MMU and of the controller, by their numbers

struct seen { // how often what this test is about has happened
    std::uint64_t accesses = 0, refused = 0, commands = 0, failed = 0, repeated = 0, ranged = 0;
};

std::uint64_t key_of(std::uint32_t asid, std::uint64_t number) {
    return std::uint64_t{asid} << plain::mmu::asid_shift | number;
}

// Where the entry of a page is, of a level.
std::uint64_t entry_at(std::uint64_t key, unsigned level) {
    const std::uint64_t tables = frames + (key >> plain::mmu::asid_shift) * table_count, number = key % 1024;
    if (level < 3) return (tables + level) * page + (level == 2 ? 8 * (number / 512) : 0);
    return (tables + 3 + number / 512) * page + 8 * (number % 512);
}

class plain_run {
  public:
    plain_run(scenario &s, std::uint64_t start_ps)
        : s_(s), slice_(slice_resource, frames * page, s.latency_ps), engine_(s.queue_depth),
          mmu_(
              e_, mmu_resource, s.how,
              [this](std::uint64_t, plain::picoseconds now, plain::arrived done) {
                  if (s_.level_ps > 0)
                      e_.at(now + 4 * s_.level_ps, mmu_resource, 0, done);
                  else
                      done(now); // before everything else of that time
              },
              &maps_) {
        if (s.in_memory)
            mmu_.walk_in_memory = [this](std::uint64_t key, plain::picoseconds now, const plain::mmu::read_leaf &done) {
                read_entry(key, 0, now, done);
            };
        for (const range &r : s.mapped)
            for (std::uint64_t i = 0; i < r.count; i++) {
                const plain::translation to{true, (r.frame + i) * page, true, true};
                maps_.set(key_of(r.asid, r.first + i), to, 0);
                leaves_[key_of(r.asid, r.first + i)] = to;
            }
        for (std::size_t i = 0; i < s.accesses.size(); i++)
            e_.at(start_ps + s.accesses[i].issued_ps, callers, access_entry,
                  [this, i](plain::picoseconds now) { begin(i, now); });
        for (change &c : s.changes)
            e_.at(start_ps + c.issued_ps, commands, c.port, [&](plain::picoseconds now) {
                if (s_.in_memory)
                    enqueue(c, now);
                else
                    decide(c, now);
            });
        e_.run();
    }
    std::uint64_t repeated() const { return mmu_.repeated; }
    std::uint64_t ranged() const { return mmu_.ranged; }

  private:
    void begin(std::size_t number, plain::picoseconds now) {
        memory_access &a = s_.accesses[number];
        give_data(a, number);
        mmu_.translate(
            a.write, key_of(a.asid, 0) * page + a.va, a.nbytes, now, false,
            [this, &a](plain::picoseconds at, const plain::mmu::translations &to) { slice_.serve(e_, a, at, to); });
    }
    void read_entry(std::uint64_t key, unsigned level, plain::picoseconds now, const plain::mmu::read_leaf &done) {
        const auto leaf = std::make_shared<plain::translation>();
        e_.at(now + s_.latency_ps, slice_resource, walk_input, [=](plain::picoseconds) { *leaf = leaves_[key]; });
        slice_.timing.access(
            e_, false, entry_at(key, level), 8, now,
            [=](plain::picoseconds end) {
                e_.at(end, mmu_resource, 0, [=](plain::picoseconds at) {
                    if (level < 3)
                        read_entry(key, level + 1, at, done);
                    else
                        done(at, *leaf);
                });
            },
            walk_input);
    }

    // --- what a command changes ---

    std::vector<std::uint64_t> keys_of(const change &c) const {
        std::vector<std::uint64_t> all;
        for (const range &r : c.ranges)
            for (std::uint64_t i = 0; i < (r.count ? r.count : pages); i++)
                all.push_back(key_of(r.asid, (r.count ? r.first : first_page) + i));
        return all;
    }
    static bool maps_pages(const change &c) { return c.opcode == TLA_OP_MAP || c.opcode == TLA_OP_REMAP; }
    tla_status check(const change &c) const {
        std::vector<std::uint64_t> before; // pages of this command
        for (const std::uint64_t key : keys_of(c)) {
            const bool mapped = maps_.latest(key).mapped, twice = std::count(before.begin(), before.end(), key) > 0;
            if (c.opcode == TLA_OP_MAP && (mapped || twice) && !s_.allow_remap) return TLA_OVERLAP;
            if (c.opcode == TLA_OP_UNMAP && (!mapped || twice)) return TLA_UNMAPPED;
            if (c.opcode == TLA_OP_REMAP && !mapped) return TLA_UNMAPPED;
            before.push_back(key);
        }
        return TLA_OK;
    }
    plain::picoseconds price_of(const change &c) const {
        plain::picoseconds price = s_.cost.fixed_ps;
        if (c.status != TLA_OK) return price;
        if (c.opcode != TLA_OP_INVALIDATE)
            price += c.ranges.size() * s_.cost.chunk_ps + keys_of(c).size() * s_.cost.pte_write_ps;
        return price + (maps_pages(c) ? 0 : s_.cost.invalidate_ps);
    }
    void apply(const change &c, plain::picoseconds visible) {
        if (c.opcode == TLA_OP_INVALIDATE) {
            mmu_.invalidate(keys_of(c));
            return;
        }
        mmu_.decided(keys_of(c), visible);
        for (const range &r : c.ranges)
            for (std::uint64_t i = 0; i < r.count; i++) {
                plain::translation to;
                if (maps_pages(c))
                    to = {true, (r.frame + i) * page, (c.flags & TLA_READ) != 0, (c.flags & TLA_WRITE) != 0};
                maps_.set(key_of(r.asid, r.first + i), to, visible);
            }
    }

    // Tables that are nowhere: a command is decided when it arrives.
    void decide(change &c, plain::picoseconds now) {
        c.status = check(c);
        const auto service = engine_.serve(now, price_of(c));
        c.accepted_ps = service.accepted;
        c.done_ps = service.done;
        if (c.status == TLA_OK) apply(c, service.done);
    }

    // Tables in memory: commands are executed one after the other. Each is decided when its turn has come, writes its
    // entries, and is done when it has taken its price besides.
    void enqueue(change &c, plain::picoseconds now) {
        if (queue_.size() > s_.queue_depth) {
            waiting_.push_back(&c);
            return;
        }
        c.accepted_ps = now;
        queue_.push_back(&c);
        if (queue_.size() == 1) execute(now);
    }
    void execute(plain::picoseconds now) {
        change &c = *queue_.front();
        c.status = check(c);
        std::vector<std::vector<std::uint64_t>> writes;
        if (c.status == TLA_OK && c.opcode != TLA_OP_INVALIDATE) writes = writes_of(c);
        if (c.status == TLA_OK) apply(c, plain::not_said);
        write(c, writes, 0, now);
    }
    // Neighbours are written together. A page that is mapped again is written twice, one that is remapped once.
    std::vector<std::vector<std::uint64_t>> writes_of(const change &c) const {
        std::vector<std::uint64_t> order, mapped;
        for (const range &r : c.ranges) {
            const std::vector<std::uint64_t> keys = keys_of({c.opcode, 0, 0, {r}, 0});
            for (const std::uint64_t key : c.opcode == TLA_OP_REMAP ? std::vector<std::uint64_t>() : keys)
                if (maps_.latest(key).mapped || std::count(mapped.begin(), mapped.end(), key)) order.push_back(key);
            if (maps_pages(c)) order.insert(order.end(), keys.begin(), keys.end());
            mapped.insert(mapped.end(), keys.begin(), keys.end());
        }
        std::vector<std::vector<std::uint64_t>> writes;
        for (const std::uint64_t key : order) {
            const bool follows = !writes.empty() && writes.back().back() + 1 == key && key % 512 != 0;
            if (!follows) writes.emplace_back();
            writes.back().push_back(key);
        }
        return writes;
    }
    void write(change &c, const std::vector<std::vector<std::uint64_t>> &writes, std::size_t i,
               plain::picoseconds now) {
        if (i == writes.size()) {
            finish(c, now);
            return;
        }
        e_.at(now, callers, write_entry, [=, &c](plain::picoseconds) {
            e_.at(now + s_.latency_ps, slice_resource, walk_input, [=](plain::picoseconds) {
                for (const std::uint64_t key : writes[i])
                    leaves_[key] = maps_.latest(key);
            });
            slice_.timing.access(
                e_, true, entry_at(writes[i][0], 3), 8 * writes[i].size(), now,
                [=, &c](plain::picoseconds end) {
                    e_.at(end, executing, 0, [=, &c](plain::picoseconds at) { write(c, writes, i + 1, at); });
                },
                walk_input);
        });
    }
    void finish(change &c, plain::picoseconds now) {
        c.done_ps = now + price_of(c);
        if (c.status == TLA_OK && c.opcode != TLA_OP_INVALIDATE) {
            mmu_.show(c.done_ps);
            maps_.show(c.done_ps);
        }
        const auto next = [this](plain::picoseconds at) {
            queue_.pop_front();
            if (!waiting_.empty()) {
                queue_.push_back(waiting_.front());
                waiting_.pop_front();
                queue_.back()->accepted_ps = at;
            }
            if (!queue_.empty()) execute(at);
        };
        if (c.done_ps > now)
            e_.at(c.done_ps, executing, 0, next);
        else
            next(now);
    }

    scenario &s_;
    plain::events e_;
    plain_memory slice_;
    plain::command_engine engine_;
    plain::mappings maps_;
    std::map<std::uint64_t, plain::translation> leaves_; // entries in memory
    plain::mmu mmu_;
    std::deque<change *> queue_, waiting_; // the first is executed
};

// --- both ------------------------------------------------------------------------------------------------------------

// On a grid, so that arrivals, ends of walks and ends of commands often have the same time.
scenario random_scenario(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const auto random = [&](std::uint64_t below) { return generator() % below; };
    scenario s{};
    s.how.ideal = random(8) == 0;
    s.in_memory = !s.how.ideal && random(2);
    s.asids = 1 + static_cast<std::uint32_t>(random(2) * random(3));
    s.how.walkers = 1 + static_cast<std::uint32_t>(random(3));
    s.how.merge_slots = static_cast<std::uint32_t>(random(3));
    if (random(4)) {
        s.how.tlb_entries = 2 + static_cast<std::uint32_t>(random(6));
        s.how.tlb_ps = random(3) * 1000;
    }
    if (random(2)) {
        s.how.tlb2_entries = 2 + static_cast<std::uint32_t>(random(12));
        s.how.tlb2_ps = random(4) * 1000;
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
    const auto some_asid = [&] { return static_cast<std::uint32_t>(random(s.asids)); };
    for (std::uint32_t asid = 0; asid < s.asids; asid++)
        for (std::uint64_t p = 0, count = 1; p < pages; p += count, count = 1)
            if (random(4)) {
                count = 1 + random(std::min<std::uint64_t>(random(2) ? 4 : 1, pages - p));
                s.mapped.push_back({first_page + p, count, random(frames - count), asid});
            }
    for (std::uint64_t i = 4 + random(16); i > 0; i--) {
        const std::uint64_t first = random(pages), last = std::min(pages - 1, first + (random(3) ? 0 : random(4)));
        const std::uint64_t va = (first_page + first) * page + random(page);
        const std::uint64_t end = last == first ? va + 1 + random(std::min<std::uint64_t>(300, page - va % page))
                                                : (first_page + last) * page + 1 + random(page);
        s.accesses.push_back({va, end - va, random(within) * grid, random(3) == 0, some_asid()});
    }
    const tla_opcode opcodes[] = {TLA_OP_MAP, TLA_OP_UNMAP, TLA_OP_INVALIDATE, TLA_OP_REMAP};
    for (unsigned port = 0, count = static_cast<unsigned>(1 + random(8)); port < count; port++) {
        change c{opcodes[random(4)], port, random(within) * grid, {}, TLA_READ | TLA_WRITE};
        if (random(3) == 0) c.flags = random(2) ? TLA_READ : TLA_WRITE;
        for (std::uint64_t i = random(3) ? 1 : 2; i > 0; i--) {
            const std::uint64_t first = random(pages), many = 1 + random(std::min<std::uint64_t>(3, pages - first));
            c.ranges.push_back({first_page + first, many, random(frames - many), some_asid()});
            if (c.opcode == TLA_OP_INVALIDATE && random(4) == 0) c.ranges.back().count = 0;
        }
        s.changes.push_back(c);
    }
    if (!s.how.ideal && !s.in_memory && random(2)) s.how.ranges = 1 + static_cast<std::uint32_t>(random(3));
    return s;
}

std::string text_of(const scenario &s) {
    std::ostringstream text;
    text << (s.how.ideal   ? "ideal"
             : s.in_memory ? "memory"
                           : "flat")
         << ", " << s.asids << " address spaces, " << s.how.walkers << " walkers, " << s.how.merge_slots
         << " slots, TLB " << s.how.tlb_entries << " of " << s.how.tlb_ps << " ps, then " << s.how.tlb2_entries
         << " of " << s.how.tlb2_ps << " ps, hit under miss " << s.how.hit_under_miss << ", overhead "
         << s.how.overhead_ps << ", " << s.how.ranges << " ranges, level " << s.level_ps << " ps, remap "
         << s.allow_remap << ", queue " << s.queue_depth << ", slice " << s.latency_ps;
    for (const range &r : s.mapped)
        text << "\n    " << r.count << " pages from " << r.asid << "." << r.first << " at frame " << r.frame;
    for (std::size_t i = 0; i < s.accesses.size(); i++)
        text << "\n    access " << i << " at " << s.accesses[i].issued_ps
             << (s.accesses[i].write ? " writes " : " reads ") << s.accesses[i].nbytes << " at " << s.accesses[i].asid
             << "." << s.accesses[i].va / page << "+" << s.accesses[i].va % page;
    for (const change &c : s.changes) {
        text << "\n    " << tla_opcode_name(c.opcode) << " at " << c.issued_ps << ", port " << c.port << ", flags "
             << c.flags;
        for (const range &r : c.ranges)
            text << "; " << r.count << " from " << r.asid << "." << r.first << " to " << r.frame;
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
    return text.str() + scenarios::difference(ours.accesses, theirs.accesses, start_ps);
}

seen compare(std::vector<scenario> ours, std::uint64_t seed) {
    std::vector<scenario> expected = ours;
    seen all;
    for (std::size_t i = 0; i < expected.size(); i++) {
        const plain_run run(expected[i], start_of(i));
        all.repeated += run.repeated();
        all.ranged += run.ranged();
    }
    run_modules(ours);
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < ours.size(); i++) {
        const std::string what = difference(ours[i], expected[i], start_of(i));
        differ += !what.empty();
        if (!what.empty() && differ <= 3)
            BOOST_ERROR("TLMALLOC_SEED=" << seed + i << ": " << what << "  " << text_of(ours[i]));
        for (const memory_access &a : expected[i].accesses) {
            all.accesses++;
            all.refused += a.status != tlm::TLM_OK_RESPONSE;
        }
        for (const change &c : expected[i].changes) {
            all.commands++;
            all.failed += c.status != TLA_OK;
        }
    }
    BOOST_CHECK_EQUAL(differ, 0u);
    BOOST_TEST_MESSAGE(ours.size() << " scenarios, " << differ << " differ; " << all.accesses << " accesses ("
                                   << all.refused << " refused, " << all.repeated << " lookups repeated, " << all.ranged
                                   << " served by ranges), " << all.commands << " commands (" << all.failed
                                   << " failed)");
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_and_commands_take_the_time_of_the_plain_event_model) {
    const range_of_seeds seeds(1000);
    std::vector<scenario> all;
    for (std::uint64_t i = 0; i < seeds.many; i++)
        all.push_back(random_scenario(seeds.first + i));
    const seen met = compare(std::move(all), seeds.first);
    if (seeds.many < 1000) return;
    BOOST_CHECK_GT(met.refused * 20, met.accesses);
    BOOST_CHECK_GT(met.failed * 20, met.commands);
    BOOST_CHECK_GT(met.repeated * 200, met.accesses);
    BOOST_CHECK_GT(met.ranged * 200, met.accesses);
}
