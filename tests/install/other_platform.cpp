// A platform of somebody else's around a memory_controller, with installed headers only: addresses of 32 bits, an
// initiator of 64 bits that makes blocking calls and one of 32 that knows only the four phases; behind it a memory that
// knows only the four phases, and one that knows only blocking calls.
#include <tlmalloc/modules/at_lt_bridge.hpp>
#include <tlmalloc/modules/command_sender.hpp>
#include <tlmalloc/modules/lt_at_bridge.hpp>
#include <tlmalloc/modules/memory_controller.hpp>
#include <tlmalloc/modules/width_adapter.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <vector>

namespace {

constexpr std::uint64_t hbm_base = 0x8000'0000, hbm_bytes = 16 << 20, tcm_base = 0x4000'0000, tcm_bytes = 1 << 20;
const sc_core::sc_time ns(1, sc_core::SC_NS);

void require(bool holds, const char *what) {
    if (holds) return;
    std::cout << "other platform: " << what << '\n';
    std::exit(1);
}

// What is at an address: the two initiators agree on it without a word.
std::uint8_t byte_of(std::uint64_t address) {
    return static_cast<std::uint8_t>(address * 29 + address / 251);
}

void copy(tlm::tlm_generic_payload &payload, std::uint8_t *there) {
    const std::uint8_t *const enables = payload.get_byte_enable_ptr();
    for (unsigned i = 0; i < payload.get_data_length(); i++) {
        if (enables && enables[i % payload.get_byte_enable_length()] != TLM_BYTE_ENABLED) continue;
        std::uint8_t &mine = payload.get_data_ptr()[i];
        (payload.is_read() ? mine : there[i]) = payload.is_read() ? there[i] : mine;
    }
}

unsigned debug(tlm::tlm_generic_payload &payload, std::vector<std::uint8_t> &bytes) {
    if (payload.get_address() >= bytes.size()) return 0;
    copy(payload, &bytes[payload.get_address()]);
    return payload.get_data_length();
}

// Bursts of 32 bytes, an answer 30 ns after each; an access past its end, or of less, would crash it.
struct dram : sc_core::sc_module {
    tlm_utils::simple_target_socket<dram> in{"in"};
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(hbm_bytes);
    tlm_utils::peq_with_cb_and_phase<dram> queue{this, &dram::act};
    unsigned under_way = 0, peak = 0, served = 0;

    SC_CTOR(dram) {
        in.register_nb_transport_fw(this, &dram::forward);
        in.register_transport_dbg(this, &dram::transport_dbg);
    }
    tlm::tlm_sync_enum forward(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        queue.notify(payload, phase, delay);
        return tlm::TLM_ACCEPTED;
    }
    void act(tlm::tlm_generic_payload &payload, const tlm::tlm_phase &came) {
        tlm::tlm_phase phase = came;
        sc_core::sc_time now;
        if (came == tlm::BEGIN_REQ) {
            require(payload.get_address() % 32 == 0 && payload.get_data_length() == 32, "no burst");
            require(payload.get_address() < hbm_bytes, "past the end of the DRAM");
            payload.acquire();
            peak = std::max(peak, ++under_way);
            queue.notify(payload, tlm::END_REQ, 2 * ns);
            queue.notify(payload, tlm::BEGIN_RESP, 30 * ns);
        } else if (came == tlm::END_REQ) {
            in->nb_transport_bw(payload, phase, now);
        } else if (came == tlm::BEGIN_RESP) {
            copy(payload, &bytes[payload.get_address()]);
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
            if (in->nb_transport_bw(payload, phase, now) != tlm::TLM_ACCEPTED) end(payload);
        } else if (came == tlm::END_RESP) {
            end(payload);
        }
    }
    void end(tlm::tlm_generic_payload &payload) {
        served++;
        under_way--;
        payload.release();
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) { return debug(payload, bytes); }
};

// Every access waits.
struct sram : sc_core::sc_module {
    tlm_utils::simple_target_socket<sram> in{"in"};
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(tcm_bytes);

