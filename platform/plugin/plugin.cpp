// The C interface of tlm_c.h around modules of SystemC: calls of a host become accesses of a thread of the simulation.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/tlm_c.h"

#include "base/phrase.h"
#include "plugin/calls.hpp"
#include "plugin/mappings.hpp"
#include "plugin/settings.hpp"
#include "tlmalloc/command/command.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/version.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <sstream>
#include <string>

using namespace tlmalloc;
using namespace tlmalloc::plugin;

// libsystemc refers to it, though a plugin has another main program.
extern "C" int sc_main(int, char **) {
    return 0;
}

namespace {

requester who_of(const tlmc_access &access) {
    requester who(access.has_asid ? access.asid : 0, access.core, access.trusted != 0);
    who.anonymous = !access.has_asid;
    who.privilege = access.privilege;
    who.exclusive = access.exclusive != 0;
    return who;
}

void fill(tlm::tlm_generic_payload &payload, const tlmc_access &access) {
    payload.set_command(access.command == TLMC_READ    ? tlm::TLM_READ_COMMAND
                        : access.command == TLMC_WRITE ? tlm::TLM_WRITE_COMMAND
                                                       : tlm::TLM_IGNORE_COMMAND);
    payload.set_address(access.address);
    payload.set_data_ptr(access.data);
    payload.set_data_length(access.length);
    payload.set_streaming_width(access.streaming_width);
    payload.set_byte_enable_ptr(const_cast<unsigned char *>(access.enables)); // targets only read them
    payload.set_byte_enable_length(access.enables_length);
}

} // namespace

// The objects of a host. A thread of the simulation makes the host's calls, one after the other.
struct tlmc_controller : sc_core::sc_module {
    tlmc_controller(const sc_core::sc_module_name &name, const plugin_settings &settings)
        : sc_module(name), slice("slice", settings.slice), controller("controller", settings.controller) {
        controller.slice.bind(slice.in);
        if (settings.has_tcm) {
            local = std::make_unique<tcm>("tcm", settings.local);
            controller.tcm.bind(local->in);
        }
        if (controller.can_move()) {
            mappings = std::make_unique<host_mappings>();
            controller.maps.bind(mappings->control);
        }
        data.bind(controller.in);
        control.bind(controller.control);
        data.register_invalidate_direct_mem_ptr(this, &tlmc_controller::invalidate);
        TLMALLOC_HAS_PROCESS(tlmc_controller);
        SC_THREAD(serve);
    }

    // Lets the thread do the work, and returns when it is done; the simulation continues while it waits.
    void perform(std::function<void()> work) {
        std::exception_ptr problem;
        bool done = false;
        work_ = [&] {
            try {
                work();
            } catch (...) {
                problem = std::current_exception();
            }
            done = true;
        };
        if (!state().running) settle(); // until the thread waits
        called_.notify(sc_core::SC_ZERO_TIME);
        settle();
        while (!done && sc_core::sc_pending_activity())
            run(sc_core::sc_time_to_pending_activity());
        if (problem) std::rethrow_exception(problem);
        if (!done) throw std::runtime_error("the access never completed");
    }

    forward_path socket(std::uint32_t which) { return which == TLMC_CONTROL ? control : data; }

    void (*lost)(void *, std::uint64_t, std::uint64_t) = nullptr;
    void *lost_context = nullptr;
    hbm_slice slice;
    std::unique_ptr<tcm> local;
    memory_controller controller;
    std::unique_ptr<host_mappings> mappings; // if blocks can move
    tlm_utils::simple_initiator_socket<tlmc_controller> data{"data"}, control{"control"};

  private:
    void serve() {
        for (;;) {
            sc_core::wait(called_);
            if (work_) work_();
            work_ = nullptr;
        }
    }
    void invalidate(sc_dt::uint64 first, sc_dt::uint64 last) {
        if (lost) lost(lost_context, first, last);
    }
    sc_core::sc_event called_;
    std::function<void()> work_;
};

