// The order in which modules are constructed and bound changes no time, though accesses meet at equal times.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <boost/test/unit_test.hpp>
#include <list>
#include <numeric>
#include <random>
#include <tlm_utils/simple_target_socket.h>

using namespace tlmalloc;

namespace {

const std::uint64_t memory_bytes = 1 << 16;

struct step {
    bool write, in_tcm;
    unsigned memory;
    std::uint64_t offset, nbytes, pause_ps;
};
using program = std::vector<step>;

// Few sizes and pauses, and times that are multiples of a nanosecond, so that many accesses arrive at equal times.
program random_program(std::mt19937 &random, unsigned steps, unsigned memories) {
    program result;
    for (unsigned i = 0; i < steps; i++) {
        const std::uint64_t nbytes = random() % 4 ? 64 : 256;
        result.push_back({random() % 2 == 0, random() % 2 == 0, static_cast<unsigned>(random() % memories),
                          random() % (memory_bytes / 256) * 256, nbytes, random() % 3 * 8000});
    }
    return result;
}

// One access after the other, each in its own way.
class master : public sc_core::sc_module {
  public:
    master(sc_core::sc_module_name name, program steps) : sc_module(name), steps_(std::move(steps)) {
        TLMALLOC_HAS_PROCESS(master);
        SC_THREAD(run);
    }

    std::vector<std::uint64_t> seen; // of every access when its answer is there, and what it has read
    bool is_done = false;

  protected:
    virtual std::uint64_t perform(const step &what, std::uint64_t address, sc_core::sc_time &delay) = 0;

  private:
    void run() {
        sc_core::sc_time delay;
        for (const step &s : steps_) {
            delay += from_ps(s.pause_ps);
            tla_paddr pa{};
            if (s.in_tcm)
                tla_paddr_pe_tcm(0, 0, s.memory, s.offset, &pa);
            else
                tla_paddr_pe_hbm(0, 0, s.memory, s.offset, memory_bytes, &pa);
            const std::uint64_t sum = perform(s, pa.value, delay);
            seen.insert(seen.end(), {local_ps(delay), sum});
            number_++;
        }
        is_done = true;
    }

  protected:
    unsigned number_ = 0;

  private:
    const program steps_;
};

class processor : public master {
  public:
    testing::initiator from{"from"};
    using master::master;

  private:
    std::uint64_t perform(const step &what, std::uint64_t address, sc_core::sc_time &delay) override {
        std::vector<std::uint8_t> bytes(what.nbytes, static_cast<std::uint8_t>(number_));
        tlm::tlm_generic_payload &payload =
            from.make(what.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, bytes.data(), bytes.size());
        from.transport(payload, delay);
        BOOST_CHECK(payload.is_response_ok());
        from.give_back(payload);
        return std::accumulate(bytes.begin(), bytes.end(), 0ul);
    }
};

class engine : public master {
  public:
    pe_dma dma{"dma", pe_dma::config{}};

    engine(sc_core::sc_module_name name, program steps, unsigned home) : master(name, std::move(steps)) {
        tla_paddr_pe_tcm(0, 0, home, 0, &tile_);
    }

  private:
    std::uint64_t perform(const step &what, std::uint64_t address, sc_core::sc_time &delay) override {
        pe_dma::request request{what.write ? pe_dma::direction::write : pe_dma::direction::read,
                                {address},
                                tile_,
                                1,
                                4 * what.nbytes,
                                4 * what.nbytes};
        request.physical = true;
        if (what.offset + request.row_bytes > memory_bytes) request.row_bytes = request.pitch = what.nbytes;
        BOOST_CHECK_EQUAL(dma.transfer(request, delay), TLA_OK);
        return 0;
    }

    tla_paddr tile_{};
};

enum class role { beside_a_controller, at_the_fabric, behind_an_mmu, dma };

struct plan {
    unsigned memories;
    std::vector<role> roles;
    std::vector<program> programs;
    const char *timing;

    explicit plan(std::mt19937 &random)
        : memories(static_cast<unsigned>(1 + random() % 3)), roles(2 + random() % 6),
          timing(random() % 3 ? nullptr : "hbm3") {
        for (role &r : roles) {
            r = static_cast<role>(random() % 4);
            programs.push_back(random_program(random, 40, memories));
            if (r == role::beside_a_controller) // which has two memories
                for (step &s : programs.back())
                    s.memory = home_of(programs.size() - 1);
        }
    }
    unsigned home_of(std::size_t number) const { return static_cast<unsigned>(number % memories); }
};

// The modules of a plan, each with the same name, constructed and bound in an order of its own; 0: as they are listed.
class top : public sc_core::sc_module {
  public:
    top(sc_core::sc_module_name name, const plan &of, unsigned order)
        : sc_module(name), plan_(of), controllers_(of.memories), slices_(of.memories), tcms_(of.memories),
          commands_(of.memories), masters_(of.roles.size()), mmus_(of.roles.size()), mappings_(of.roles.size()) {
        list_memories();
        for (std::size_t i = 0; i < of.roles.size(); i++)
            list_master(i);
        std::mt19937 random(order);
        if (order) std::shuffle(bindings_.begin(), bindings_.end(), random);
        makes_.emplace_back([this] { fabric_ = std::make_unique<interconnect>("fabric", fabric_of_bindings()); });
        if (order) std::shuffle(makes_.begin(), makes_.end(), random);
        for (const auto &make : makes_)
            make();
        for (const binding &b : bindings_)
            b.bind();
    }

