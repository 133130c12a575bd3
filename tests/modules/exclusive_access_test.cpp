// Who makes an access, by an extension of somebody else's: exclusive accesses, address spaces at the guard, privileges.
#include "controller_bench.hpp"
#include "tests/unit/seeded_random.hpp"

#include <deque>
#include <set>

using namespace controller_bench;

namespace {

// A platform's own extension, and what reads it.
struct sideband : tlm::tlm_extension<sideband> {
    std::uint64_t asid = ~0ull;
    std::uint32_t core = 0, privilege = 0;
    bool exclusive = false;
    tlm::tlm_extension_base *clone() const override { return new sideband(*this); }
    void copy_from(const tlm::tlm_extension_base &other) override { *this = static_cast<const sideband &>(other); }
};

struct sideband_reader : rights_reader {
    bool tells = true;
    access_rights read(const tlm::tlm_generic_payload &payload) const override {
        access_rights rights;
        const sideband *said = payload.get_extension<sideband>();
        if (!said) return rights;
        rights.has_asid = said->asid != ~0ull;
        rights.asid = static_cast<std::uint32_t>(said->asid);
        rights.core = said->core;
        rights.privilege = said->privilege;
        rights.exclusive = said->exclusive;
        return rights;
    }
    bool tell_failed(tlm::tlm_generic_payload &payload) const override {
        if (tells) payload.get_extension<sideband>()->exclusive = false;
        return tells;
    }
};

// A core: accesses with its sideband.
struct core : initiator {
    sideband said;
    core(sc_core::sc_module_name name, std::uint32_t number) : initiator(name) { said.core = number; }

