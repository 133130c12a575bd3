// What arrives at one time: commands at a control window, which may be full, and accesses at the inputs of a
// controller; and threads that go while they wait.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <memory>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t slice_bytes = 1 << 20, start_ps = 100'000;

memory_controller::config controller_config(tla_free_list_place list, unsigned queue_depth) {
    memory_controller::config config = bare<memory_controller>();
    config.memory.of[TLA_HBM].bytes = slice_bytes;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.cost = {};
    config.cost.fixed_ps = 10'000;
    config.free_list = list;
    config.list_reserve = list == TLA_LIST_HBM ? 1 << 14 : 0;
    config.queue_depth = queue_depth;
    return config;
}

hbm_slice::config slice_config() {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = slice_bytes;
    config.latency_ps = 40'000;
    return config;
}

struct sent {
    std::uint64_t accepted_ps = 0, done_ps = 0, offset = 0;
};

// Sender i allocates through port i, `gap_ps` after the one before it. The senders are made in order, or the last
// first.
std::vector<sent> allocate(unsigned senders, std::uint64_t gap_ps, bool last_first, tla_free_list_place list,
                           unsigned queue_depth) {
    hbm_slice slice("slice", slice_config());
    memory_controller controller("controller", controller_config(list, queue_depth));
    controller.slice.bind(slice.in);
    std::vector<std::unique_ptr<initiator>> made(senders);
    std::vector<sent> result(senders);
    for (unsigned n = 0; n < senders; n++) {
        const unsigned i = last_first ? senders - 1 - n : n;
        made[i] = std::make_unique<initiator>(("sender" + std::to_string(i)).c_str());
        made[i]->body = [&, i] {
            sc_core::wait(from_ps(start_ps + gap_ps * i));
            tla_command command{};
            command.opcode = TLA_OP_ALLOC;
            command.target = TLA_TARGET_MEMORY_CONTROLLER;
            command.memory = TLA_HBM;
            command.nbytes = 64 * (i + 1);
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(made[i]->post(i * TLA_PORT_BYTES, command, delay), tlm::TLM_OK_RESPONSE);
            result[i].accepted_ps = local_ps(delay);
            const tla_completion completion = made[i]->completion(i * TLA_PORT_BYTES, delay);
            BOOST_CHECK_EQUAL(completion.status, TLA_OK);
            result[i].done_ps = local_ps(delay);
            result[i].offset = completion.value;
        };
    }
    initiator idle("idle");
    for (const auto &sender : made)
        sender->out.bind(controller.control);
    idle.out.bind(controller.in);
    sc_core::sc_start();
    return result;
}