namespace {

// A larger number would mean that the access is trusted, or of hardware.
int check_asid(const tlmc_access &access) {
    if (!access.has_asid || access.asid < TLA_ASID_HARDWARE) return 0;
    return fail(TLA_INVALID_ARGUMENT, "invalid asid " + std::to_string(access.asid) + ": it must be below " +
                                          std::to_string(TLA_ASID_HARDWARE));
}

int check(const tlmc_controller *controller, std::uint32_t socket, const tlmc_access *access) {
    if (!controller || !access) return fail(TLA_INVALID_ARGUMENT, "null pointer: pass a controller and an access");
    if (socket > TLMC_CONTROL)
        return fail(TLA_INVALID_ARGUMENT,
                    "unknown socket " + std::to_string(socket) + ": use TLMC_DATA or TLMC_CONTROL");
    if (access->command > TLMC_IGNORE)
        return fail(TLA_INVALID_ARGUMENT, "unknown command " + std::to_string(access->command) + ": use 0 .. 2");
    return check_asid(*access);
}

bool is_name(const std::string &text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != '.'; });
}

// Times are counted in 64 bits. An access that begins in the first half of them ends before they do.
int check_time(const tlmc_access &access) {
    constexpr std::uint64_t last_ps = std::uint64_t{1} << 63;
    const std::uint64_t now_ps = state().now_ps;
    if (now_ps <= last_ps && access.delay_ps <= last_ps - now_ps) return 0;
    return fail(TLA_INVALID_ARGUMENT, "the access at " + std::to_string(now_ps) + " ps with a delay of " +
                                          std::to_string(access.delay_ps) +
                                          " ps starts after 2^63 ps, the end of time");
}

// Moves the bytes that the byte enables and the streaming width select, as an access does, in stretches for debug
// accesses; returns the number of bytes.
std::uint32_t debug_in_stretches(forward_path socket, const tlmc_access &access) {
    const std::uint32_t width = access.streaming_width ? access.streaming_width : access.length;
    const auto is_enabled = [&](std::uint32_t i) {
        return !access.enables || access.enables[i % access.enables_length];
    };
    std::uint32_t moved = 0;
    for (std::uint32_t i = 0, end = 0; i < access.length; i = end) {
        end = i + 1;
        if (!is_enabled(i)) continue;
        while (end < access.length && end % width != 0 && is_enabled(end))
            end++;
        tlmc_access part = access;
        part.address += i % width;
        part.data += i;
        part.length = part.streaming_width = end - i;
        part.enables = nullptr;
        part.enables_length = 0;
        tlm::tlm_generic_payload payload;
        fill(payload, part);
        const std::uint32_t count = socket->transport_dbg(payload);
        moved += count;
        if (count < end - i) break;
    }
    return moved;
}

// One command, as its sender would write and read it.
int command(tlmc_controller *controller, std::uint32_t port, tla_command &what, tlmc_access *who,
            tla_completion &done) {
    if (!controller || !who) return fail(TLA_INVALID_ARGUMENT, "null pointer: pass a controller and a requester");
    if (const int wrong = check_asid(*who)) return wrong;
    if (const int wrong = check_time(*who)) return wrong;
    tla_status status = TLA_OK;
    controller->perform([&] {
        requester asking = who_of(*who);
        asking.exclusive = false;
        sc_core::sc_time delay = arrival(who->delay_ps);
        what.target = TLA_TARGET_MEMORY_CONTROLLER;
        status = send_command(controller->socket(TLMC_CONTROL), port * std::uint64_t{TLA_PORT_BYTES}, what, done, delay,
                              &asking);
        who->delay_ps = delay_of(delay);
    });
    return status ? fail(status, tla_status_text(status)) : 0;
}

// "hbm", "tcm"; TLA_MEMORY_KIND_COUNT for another name.
tla_memory_kind memory_named(const char *name) {
    for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM})
        if (name && std::strcmp(name, tla_memory_kind_name(kind)) == 0) return kind;
    return TLA_MEMORY_KIND_COUNT;
}

// ALLOC and MOVE: their answer is an address.
int command_for_address(tlmc_controller *controller, std::uint32_t port, const char *memory, tla_command &what,
                        tlmc_access *who, std::uint64_t *address) {
    what.memory = memory_named(memory);
    if (!address) return fail(TLA_INVALID_ARGUMENT, "null pointer: pass a place for the address");
    if (what.memory == TLA_MEMORY_KIND_COUNT)
        return fail(TLA_INVALID_ARGUMENT,
                    "unknown memory \"" + std::string(memory ? memory : "") + "\": use hbm or tcm");
    tla_completion done{};
    const int status = command(controller, port, what, who, done);
    if (!status) *address = done.value;
    return status;
}

