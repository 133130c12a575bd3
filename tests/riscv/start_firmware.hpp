// Firmware on a hart of its own that has begun.
#ifndef TLMALLOC_TESTS_RISCV_START_FIRMWARE_HPP
#define TLMALLOC_TESTS_RISCV_START_FIRMWARE_HPP

#include "model/riscv/firmware_engine.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>

using started_firmware = std::unique_ptr<tla_firmware_engine, void (*)(tla_firmware_engine *)>;

// With the timing of the defaults.
inline started_firmware start_firmware(const tla_firmware &firmware, std::uint64_t capacity, std::uint64_t nodes) {
    tla_riscv_timing timing;
    tla_riscv_timing_defaults(&timing);
    tla_firmware_engine *engine = nullptr;
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_firmware_engine_create(&firmware, &timing, &engine), TLA_OK);
    BOOST_REQUIRE_MESSAGE(tla_firmware_engine_restart(engine, capacity, nodes, &error) == TLA_OK, error.text);
    return {engine, tla_firmware_engine_destroy};
}

// The answer to a request that the firmware serves.
inline tla_firmware_answer ask_firmware(tla_firmware_engine *engine, tla_mailbox_operation operation,
                                        std::uint64_t offset, std::uint64_t size) {
    tla_firmware_answer answer{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_firmware_engine_serve(engine, operation, offset, size, &answer, &error) == TLA_OK,
                          error.text);
    return answer;
}

#endif