    void check_same_as(const top &other) const {
        for (std::size_t i = 0; i < masters_.size(); i++) {
            BOOST_REQUIRE(masters_[i]->is_done && other.masters_[i]->is_done);
            const auto &a = masters_[i]->seen, &b = other.masters_[i]->seen;
            const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
            if (differ.first != a.end())
                BOOST_ERROR(other.masters_[i]->name() << ": access " << (differ.first - a.begin()) / 2 << " differs: "
                                                      << *differ.second << " instead of " << *differ.first);
        }
    }

  private:
    struct binding {
        std::function<void()> bind;
        int source_node = -1, target = -1; // of the fabric
    };
    enum { router, left, right, first_memory };

    void list_memories() {
        for (unsigned i = 0; i < plan_.memories; i++) {
            const std::string n = std::to_string(i);
            makes_.emplace_back([this, i, n] {
                memory_controller::config c = bare<memory_controller>();
                c.memory.pe = i;
                c.memory.of[TLA_HBM].bytes = memory_bytes;
                c.memory.of[TLA_TCM].bytes = memory_bytes;
                c.memory.of[TLA_TCM].reserved = 0;
                controllers_[i] = std::make_unique<memory_controller>(("controller" + n).c_str(), c);
            });
            makes_.emplace_back([this, i, n] {
                hbm_slice::config c = bare<hbm_slice>();
                c.capacity = memory_bytes;
                c.pseudo_channels = 2;
                if (plan_.timing) tla_timing_named(plan_.timing, &c.timing.emplace());
                slices_[i] = std::make_unique<hbm_slice>(("slice" + n).c_str(), c);
            });
            makes_.emplace_back([this, i, n] {
                tcm::config c = bare<tcm>();
                c.capacity = memory_bytes;
                tcms_[i] = std::make_unique<tcm>(("tcm" + n).c_str(), c);
            });
            makes_.emplace_back(
                [this, i, n] { commands_[i] = std::make_unique<testing::initiator>(("commands" + n).c_str()); });
            bindings_.push_back({[this, i] { controllers_[i]->slice.bind(slices_[i]->in); }});
            bindings_.push_back({[this, i] { controllers_[i]->tcm.bind(tcms_[i]->in); }});
            bindings_.push_back({[this, i] { commands_[i]->out.bind(controllers_[i]->control); }});
            bindings_.push_back({[this, i] { fabric_->out.bind(controllers_[i]->in); }, -1, static_cast<int>(i)});
        }
    }

    void list_master(std::size_t i) {
        const std::string n = std::to_string(i);
        const role as = plan_.roles[i];
        const int node = i % 3 ? left : right;
        const unsigned home = plan_.home_of(i);
        makes_.emplace_back([this, i, n, as, home] {
            if (as == role::dma)
                masters_[i] = std::make_unique<engine>(("master" + n).c_str(), plan_.programs[i], home);
            else
                masters_[i] = std::make_unique<processor>(("master" + n).c_str(), plan_.programs[i]);
        });
        const auto out = [ this, i ]() -> auto & {
            return static_cast<processor &>(*masters_[i]).from.out;
        };
        const auto dma = [this, i]() -> pe_dma & { return static_cast<engine &>(*masters_[i]).dma; };
        switch (as) {
        case role::beside_a_controller:
            bindings_.push_back({[this, out, home] { out().bind(controllers_[home]->in); }});
            break;
        case role::at_the_fabric:
            bindings_.push_back({[this, out] { out().bind(fabric_->in); }, node});
            break;
        case role::behind_an_mmu:
            makes_.emplace_back([this, i, n] {
                pe_mmu::config c = bare<pe_mmu>();
                c.unmapped = TLA_UNMAPPED_PA_FALLBACK;
                mmus_[i] = std::make_unique<pe_mmu>(("mmu" + n).c_str(), c);
            });
            makes_.emplace_back(
                [this, i, n] { mappings_[i] = std::make_unique<testing::initiator>(("mappings" + n).c_str()); });
            bindings_.push_back({[this, i] { mappings_[i]->out.bind(mmus_[i]->control); }});
            bindings_.push_back({[this, i, out] { out().bind(mmus_[i]->in); }});
            bindings_.push_back({[this, i] { mmus_[i]->out.bind(fabric_->in); }, node});
            break;
        case role::dma:
            bindings_.push_back({[this, dma, home] { dma().local.bind(controllers_[home]->in); }});
            bindings_.push_back({[this, dma] { dma().out.bind(fabric_->in); }, node});
            break;
        }
    }