    SC_CTOR(sram) {
        in.register_b_transport(this, &sram::b_transport);
        in.register_transport_dbg(this, &sram::transport_dbg);
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        require(payload.get_address() + payload.get_data_length() <= tcm_bytes, "past the end of the SRAM");
        sc_core::wait(delay + 3 * ns);
        delay = sc_core::SC_ZERO_TIME;
        copy(payload, &bytes[payload.get_address()]);
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) { return debug(payload, bytes); }
};

// Requests in four phases, up to eight under way; payloads are its own.
struct phased_master : sc_core::sc_module, tlm::tlm_mm_interface {
    tlm_utils::simple_initiator_socket<phased_master> out{"out"};
    sc_core::sc_event accepted, answered;
    bool may_send = true;
    unsigned under_way = 0;

    SC_CTOR(phased_master) { out.register_nb_transport_bw(this, &phased_master::backward); }
    void free(tlm::tlm_generic_payload *payload) override { delete payload; }

    void begin(tlm::tlm_command command, std::uint64_t address, std::uint8_t *data, unsigned nbytes) {
        while (!may_send)
            sc_core::wait(accepted);
        while (under_way == 8)
            sc_core::wait(answered);
        auto *const payload = new tlm::tlm_generic_payload(this);
        payload->acquire();
        payload->set_command(command);
        payload->set_address(address);
        payload->set_data_ptr(data);
        payload->set_data_length(nbytes);
        payload->set_streaming_width(nbytes);
        tlm::tlm_phase phase = tlm::BEGIN_REQ;
        sc_core::sc_time delay;
        may_send = false;
        under_way++;
        const tlm::tlm_sync_enum answer = out->nb_transport_fw(*payload, phase, delay);
        if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) {
            end(*payload);
        } else if (answer == tlm::TLM_UPDATED) {
            may_send = true;
        }
    }
    void finish() {
        while (under_way > 0)
            sc_core::wait(answered);
    }
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase, sc_core::sc_time &) {
        if (phase == tlm::END_REQ) {
            may_send = true;
            accepted.notify(sc_core::SC_ZERO_TIME);
            return tlm::TLM_ACCEPTED;
        }
        end(payload);
        return tlm::TLM_COMPLETED;
    }
    void end(tlm::tlm_generic_payload &payload) {
        require(payload.is_response_ok(), "an access in four phases is refused");
        payload.release();
        under_way--;
        may_send = true;
        accepted.notify(sc_core::SC_ZERO_TIME);
        answered.notify(sc_core::SC_ZERO_TIME);
    }
};

