// Who sends commands to a tla_controller, and hears what is released.
#ifndef TLMALLOC_TESTS_UNIT_COMMANDER_HPP
#define TLMALLOC_TESTS_UNIT_COMMANDER_HPP

#include "object_store_bench.hpp"
#include "tlmalloc/memory/controller.h"

struct commander {
    explicit commander(const tla_pe_memory_config &settings = object_memory(), tla_move_config move = {},
                       const tla_compaction_config &compaction = {}, std::uint32_t owner_port = TLA_CONTROLLER_NO_OWNER,
                       tla_victim_rule rule = TLA_VICTIM_LRU, const tla_watermark_config &watermark = {})
        : config(settings) {
        tla_controller_config c{};
        c.memory = settings;
        c.owner_port = owner_port;
        c.move = move;
        c.compaction = compaction;
        c.object_eviction = rule;
        c.watermark = watermark;
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_controller_check_config(&c, &error) == TLA_OK, error.text);
        BOOST_REQUIRE_EQUAL(tla_controller_create(&c, &controller), TLA_OK);
        const tla_controller_watch watch{
            [](void *self, tla_memory_kind kind, std::uint64_t offset, std::uint64_t granted) {
                static_cast<commander *>(self)->gone.push_back({kind, offset, granted});
            },
            nullptr, this};
        tla_controller_set_watch(controller, watch);
        BOOST_REQUIRE_EQUAL(tla_controller_begin(controller), TLA_OK);
        memory = tla_controller_memory(controller);
    }
    commander(const commander &) = delete;
    ~commander() { tla_controller_destroy(controller); }

    tla_completion run(tla_command command, std::uint64_t who = nobody) {
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        tla_controller_execute(controller, port, who, &command, now, &outcome);
        return outcome.completion;
    }
    tla_completion alloc(tla_memory_kind kind, const tla_stack_request &request, std::uint64_t who = nobody) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.memory = kind;
        command.nbytes = request.nbytes;
        command.stream = static_cast<std::uint32_t>(request.stream);
        command.format = request.format;
        return run(command, who);
    }
    tla_completion about(tla_opcode opcode, std::uint64_t pa, std::uint64_t nbytes = 0, std::uint64_t who = nobody,
                         std::uint64_t timeout = UINT64_MAX) {
        tla_command command{};
        command.opcode = opcode;
        command.pa = {pa};
        command.nbytes = nbytes;
        command.timeout_ps = timeout == UINT64_MAX ? 0 : timeout;
        return run(command, who);
    }

    // As the model asks (object_model.hpp).
    tla_status take(tla_memory_kind kind, const tla_stack_request &request, std::uint64_t who, std::uint64_t &pa) {
        const tla_completion done = alloc(kind, request, who);
        pa = done.value;
        return done.status;
    }
    tla_status ref(std::uint64_t pa, std::uint64_t who) { return about(TLA_OP_REF, pa, 0, who).status; }
    tla_status unref(std::uint64_t pa, std::uint64_t who) { return about(TLA_OP_UNREF, pa, 0, who).status; }
    tla_status pin(std::uint64_t pa, std::uint64_t who, std::uint64_t timeout) {
        return about(TLA_OP_PIN, pa, 0, who, timeout).status;
    }
    tla_status unpin(std::uint64_t pa, std::uint64_t who) { return about(TLA_OP_UNPIN, pa, 0, who).status; }
    void check_counts(std::uint64_t references, std::uint64_t pins, std::uint64_t nbytes) const {
        const tla_completion &done = outcome.completion;
        const bool of_pins = done.opcode == TLA_OP_PIN || done.opcode == TLA_OP_UNPIN;
        BOOST_REQUIRE_EQUAL(done.value, of_pins ? pins : references);
        BOOST_REQUIRE_EQUAL(done.nbytes, nbytes);
    }
    tla_status end_pins() {
        std::uint64_t at_ps = 0;
        return tla_controller_end_pins(controller, now, &at_ps, &outcome);
    }
    std::uint64_t ended() const { return tla_pe_memory_site_at(&config, outcome.memory, outcome.offset).pa.value; }
    std::uint64_t used(tla_memory_kind kind = TLA_HBM) const {
        return tla_controller_get_stats(controller, kind).memory.used;
    }
    tla_object_stats stats(tla_memory_kind kind) const { return tla_controller_get_objects(controller, kind); }

    struct given {
        tla_memory_kind memory;
        std::uint64_t offset, granted;
    };
    const tla_pe_memory_config config;
    tla_controller *controller = nullptr;
    tla_pe_memory *memory = nullptr;
    tla_controller_outcome outcome{};
    std::uint64_t now = 0;
    std::uint32_t port = 0; // at which commands arrive
    std::vector<given> gone;
};

// A receipt with that of the list's engine.
struct receipt : tla_work {
    receipt() : tla_work{} { engine = &beside; }
    receipt(const receipt &) = delete;
    tla_engine_work beside{};
};

#endif