    // Sources and targets in the order in which they will be bound.
    interconnect::config fabric_of_bindings() const {
        interconnect::config f = bare<interconnect>();
        f.nodes.resize(first_memory + plan_.memories);
        for (std::uint32_t node = 1; node < f.nodes.size(); node++) {
            f.links.push_back({node, router, 1000, 64'000'000'000, 0, 0});
            f.links.push_back({router, node, 1000, 64'000'000'000, 0, 0});
        }
        for (const binding &b : bindings_) {
            if (b.source_node >= 0) f.sources.push_back(static_cast<std::uint32_t>(b.source_node));
            if (b.target < 0) continue;
            const auto memory = static_cast<unsigned>(b.target), number = static_cast<unsigned>(f.targets.size());
            f.targets.push_back(first_memory + memory);
            tla_paddr pa{};
            tla_paddr_pe_hbm(0, 0, memory, 0, memory_bytes, &pa);
            f.windows.push_back({pa.value, memory_bytes, number, false});
            tla_paddr_pe_tcm(0, 0, memory, 0, &pa);
            f.windows.push_back({pa.value, memory_bytes, number, false});
        }
        return f;
    }

    const plan &plan_;
    std::vector<std::function<void()>> makes_;
    std::vector<binding> bindings_;
    std::unique_ptr<interconnect> fabric_;
    std::vector<std::unique_ptr<memory_controller>> controllers_;
    std::vector<std::unique_ptr<hbm_slice>> slices_;
    std::vector<std::unique_ptr<tcm>> tcms_;
    std::vector<std::unique_ptr<testing::initiator>> commands_; // send none
    std::vector<std::unique_ptr<master>> masters_;
    std::vector<std::unique_ptr<pe_mmu>> mmus_; // where there are any
    std::vector<std::unique_ptr<testing::initiator>> mappings_;
};

// Somebody else's memory, for both coding styles: one access after the other, so that it matters who comes first.
class serial_memory : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<serial_memory> in{"in"};

    explicit serial_memory(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &serial_memory::b_transport);
        in.register_nb_transport_fw(this, &serial_memory::nb_transport_fw);
    }

  private:
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        free_ps_ = std::max(free_ps_, local_ps(delay)) + 8000;
        set_local_ps(delay, free_ps_);
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay) {
        if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
        b_transport(payload, delay);
        return tlm::TLM_COMPLETED;
    }

    std::uint64_t free_ps_ = 0;
};

// Four initiators at a bridge, constructed and bound in an order of their own.
template <typename Bridge>
class bridged : public sc_core::sc_module {
  public:
    bridged(sc_core::sc_module_name name, const typename Bridge::config &config, const std::vector<program> &programs,
            unsigned order)
        : sc_module(name), bridge_("bridge", config) {
        std::vector<std::size_t> numbers(programs.size());
        std::iota(numbers.begin(), numbers.end(), 0u);
        std::mt19937 random(order);
        if (order) std::shuffle(numbers.begin(), numbers.end(), random);
        masters.resize(programs.size());
        for (const std::size_t i : numbers) {
            masters[i] = std::make_unique<processor>(("master" + std::to_string(i)).c_str(), programs[i]);
            if (i % 2) masters[i]->from.style = testing::coding::approximately_timed;
        }
        if (order) std::shuffle(numbers.begin(), numbers.end(), random);
        for (const std::size_t i : numbers)
            masters[i]->from.out.bind(bridge_.in);
        bridge_.out.bind(memory_.in);
    }

    std::vector<std::unique_ptr<processor>> masters;