// A sender is killed while its write waits for a place in the full queue.
void a_sender_goes_while_the_queue_is_full() {
    hbm_slice slice("slice", slice_config());
    memory_controller controller("controller", controller_config(TLA_LIST_HBM, 1));
    controller.slice.bind(slice.in);
    std::vector<std::unique_ptr<initiator>> senders;
    std::vector<sc_core::sc_process_handle> threads(6);
    unsigned answered = 0;
    for (unsigned i = 0; i < threads.size(); i++) {
        senders.push_back(std::make_unique<initiator>(("sender" + std::to_string(i)).c_str()));
        senders[i]->out.bind(controller.control);
        senders[i]->body = [&, i] {
            threads[i] = sc_core::sc_get_current_process_handle();
            sc_core::wait(from_ps(start_ps + 1'000 * i));
            tla_command command{};
            command.opcode = TLA_OP_ALLOC;
            command.target = TLA_TARGET_MEMORY_CONTROLLER;
            command.nbytes = 64;
            sc_core::sc_time delay;
            tla_completion completion{};
            const forward_path bus = senders[i]->out; // without extensions, which a payload frees
            answered += post_command(bus, i * TLA_PORT_BYTES, command, delay) == TLA_OK &&
                        read_completion(bus, i * TLA_PORT_BYTES, completion, delay) == TLA_OK &&
                        completion.status == TLA_OK;
        };
    }
    initiator judge("judge");
    judge.out.bind(controller.in);
    judge.body = [&] {
        sc_core::wait(from_ps(start_ps + 20'000)); // 0 is served, 1 stands in the queue
        threads[2].kill();
    };
    sc_core::sc_start();
    BOOST_CHECK_EQUAL(answered, threads.size() - 1);
}

// One after the other by port: times and addresses.
void check_ports_in_order(const std::vector<sent> &commands) {
    for (std::size_t i = 1; i < commands.size(); i++) {
        BOOST_CHECK_GE(commands[i].accepted_ps, commands[i - 1].accepted_ps);
        BOOST_CHECK_GT(commands[i].done_ps, commands[i - 1].done_ps);
        BOOST_CHECK_GT(commands[i].offset, commands[i - 1].offset);
    }
}

// Input 0 of a controller leads to an initiator, input 1 to a fabric, whose way takes 5 ns: both reads are there at 15
// ns.
void the_lower_input_goes_first(tla_guard_mode guard) {
    memory_controller::config settings = controller_config(TLA_LIST_REGISTERS, 16);
    settings.guard = guard;
    hbm_slice slice("slice", slice_config());
    memory_controller controller("controller", settings);
    controller.slice.bind(slice.in);
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, 0, 0, slice_bytes, &pa);
    interconnect::config way = bare<interconnect>();
    way.nodes.resize(2);
    way.links = {{0, 1, 5'000, 64'000'000'000, 0}, {1, 0, 5'000, 64'000'000'000, 0}};
    way.sources = {0};
    way.targets = {1};
    way.windows = {{pa.value, slice_bytes, 0, false}};
    interconnect fabric("fabric", way);
    initiator direct("direct"), far("far"), idle("idle");
    direct.out.bind(controller.in);
    far.out.bind(fabric.in);
    fabric.out.bind(controller.in);
    idle.out.bind(controller.control);
    std::uint64_t direct_ps = 0, far_ps = 0;
    const auto read_at = [&](initiator &who, std::uint64_t at_ps, std::uint64_t &end_ps) {
        sc_core::wait(from_ps(at_ps));
        who.read(pa.value, 64);
        end_ps = to_ps(sc_core::sc_time_stamp());
    };
    direct.body = [&] { read_at(direct, 15'000, direct_ps); };
    far.body = [&] { read_at(far, 10'000, far_ps); };
    sc_core::sc_start();
    BOOST_CHECK_EQUAL(direct_ps, 15'000u + 40'000 + 8'000);
    BOOST_CHECK_EQUAL(far_ps, direct_ps + 8'000 + 5'000 + 1'000); // a burst later, and back over the link
}

// A thread that reads the slice again and again, and is killed or reset in the middle of it.
struct victim : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<victim> out{"out"};
    unsigned reads = 0;
    sc_core::sc_process_handle process;

    explicit victim(sc_core::sc_module_name name) : sc_module(name) {
        TLMALLOC_HAS_PROCESS(victim);
        SC_THREAD(run);
        process = sc_core::sc_get_last_created_process_handle();
        payload_.set_data_ptr(bytes_);
        payload_.set_data_length(sizeof bytes_);
        payload_.set_streaming_width(sizeof bytes_);
        payload_.set_command(tlm::TLM_READ_COMMAND);
    }

  private:
    void run() {
        for (; reads < 20; reads++) {
            sc_core::sc_time delay;
            payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
            out->b_transport(payload_, delay);
        }
    }
    tlm::tlm_generic_payload payload_; // outlives the thread
    std::uint8_t bytes_[8] = {};
};

void a_thread_goes_in_the_middle_of_a_call(const std::function<void(sc_core::sc_process_handle &)> &end) {
    hbm_slice slice("slice", slice_config());
    memory_controller controller("controller", controller_config(TLA_LIST_REGISTERS, 16));
    controller.slice.bind(slice.in);
    victim unlucky("unlucky");
    initiator other("other"), judge("judge");
    unlucky.out.bind(controller.in);
    other.out.bind(controller.in);
    judge.out.bind(controller.control);
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, 0, 0, slice_bytes, &pa);
    other.body = [&] {
        for (unsigned i = 0; i < 20; i++)
            BOOST_CHECK(other.read(pa.value + 64 * i, 64) == bytes(64, 0));
    };
    judge.body = [&] {
        sc_core::wait(from_ps(20'000)); // its read is on the way
        end(unlucky.process);
    };
    sc_core::sc_start();
    BOOST_CHECK(other.finished);
}

} // namespace

BOOST_AUTO_TEST_CASE(commands_of_one_time_are_served_by_port) {
    check_ports_in_order(allocate(6, 0, false, TLA_LIST_REGISTERS, 1));
}
BOOST_AUTO_TEST_CASE(commands_of_one_time_are_served_by_port_whoever_was_made_first) {
    check_ports_in_order(allocate(6, 0, true, TLA_LIST_REGISTERS, 1));
}
BOOST_AUTO_TEST_CASE(commands_of_one_time_that_make_transactions_are_served_by_port) {
    check_ports_in_order(allocate(6, 0, true, TLA_LIST_HBM, 16));
}
BOOST_AUTO_TEST_CASE(a_full_queue_accepts_commands_in_the_order_in_which_they_came) {
    check_ports_in_order(allocate(8, 1'000, true, TLA_LIST_HBM, 1));
}
BOOST_AUTO_TEST_CASE(a_thread_that_is_killed_before_a_full_queue_leaves_the_others_alone) {
    a_sender_goes_while_the_queue_is_full();
}
BOOST_AUTO_TEST_CASE(the_lower_input_wins_between_accesses_of_one_time) {
    the_lower_input_goes_first(TLA_GUARD_OFF);
}
BOOST_AUTO_TEST_CASE(the_lower_input_wins_between_guarded_accesses_of_one_time) {
    the_lower_input_goes_first(TLA_GUARD_REPORT);
}
BOOST_AUTO_TEST_CASE(a_thread_that_is_killed_in_a_call_leaves_the_others_alone) {
    a_thread_goes_in_the_middle_of_a_call([](sc_core::sc_process_handle &process) { process.kill(); });
}
BOOST_AUTO_TEST_CASE(a_thread_that_is_reset_in_a_call_leaves_the_others_alone) {
    a_thread_goes_in_the_middle_of_a_call([](sc_core::sc_process_handle &process) { process.reset(); });
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_killed_in_a_transfer_leaves_the_others_alone) {
    hbm_slice slice("slice", slice_config());
    tcm::config tile = bare<tcm>();
    tcm memory("tcm", tile);
    pe_dma::config settings = bare<pe_dma>();
    pe_dma dma("dma", settings);
    dma.out.bind(slice.in);
    dma.local.bind(memory.in);
    const auto read = [&](std::uint64_t nbytes) {
        sc_core::sc_time delay;
        const tla_status status = dma.transfer({pe_dma::direction::read, {0}, {0}, 1, nbytes, nbytes}, delay);
        sc_core::wait(delay);
        return status;
    };
    bool ended = false;
    sc_core::sc_process_handle unlucky = sc_core::sc_spawn([&] { read(64'000); });
    sc_core::sc_spawn([&] {
        sc_core::wait(from_ps(60'000));
        unlucky.kill();
        ended = read(4'096) == TLA_OK;
    });
    sc_core::sc_start();
    BOOST_CHECK(ended);
    BOOST_CHECK_EQUAL(dma.get_statistics().bytes_read, 64'000u + 4'096u); // what was begun is moved to its end
}