    tlm::tlm_response_status make(tlm::tlm_command command, std::uint64_t address, bytes &data, bool exclusive) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
        payload.set_extension(&said);
        said.exclusive = exclusive;
        sc_core::sc_time delay;
        const tlm::tlm_response_status status = send(payload, delay);
        BOOST_CHECK(payload.get_extension<requester>() == nullptr);
        payload.clear_extension(&said);
        if (delay > sc_core::SC_ZERO_TIME) sc_core::wait(delay);
        return status;
    }
    std::uint8_t load_reserved(std::uint64_t address) {
        bytes data(1);
        BOOST_CHECK_EQUAL(make(tlm::TLM_READ_COMMAND, address, data, true), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(said.exclusive);
        return data[0];
    }
    bool store_conditional(std::uint64_t address, std::uint8_t value) {
        bytes data(1, value);
        BOOST_CHECK_EQUAL(make(tlm::TLM_WRITE_COMMAND, address, data, true), tlm::TLM_OK_RESPONSE);
        return said.exclusive;
    }
    void store(std::uint64_t address, std::uint8_t value) {
        bytes data(1, value);
        BOOST_CHECK_EQUAL(make(tlm::TLM_WRITE_COMMAND, address, data, false), tlm::TLM_OK_RESPONSE);
    }
};

// Two cores at a controller.
struct cores {
    explicit cores(const memory_controller::config &config)
        : controller("controller", config), slice("slice", slow_slice()) {
        controller.slice.bind(slice.in);
        for (core *c : {&a, &b})
            c->out.bind(controller.in);
        cpu.out.bind(controller.control);
        controller.in.read_rights(reader);
        controller.control.read_rights(reader);
    }
    static memory_controller::config plain() {
        memory_controller::config config = small();
        config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        config.memory.layout = TLA_LAYOUT_PLAIN;
        return config;
    }
    static hbm_slice::config slow_slice() {
        hbm_slice::config c = bench::slice_config();
        c.latency_ps = 40'000;
        return c;
    }
    void run(std::function<void()> body) {
        a.body = std::move(body);
        simulate({&a, &b, &cpu});
    }
    sideband_reader reader;
    memory_controller controller;
    hbm_slice slice;
    core a{"a", 1}, b{"b", 2}, cpu{"cpu", 0};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_conditional_store_succeeds_only_if_no_other_master_has_written) {
    cores s(cores::plain());
    s.run([&] {
        s.a.store(100, 7);
        BOOST_CHECK_EQUAL(s.a.load_reserved(100), 7);
        BOOST_CHECK(s.a.store_conditional(100, 8));
        BOOST_CHECK(!s.a.store_conditional(100, 9)); // reserved no more
        BOOST_CHECK_EQUAL(s.a.load_reserved(100), 8);
        s.b.store(100, 20);
        BOOST_CHECK(!s.a.store_conditional(100, 9)); // the pair that would have lost a store
        BOOST_CHECK_EQUAL(s.a.read(100, 1)[0], 20);
        s.a.load_reserved(100);
        s.b.load_reserved(100);
        BOOST_CHECK(s.b.store_conditional(100, 21)); // the first of two
        BOOST_CHECK(!s.a.store_conditional(100, 22));
        s.a.load_reserved(100);
        s.b.store(101, 1); // beside it
        BOOST_CHECK(s.a.store_conditional(100, 23));
        s.a.load_reserved(100);
        s.a.load_reserved(200); // one reservation each
        BOOST_CHECK(!s.a.store_conditional(100, 24));
        BOOST_CHECK(!s.a.store_conditional(200, 24)); // the one before ended it, though it was not made
        s.a.load_reserved(200);
        s.b.load_reserved(300);
        BOOST_CHECK(!s.b.store_conditional(200, 24)); // and nobody else's
        BOOST_CHECK(s.a.store_conditional(200, 25));
        BOOST_CHECK(!s.b.store_conditional(300, 24));
        bytes poke(1, 50);
        s.a.load_reserved(100);
        s.b.debug(tlm::TLM_WRITE_COMMAND, 100, poke); // a debugger's store is one, too
        BOOST_CHECK(!s.a.store_conditional(100, 24));
        BOOST_CHECK_EQUAL(s.a.read(100, 1)[0], 50);
    });
}

BOOST_AUTO_TEST_CASE(a_conditional_store_whose_failure_cannot_be_reported_is_rejected) {
    cores s(cores::plain());
    s.reader.tells = false;
    s.run([&] {
        bytes data(1, 5);
        BOOST_CHECK_EQUAL(s.a.make(tlm::TLM_WRITE_COMMAND, 100, data, true), tlm::TLM_COMMAND_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(s.a.read(100, 1)[0], 0);
        s.a.load_reserved(100);
        BOOST_CHECK_EQUAL(s.a.make(tlm::TLM_WRITE_COMMAND, 100, data, true), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(s.a.read(100, 1)[0], 5);
    });
}

// A conditional store that is answered with an error ends what its core had reserved, too; another core's stays.
BOOST_AUTO_TEST_CASE(a_conditional_store_that_is_an_error_ends_the_reservation_of_its_core) {
    memory_controller::config config = cores::plain();
    config.guard = TLA_GUARD_ERROR;
    cores s(config);
    s.run([&] {
        BOOST_REQUIRE_EQUAL(s.cpu.command(0, alloc_command(TLA_HBM, 4096)).value, 0u);
        s.a.store(100, 1);
        bytes data(1, 5), wide(2, 5);
        std::uint8_t enable = 0xff;
        const auto refused = [&](std::uint64_t address, bool enabled, unsigned width, bytes &what) {
            tlm::tlm_generic_payload payload;
            requester who(0, 1);
            who.exclusive = true;
            payload.set_write();
            payload.set_address(address);
            payload.set_data_ptr(what.data());
            payload.set_data_length(static_cast<unsigned>(what.size()));
            payload.set_streaming_width(width);
            if (enabled) {
                payload.set_byte_enable_ptr(&enable);
                payload.set_byte_enable_length(1);
            }
            payload.set_extension(&who);
            sc_core::sc_time delay;
            const tlm::tlm_response_status status = s.a.send(payload, delay);
            payload.clear_extension(&who);
            return status;
        };
        const std::uint64_t nowhere = 1ull << 50, not_allocated = 8192;
        for (int how = 0; how < 4; how++) {
            s.a.load_reserved(100);
            s.b.load_reserved(100);
            if (how == 0) BOOST_CHECK_EQUAL(refused(nowhere, false, 1, data), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            if (how == 1) BOOST_CHECK_EQUAL(refused(not_allocated, false, 1, data), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            if (how == 2) BOOST_CHECK_EQUAL(refused(100, true, 1, data), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
            if (how == 3) BOOST_CHECK_EQUAL(refused(100, false, 1, wide), tlm::TLM_BURST_ERROR_RESPONSE);
            BOOST_CHECK_MESSAGE(!s.a.store_conditional(100, 9), "refused in way " << how);
            BOOST_CHECK_MESSAGE(s.b.store_conditional(100, static_cast<std::uint8_t>(20 + how)), "of b, way " << how);
        }
        BOOST_CHECK_EQUAL(s.a.read(100, 1)[0], 23);
    });
}

// A core has one reservation in all memories of a controller, and DMI that was refused because of it is offered again
// by the memory in which it was.
BOOST_AUTO_TEST_CASE(a_core_has_one_reservation_in_all_memories) {
    memory_controller controller("controller", small());
    hbm_slice slice("slice", bench::slice_config());
    tcm local("local", bench::tcm_config());
    core a("a", 1), b("b", 2), cpu("cpu", 0);
    cpu.out.bind(controller.control);
    controller.slice.bind(slice.in);
    controller.tcm.bind(local.in);
    a.out.bind(controller.in);
    b.out.bind(controller.in);
    const sideband_reader reader;
    controller.in.read_rights(reader);
    tla_paddr hbm{}, in_tcm{};
    const tla_pe_memory_config memory = small().memory;
    BOOST_REQUIRE_EQUAL(tla_pe_memory_address(&memory, TLA_HBM, 64, &hbm), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_pe_memory_address(&memory, TLA_TCM, 64, &in_tcm), TLA_OK);
    a.body = [&] {
        a.load_reserved(hbm.value);
        a.load_reserved(in_tcm.value);
        BOOST_CHECK(!a.store_conditional(hbm.value, 1));
        BOOST_CHECK(!a.store_conditional(in_tcm.value, 1)); // the one before ended it
        a.load_reserved(hbm.value);
        b.load_reserved(in_tcm.value);
        BOOST_CHECK(b.pointer_to(hbm.value) == nullptr);
        b.lost.clear();
        BOOST_CHECK(b.store_conditional(in_tcm.value, 1)); // nothing that was refused is there
        BOOST_CHECK_EQUAL(b.lost.size(), 0u);
        BOOST_CHECK(b.pointer_to(hbm.value) == nullptr);
        BOOST_CHECK(!a.store_conditional(in_tcm.value, 1));
        BOOST_CHECK_EQUAL(b.lost.size(), 1u); // not reserved any more
        BOOST_CHECK(b.pointer_to(hbm.value) != nullptr);
        b.lost.clear();
        a.load_reserved(hbm.value);
        BOOST_CHECK(b.pointer_to(hbm.value) == nullptr);
        controller.reset();
        b.lost.clear();
        a.load_reserved(hbm.value);
        BOOST_CHECK(a.store_conditional(hbm.value, 1));
        BOOST_CHECK_EQUAL(b.lost.size(), 0u); // of refusals before a reset nobody knows
    };
    simulate({&a, &b, &cpu});
}

namespace {

// What the monitors promise, byte by byte: which bytes a core has reserved, and what all of them are.
struct naive_monitors {
    std::set<std::uint64_t> reserved[2];
    std::vector<std::uint8_t> all = bytes(64);

    void reserve(unsigned who, std::uint64_t first, std::uint64_t length) {
        reserved[who].clear();
        for (std::uint64_t at = first; at < first + length; at++)
            reserved[who].insert(at);
    }
    bool holds(unsigned who, std::uint64_t first, std::uint64_t length) const {
        for (std::uint64_t at = first; at < first + length; at++)
            if (!reserved[who].count(at)) return false;
        return true;
    }
    void write(std::uint64_t first, const bytes &data) { // a byte that is written ends the whole reservation
        std::copy(data.begin(), data.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
        for (auto &own : reserved)
            for (std::uint64_t at = first; at < first + data.size(); at++)
                if (own.count(at)) own.clear();
    }
};

} // namespace

// Two cores at the same 64 bytes, 20,000 accesses of 1 to 8 bytes one after the other, by either core at random. What
// is under way at the same time exclusive_masters_test looks at.
BOOST_AUTO_TEST_CASE(random_exclusive_accesses_of_two_cores_do_what_naive_monitors_do) {
    cores s(cores::plain());
    seeded_random random(181);
    naive_monitors naive;
    std::uint64_t made = 0, failed = 0;
    std::string wrong;
    const auto step = [&](core &c, unsigned who) {
        const std::uint64_t length = random.between(1, 8), first = random.between(0, 64 - length);
        bytes data(length);
        for (std::uint8_t &byte : data)
            byte = static_cast<std::uint8_t>(random.between(0, 255));
        const bytes there(naive.all.begin() + static_cast<std::ptrdiff_t>(first),
                          naive.all.begin() + static_cast<std::ptrdiff_t>(first + length));
        const auto require = [&](bool holds, const char *what) {
            if (!holds && wrong.empty()) wrong = std::string(what) + " of core " + std::to_string(who);
        };
        const auto go = [&](tlm::tlm_command command, bool exclusive) {
            require(c.make(command, first, data, exclusive) == tlm::TLM_OK_RESPONSE, "a status");
        };
        switch (random.between(0, 7)) {
        case 0: // a store
            naive.write(first, data);
            go(tlm::TLM_WRITE_COMMAND, false);
            break;
        case 1: // a load, which ends no reservation
            go(tlm::TLM_READ_COMMAND, false);
            require(data == there, "a load");
            break;
        case 2: // a debugger's store
            naive.write(first, data);
            require(c.debug(tlm::TLM_WRITE_COMMAND, first, data) == length, "a debug access");
            break;
        case 3:
        case 4: // LR
            naive.reserve(who, first, length);
            go(tlm::TLM_READ_COMMAND, true);
            require(data == there, "an exclusive load");
            break;
        default: { // SC of what is reserved, mostly
            const std::set<std::uint64_t> &own = naive.reserved[who];
            std::uint64_t at = first, n = length;
            if (!own.empty() && !random.one_in(4)) {
                at = *own.begin();
                n = random.one_in(4) ? random.between(1, own.size()) : own.size();
                data.resize(n, 0x5c);
            }
            const bool due = naive.holds(who, at, n);
            if (due) naive.write(at, data);
            naive.reserved[who].clear(); // made or not
            (due ? made : failed)++;
            require(c.make(tlm::TLM_WRITE_COMMAND, at, data, true) == tlm::TLM_OK_RESPONSE, "a status");
            require(c.said.exclusive == due, "whether a conditional store is made");
        }
        }
    };
    s.run([&] {
        for (int i = 0; i < 20'000; i++) {
            const bool of_b = random.one_in(2);
            step(of_b ? s.b : s.a, of_b);
            sc_core::wait(from_ps(1000 * random.between(0, 99)));
        }
        bytes end(64);
        s.a.debug(tlm::TLM_READ_COMMAND, 0, end);
        BOOST_CHECK(end == naive.all);
    });
    BOOST_CHECK_EQUAL(wrong, "");
    BOOST_CHECK_GT(made, 1000u);
    BOOST_CHECK_GT(failed, 1000u);
    BOOST_TEST_MESSAGE(made << " conditional stores were made, " << failed << " were not");
}

// Every increment of both cores is kept, whoever is interrupted where.
BOOST_AUTO_TEST_CASE(two_cores_lose_no_increment) {
    cores s(cores::plain());
    unsigned failed = 0;
    const auto count = [&](core &c, std::uint64_t pause_ps) {
        for (int i = 0; i < 100; i++)
            for (;;) {
                const std::uint8_t value = c.load_reserved(64);
                sc_core::wait(from_ps(pause_ps + 1000 * unsigned(i)));
                if (c.store_conditional(64, static_cast<std::uint8_t>(value + 1))) break;
                failed++;
            }
    };
    s.b.body = [&] { count(s.b, 17'000); };
    s.run([&] { count(s.a, 29'000); });
    bytes sum(1);
    tlm::tlm_generic_payload look;
    look.set_read();
    look.set_address(64);
    look.set_data_ptr(sum.data());
    look.set_data_length(1);
    s.a.out->transport_dbg(look);
    BOOST_CHECK_EQUAL(sum[0], 200);
    BOOST_CHECK_GT(failed, 10u);
}

BOOST_AUTO_TEST_CASE(no_initiator_bypasses_a_reservation_with_a_dmi_pointer) {
    cores s(cores::plain());
    s.run([&] {
        BOOST_REQUIRE(s.b.pointer_to(100) != nullptr);
        s.a.load_reserved(100);
        BOOST_REQUIRE_EQUAL(s.b.lost.size(), 1u);
        BOOST_CHECK(s.b.lost[0] == std::make_pair(std::uint64_t{100}, std::uint64_t{100}));
        BOOST_CHECK(s.b.pointer_to(100) == nullptr);
        BOOST_CHECK(s.b.pointer_to(101) != nullptr);
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_read();
        payload.set_address(50);
        BOOST_REQUIRE(s.b.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(dmi.get_end_address(), 99u); // up to it
        BOOST_CHECK(s.a.store_conditional(100, 1));
        BOOST_CHECK_EQUAL(s.b.lost.size(), 2u); // who was refused is told that he may ask again
        BOOST_CHECK(s.b.pointer_to(100) != nullptr);
    });
}

BOOST_AUTO_TEST_CASE(a_free_and_a_reset_break_reservations) {
    cores s(cores::plain());
    s.run([&] {
        BOOST_REQUIRE_EQUAL(s.cpu.command(0, alloc_command(TLA_HBM, 4096)).value, 0u);
        s.a.load_reserved(100);
        BOOST_REQUIRE_EQUAL(s.cpu.command(0, free_command(0, 4096)).status, TLA_OK);
        BOOST_CHECK(!s.a.store_conditional(100, 1));
        s.a.load_reserved(100);
        s.controller.reset();
        BOOST_CHECK(!s.a.store_conditional(100, 1));
        BOOST_CHECK_EQUAL(s.a.read(100, 1)[0], 0);
    });
}

// Nobody ignores that an access is exclusive.
BOOST_AUTO_TEST_CASE(a_target_without_reservations_rejects_exclusive_accesses) {
    cores s(cores::plain());
    hbm_slice alone("alone", bench::slice_config());
    core direct("direct", 3), at_control("at_control", 4);
    direct.out.bind(alone.in);
    at_control.out.bind(s.controller.control);
    alone.in.read_rights(s.reader);
    s.run([&] {
        bytes data(4);
        for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
            BOOST_CHECK_EQUAL(direct.make(command, 0, data, true), tlm::TLM_COMMAND_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(at_control.make(command, TLA_PORT_STATE, data, true), tlm::TLM_COMMAND_ERROR_RESPONSE);
        }
        BOOST_CHECK_EQUAL(direct.make(tlm::TLM_READ_COMMAND, 0, data, false), tlm::TLM_OK_RESPONSE);
        tlm::tlm_generic_payload payload;
        requester who(0, 1);
        who.exclusive = true;
        std::uint8_t enable = 0xff;
        payload.set_read();
        payload.set_address(0);
        payload.set_data_ptr(data.data());
        payload.set_data_length(4);
        payload.set_streaming_width(2);
        payload.set_extension(&who);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.a.send(payload, delay), tlm::TLM_BURST_ERROR_RESPONSE);
        payload.set_streaming_width(4);
        payload.set_byte_enable_ptr(&enable);
        payload.set_byte_enable_length(1);
        BOOST_CHECK_EQUAL(s.a.send(payload, delay), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        payload.clear_extension(&who);
    });
}

// Through an MMU, an access is one or it is refused.
BOOST_AUTO_TEST_CASE(exclusive_accesses_pass_an_mmu_whole_or_not_at_all) {
    cores s(cores::plain());
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = 4096;
    pe_mmu mmu("mmu", config);
    core user("user", 5);
    initiator driver("driver");
    mmu.out.bind(s.controller.in);
    user.out.bind(mmu.in);
    driver.out.bind(mmu.control);
    mmu.in.read_rights(s.reader);
    s.run([&] {
        driver.command(0,
                       map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0x10000, 0x8000, 4096}, {0x11000, 0x2000, 4096}}));
        BOOST_CHECK_EQUAL(user.load_reserved(0x10004), 0);
        BOOST_CHECK(user.store_conditional(0x10004, 9));
        BOOST_CHECK_EQUAL(s.a.read(0x8004, 1)[0], 9);
        user.load_reserved(0x10004);
        s.a.store(0x8004, 3); // by the physical address
        BOOST_CHECK(!user.store_conditional(0x10004, 10));
        bytes data(8);
        BOOST_CHECK_EQUAL(user.make(tlm::TLM_READ_COMMAND, 0x10ffc, data, true), tlm::TLM_COMMAND_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(user.make(tlm::TLM_WRITE_COMMAND, 0x10ffc, data, true), tlm::TLM_COMMAND_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(user.make(tlm::TLM_READ_COMMAND, 0x10ffc, data, false), tlm::TLM_OK_RESPONSE);
    });
}

BOOST_AUTO_TEST_CASE(address_spaces_and_cores_reach_the_guard) {
    memory_controller::config config = cores::plain();
    config.guard = TLA_GUARD_ERROR;
    cores s(config);
    s.run([&] {
        s.cpu.said.asid = 3;
        bytes descriptor(TLA_COMMAND_MAX_BYTES), answer(TLA_COMPLETION_BYTES), data(4, 1);
        std::size_t length = 0;
        const auto command = [&](core &by, const tla_command &what) {
            tla_command_encode(&what, descriptor.data(), descriptor.size(), &length);
            bytes written(descriptor.begin(), descriptor.begin() + static_cast<std::ptrdiff_t>(length));
            BOOST_CHECK_EQUAL(by.make(tlm::TLM_WRITE_COMMAND, 0, written, false), tlm::TLM_OK_RESPONSE);
            by.make(tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION, answer, false);
            tla_completion done{};
            tla_completion_decode(answer.data(), &done);
            return done;
        };
        BOOST_REQUIRE_EQUAL(command(s.cpu, alloc_command(TLA_HBM, 4096)).status, TLA_OK);
        s.a.said.asid = 3;
        s.b.said.asid = 4;
        BOOST_CHECK_EQUAL(s.a.make(tlm::TLM_WRITE_COMMAND, 0, data, false), tlm::TLM_OK_RESPONSE);
        reports().clear();
        BOOST_CHECK_EQUAL(s.b.make(tlm::TLM_READ_COMMAND, 0, data, false), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_REQUIRE_EQUAL(reports().size(), 1u);
        BOOST_CHECK(reports()[0].find("TLA_NOT_OWNER") != std::string::npos);
        BOOST_CHECK(reports()[0].find("initiator 2") != std::string::npos);
        BOOST_TEST_MESSAGE(reports()[0]);
        s.b.said.asid = ~0ull; // who says no address space is held to none
        BOOST_CHECK_EQUAL(s.b.make(tlm::TLM_READ_COMMAND, 0, data, false), tlm::TLM_OK_RESPONSE);
        s.b.said.asid = TLA_ASID_HARDWARE; // none that there can be
        BOOST_CHECK_EQUAL(s.b.make(tlm::TLM_READ_COMMAND, 0, data, false), tlm::TLM_COMMAND_ERROR_RESPONSE);
        s.cpu.said.asid = 4;
        BOOST_CHECK_EQUAL(command(s.cpu, free_command(0, 4096)).status, TLA_NOT_OWNER);
        s.cpu.said.asid = 3;
        BOOST_CHECK_EQUAL(command(s.cpu, free_command(0, 4096)).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(a_socket_wants_a_privilege) {
    cores s(cores::plain());
    s.controller.control.read_rights(s.reader, 2);
    s.run([&] {
        bytes data(4);
        BOOST_CHECK_EQUAL(s.cpu.make(tlm::TLM_READ_COMMAND, TLA_PORT_STATE, data, false),
                          tlm::TLM_COMMAND_ERROR_RESPONSE);
        s.cpu.said.privilege = 2;
        BOOST_CHECK_EQUAL(s.cpu.make(tlm::TLM_READ_COMMAND, TLA_PORT_STATE, data, false), tlm::TLM_OK_RESPONSE);
    });
}