  private:
    Bridge bridge_;
    serial_memory memory_{"memory"};
};

template <typename Bridge>
void check_bridge(const typename Bridge::config &config) {
    std::mt19937 random(362);
    std::vector<program> programs;
    for (unsigned i = 0; i < 4; i++) {
        programs.push_back(random_program(random, 40, 1));
        for (step &s : programs.back())
            s.nbytes = 64; // one request
    }
    std::vector<std::unique_ptr<bridged<Bridge>>> tops;
    for (unsigned order = 0; order < 6; order++)
        tops.push_back(
            std::make_unique<bridged<Bridge>>(("top" + std::to_string(order)).c_str(), config, programs, order));
    sc_core::sc_start(1, sc_core::SC_MS);
    for (const auto &top : tops)
        for (std::size_t i = 0; i < programs.size(); i++) {
            BOOST_REQUIRE(top->masters[i]->is_done);
            BOOST_TEST(top->masters[i]->seen == tops.front()->masters[i]->seen, boost::test_tools::per_element());
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(resources_of_one_time_act_by_kind_and_name_and_later_resources_act_after_them) {
    using kind = shared_resource::kind;
    shared_resource nodes(kind::fabric, "a", 2), second(kind::memory, "b"), third(kind::memory, "b"),
        engine(kind::dma, "a"), first(kind::memory, "a10"), before_b(kind::memory, "a2");
    { shared_resource given_up(kind::memory, "a"); }
    std::vector<std::uint32_t> numbers;
    for (const shared_resource *r : {&first, &before_b, &second, &third, &engine, &nodes})
        numbers.push_back(r->number());
    shared_resource later(kind::memory, "a"), much_later(kind::memory, "a1");
    numbers.insert(numbers.end(), {nodes.number() + 1, later.number(), much_later.number()});
    for (std::size_t i = 0; i < numbers.size(); i++)
        BOOST_CHECK_EQUAL(numbers[i], i + 1); // 0 is that of threads
}

BOOST_AUTO_TEST_CASE(modules_constructed_and_bound_in_any_order_take_the_same_times) {
    std::mt19937 random(361);
    std::list<plan> plans;
    std::vector<std::vector<std::unique_ptr<top>>> tops;
    for (unsigned number = 0; number < 30; number++) {
        const plan &p = plans.emplace_back(random);
        if (std::all_of(p.roles.begin(), p.roles.end(), [](role r) { return r == role::beside_a_controller; }))
            continue; // a fabric has an initiator
        auto &same = tops.emplace_back();
        for (unsigned order = 0; order < 4; order++)
            same.push_back(std::make_unique<top>(("top" + std::to_string(number) + "_" + std::to_string(order)).c_str(),
                                                 p, order));
    }
    sc_core::sc_start(1, sc_core::SC_MS);
    for (const auto &same : tops)
        for (const auto &other : same)
            same.front()->check_same_as(*other);
    BOOST_CHECK_EQUAL(time_queue::get_late().late, 0u);
}

BOOST_AUTO_TEST_CASE(initiators_constructed_and_bound_in_any_order_take_the_same_times_at_an_lt_at_bridge) {
    lt_at_bridge::config config;
    config.capacity = lt_at_bridge::no_end;
    check_bridge<lt_at_bridge>(config);
}

BOOST_AUTO_TEST_CASE(initiators_constructed_and_bound_in_any_order_take_the_same_times_at_an_at_lt_bridge) {
    check_bridge<at_lt_bridge>({});
}

// Two in four phases write to one control port at one time: the first by name is served, the other finds it busy.
BOOST_AUTO_TEST_CASE(initiators_in_four_phases_go_by_their_names_at_one_control_port) {
    sc_core::sc_report_handler::set_actions("/tlmalloc/memory_controller/control", sc_core::SC_DO_NOTHING);
    std::list<memory_controller> controllers;
    std::list<hbm_slice> slices;
    std::list<testing::initiator> initiators;
    for (const std::string order : {"ab", "ba"}) {
        const std::uint64_t start_ps = order == "ab" ? 1000 : 2000;
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.cost.fixed_ps = 10'000;
        memory_controller &controller = controllers.emplace_back(("controller_" + order).c_str(), c);
        controller.slice.bind(slices.emplace_back(("slice_" + order).c_str(), bare<hbm_slice>()).in);
        for (const char name : order) {
            testing::initiator &from = initiators.emplace_back((std::string(1, name) + "_" + order).c_str());
            from.style = testing::coding::approximately_timed;
            from.out.bind(controller.control);
            sc_core::sc_spawn([&from, name, start_ps] {
                tla_command command{};
                command.opcode = TLA_OP_ALLOC;
                command.target = TLA_TARGET_MEMORY_CONTROLLER;
                command.nbytes = 64;
                std::vector<std::uint8_t> bytes(TLA_COMMAND_MAX_BYTES);
                std::size_t length = 0;
                BOOST_REQUIRE_EQUAL(tla_command_encode(&command, bytes.data(), bytes.size(), &length), TLA_OK);
                sc_core::wait(from_ps(start_ps));
                sc_core::sc_time delay;
                tlm::tlm_generic_payload &payload = from.make(tlm::TLM_WRITE_COMMAND, 0, bytes.data(), length);
                from.transport(payload, delay);
                BOOST_CHECK_EQUAL(payload.is_response_ok(), name == 'a');
                from.give_back(payload);
            });
        }
    }
    sc_core::sc_start();
}