int bind(tla_opcode opcode, tlmc_controller *controller, std::uint32_t port, const tla_map_entry &entry,
         tlmc_access *who) {
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        tla_command what{};
        what.opcode = opcode;
        what.scope = {1, 1, 1}; // the host's only MMU
        what.count = 1;
        what.entries[0] = entry;
        tla_completion done{};
        return command(controller, port, what, who, done);
    });
}

} // namespace

extern "C" {

uint32_t tlmc_version(void) {
    return TLMC_VERSION;
}

const char *tlmc_library_version(void) {
    return tla_version();
}

const char *tlmc_error(void) {
    return last_error().c_str();
}

tlmc_controller *tlmc_create(uint32_t version, const char *name, const char *settings) {
    return guarded<tlmc_controller *>(nullptr, [&]() -> tlmc_controller * {
        std::string why;
        plugin_settings read;
        if (version != TLMC_VERSION)
            why = "the host was built for version " + std::to_string(version) +
                  " of the interface, this plugin (tlmalloc " + tla_version() + ") has version " +
                  std::to_string(TLMC_VERSION) + ": compile the host with the tlm_c.h of this plugin";
        else if (!name || !*name || !settings)
            why = "name or settings are missing: pass both";
        else if (!is_name(name)) // SystemC would change it
            why = std::string("invalid name ") + tla_quote(name).text + ": use printable characters other than \".\"";
        else if (state().running)
            why = "time has started: create controllers before the first access or tick";
        else if (sc_core::sc_find_object(name)) // SystemC would rename it
            why = std::string("another controller has the name \"") + name + "\": choose another name";
        else
            why = read_settings(settings, read);
        if (!why.empty()) {
            fail(0, why);
            return nullptr;
        }
        last_error(); // its thread-local memory comes with the first use: now, while the host has some
        sc_core::sc_report_handler::set_handler(report);
        return std::make_unique<tlmc_controller>(name, read).release(); // as long as the process
    });
}

int tlmc_transport(tlmc_controller *controller, uint32_t socket, tlmc_access *access) {
    if (const int wrong = check(controller, socket, access)) return wrong;
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        if (const int wrong = check_time(*access)) return wrong;
        controller->perform([&] {
            tlm::tlm_generic_payload payload;
            requester who = who_of(*access);
            sc_core::sc_time delay = arrival(access->delay_ps);
            fill(payload, *access);
            payload.set_extension(&who);
            controller->socket(socket)->b_transport(payload, delay);
            payload.clear_extension(&who);
            access->delay_ps = delay_of(delay);
            access->response = payload.get_response_status();
            access->dmi_hint = payload.is_dmi_allowed();
            access->exclusive = who.exclusive;
        });
        return 0;
    });
}

uint32_t tlmc_debug(tlmc_controller *controller, uint32_t socket, const tlmc_access *access) {
    if (check(controller, socket, access)) return 0;
    return guarded<uint32_t>(0, [&] {
        if (access->enables && !access->enables_length) {
            fail(TLA_INVALID_ARGUMENT, "byte enables of length 0: pass a length of at least 1");
            return 0u;
        }
        if (!access->data && access->length) {
            fail(TLA_INVALID_ARGUMENT, "null pointer for the data of " + std::to_string(access->length) + " bytes");
            return 0u;
        }
        settle(); // of the elaborated modules
        return debug_in_stretches(controller->socket(socket), *access);
    });
}

int tlmc_get_dmi(tlmc_controller *controller, uint32_t socket, const tlmc_access *access, tlmc_dmi *dmi) {
    if (check(controller, socket, access)) return 0;
    if (!dmi) {
        fail(TLA_INVALID_ARGUMENT, "null pointer: pass a place for the granted DMI");
        return 0;
    }
    return guarded<int>(0, [&] {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi granted;
        requester who = who_of(*access);
        fill(payload, *access);
        payload.set_extension(&who);
        settle(); // of the elaborated modules
        const bool is_granted = controller->socket(socket)->get_direct_mem_ptr(payload, granted);
        payload.clear_extension(&who);
        *dmi = {is_granted ? granted.get_dmi_ptr() : nullptr,
                granted.get_start_address(),
                granted.get_end_address(),
                to_ps(granted.get_read_latency()),
                to_ps(granted.get_write_latency()),
                granted.is_read_allowed(),
                granted.is_write_allowed()};
        return is_granted ? 1 : 0;
    });
}