struct platform : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<platform, 64> data{"data"}, control{"control"};
    phased_master phased{"phased"};
    tlmalloc::width_adapter<64> wide_data{"wide_data"}, wide_control{"wide_control"};
    tlmalloc::memory_controller controller;
    tlmalloc::lt_at_bridge bridge{"bridge", bridge_config()};
    tlmalloc::at_lt_bridge phases{"phases", {}}; // in front of the controller, which needs none
    dram slice{"slice"};
    sram local{"local"};
    bool is_done = false;

    static tlmalloc::memory_controller::config controller_config() {
        tlmalloc::memory_controller::config c;
        c.memory.layout = TLA_LAYOUT_PLAIN;
        c.memory.of[TLA_HBM].base = hbm_base;
        c.memory.of[TLA_TCM].base = tcm_base;
        c.memory.of[TLA_HBM].bytes = hbm_bytes;
        c.memory.of[TLA_TCM].bytes = tcm_bytes;
        c.memory.of[TLA_TCM].reserved = 0;
        return c;
    }
    static tlmalloc::lt_at_bridge::config bridge_config() {
        tlmalloc::lt_at_bridge::config c;
        c.capacity = hbm_bytes;
        c.largest = c.smallest = 32;
        c.outstanding = 16;
        return c;
    }
    platform(sc_core::sc_module_name name) : sc_module(name), controller("controller", controller_config()) {
        data.bind(wide_data.in);
        wide_data.out.bind(controller.in);
        control.bind(wide_control.in);
        wide_control.out.bind(controller.control);
        phased.out.bind(phases.in);
        phases.out.bind(controller.in);
        controller.slice.bind(bridge.in);
        bridge.out.bind(slice.in);
        controller.tcm.bind(local.in);
        TLMALLOC_HAS_PROCESS(platform);
        SC_THREAD(run);
    }

    std::uint64_t command(tla_opcode opcode, tla_memory_kind kind, std::uint64_t address, std::uint64_t nbytes) {
        sc_core::sc_time delay;
        tla_command asked{};
        tla_completion done{};
        asked.opcode = opcode;
        asked.target = TLA_TARGET_MEMORY_CONTROLLER;
        asked.memory = kind;
        asked.pa.value = address;
        asked.nbytes = nbytes;
        tlmalloc::send_command(control, 0, asked, done, delay);
        sc_core::wait(delay);
        require(done.status == TLA_OK, tla_status_name(done.status));
        return done.value;
    }

    tlm::tlm_response_status blocking(tlm::tlm_command command, std::uint64_t address,
                                      std::vector<std::uint8_t> &bytes) {
        sc_core::sc_time delay;
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(bytes.data());
        payload.set_data_length(static_cast<unsigned>(bytes.size()));
        payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
        data->b_transport(payload, delay);
        sc_core::wait(delay);
        return payload.get_response_status();
    }

    // One writes pieces of odd lengths and the other reads them; then the other way round.
    void both_see_the_same(std::uint64_t block, std::uint64_t nbytes) {
        std::vector<std::uint8_t> all(nbytes);
        for (std::uint64_t at = 0, n = 1; at < nbytes; at += n, n = std::min(n * 3 % 1021 + 1, nbytes - at)) {
            std::vector<std::uint8_t> piece(n);
            for (std::uint64_t i = 0; i < n; i++)
                piece[i] = byte_of(block + at + i);
            require(blocking(tlm::TLM_WRITE_COMMAND, block + at, piece) == tlm::TLM_OK_RESPONSE, "a write is refused");
        }
        for (std::uint64_t at = 0; at < nbytes; at += 100)
            phased.begin(tlm::TLM_READ_COMMAND, block + at, &all[at],
                         static_cast<unsigned>(std::min<std::uint64_t>(100, nbytes - at)));
        phased.finish();
        for (std::uint64_t i = 0; i < nbytes; i++) {
            require(all[i] == byte_of(block + i), "a byte that was written by blocking calls is another");
            all[i] = static_cast<std::uint8_t>(~all[i]);
        }
        for (std::uint64_t at = 0; at < nbytes; at += 70)
            phased.begin(tlm::TLM_WRITE_COMMAND, block + at, &all[at],
                         static_cast<unsigned>(std::min<std::uint64_t>(70, nbytes - at)));
        phased.finish();
        std::vector<std::uint8_t> back(nbytes);
        require(blocking(tlm::TLM_READ_COMMAND, block, back) == tlm::TLM_OK_RESPONSE, "a read is refused");
        require(back == all, "a byte that was written in four phases is another");
    }

    void run() {
        const std::uint64_t in_hbm = command(TLA_OP_ALLOC, TLA_HBM, 0, 40'000),
                            in_tcm = command(TLA_OP_ALLOC, TLA_TCM, 0, 10'000);
        require(in_hbm == hbm_base && in_tcm == tcm_base, "ALLOC answers with other addresses than the bus has");
        both_see_the_same(in_hbm, 40'000);
        both_see_the_same(in_tcm, 10'000);
        both_see_the_same(hbm_base + hbm_bytes - 5'000, 5'000);
        std::vector<std::uint8_t> piece(64);
        for (const std::uint64_t address : {hbm_base + hbm_bytes - 63, hbm_base - 1, std::uint64_t{0}})
            require(blocking(tlm::TLM_READ_COMMAND, address, piece) == tlm::TLM_ADDRESS_ERROR_RESPONSE,
                    "what is no memory is not refused");
        command(TLA_OP_FREE, TLA_HBM, in_hbm, 40'000);
        command(TLA_OP_FREE, TLA_TCM, in_tcm, 10'000);
        require(bridge.get_statistics().protocol_errors == 0, "the bridge was answered against the protocol");
        require(slice.peak > 1 && slice.under_way == 0, "bursts are not under way together, or for ever");
        std::cout << "other platform: every byte is right\n";
        is_done = true;
    }
};

} // namespace

int sc_main(int, char **) {
    platform all{"platform"};
    sc_core::sc_start();
    require(all.is_done, "an access hangs");
    return 0;
}