void tlmc_on_dmi_lost(tlmc_controller *controller, void (*lost)(void *, uint64_t, uint64_t), void *context) {
    if (!controller) return;
    controller->lost = lost;
    controller->lost_context = context;
}

uint64_t tlmc_now_ps(void) {
    return state().now_ps;
}

int tlmc_tick(uint64_t until_ps) {
    const std::uint64_t now_ps = tlmc_now_ps();
    if (until_ps < now_ps)
        return fail(TLA_INVALID_ARGUMENT, "cannot tick to " + std::to_string(until_ps) + " ps: the time is already " +
                                              std::to_string(now_ps) + " ps, and cannot go back");
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        settle();
        const std::uint64_t simulated_ps = to_ps(sc_core::sc_time_stamp());
        if (until_ps > simulated_ps) run(from_ps(until_ps - simulated_ps));
        state().now_ps = until_ps;
        return 0;
    });
}

int tlmc_reset(tlmc_controller *controller) {
    if (!controller) return fail(TLA_INVALID_ARGUMENT, "null pointer: pass a controller");
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        controller->perform([&] {
            controller->controller.reset();
            controller->slice.reset();
            if (controller->local) controller->local->reset();
        });
        return 0;
    });
}

int tlmc_allocate(tlmc_controller *controller, uint32_t port, const char *memory, uint64_t nbytes, tlmc_access *who,
                  uint64_t *address) {
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        tla_command what{};
        what.opcode = TLA_OP_ALLOC;
        what.nbytes = nbytes;
        return command_for_address(controller, port, memory, what, who, address);
    });
}

int tlmc_free(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, tlmc_access *who) {
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        tla_command what{};
        what.opcode = TLA_OP_FREE;
        what.pa.value = address;
        what.nbytes = nbytes;
        tla_completion done{};
        return command(controller, port, what, who, done);
    });
}

int tlmc_bind(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, uint64_t va, uint32_t asid,
              tlmc_access *who) {
    return bind(TLA_OP_BIND, controller, port, {{va}, {address}, nbytes, TLA_READ | TLA_WRITE, asid}, who);
}

int tlmc_unbind(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, uint64_t va,
                uint32_t asid, tlmc_access *who) {
    return bind(TLA_OP_UNBIND, controller, port, {{va}, {address}, nbytes, TLA_READ | TLA_WRITE, asid}, who);
}

int tlmc_move(tlmc_controller *controller, uint32_t port, uint64_t address, const char *memory, tlmc_access *who,
              uint64_t *moved) {
    return guarded<int>(TLA_UNSUPPORTED, [&] {
        tla_command what{};
        what.opcode = TLA_OP_MOVE;
        what.pa.value = address;
        return command_for_address(controller, port, memory, what, who, moved);
    });
}

void tlmc_on_mapping(tlmc_controller *controller,
                     int (*changed)(void *context, uint32_t change, const tlmc_mapping *mappings, size_t count),
                     void *context) {
    if (!controller || !controller->mappings) return;
    controller->mappings->changed = changed;
    controller->mappings->context = context;
}

size_t tlmc_statistics(tlmc_controller *controller, char *text, size_t room) {
    if (!controller) return 0;
    return guarded<size_t>(0, [&] {
        std::ostringstream out;
        if (controller->local)
            instrumented::print_statistics(out, {&controller->controller, &controller->slice, controller->local.get()});
        else
            instrumented::print_statistics(out, {&controller->controller, &controller->slice});
        const std::string whole = out.str();
        if (text && room > 0) text[whole.copy(text, room - 1)] = '\0';
        return whole.size();
    });
}

void tlmc_on_warning(void (*warned)(void *, const char *, const char *), void *context) {
    state().warned = warned;
    state().warned_context = context;
}
}

namespace {

// SystemC's banner is not for a host to print.
const bool quiet [[maybe_unused]] = setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0) == 0;

} // namespace
