// A law of steps on a platform.
#include "serving/command/platform_law.h"

#include "cli/law_argument.h"
#include "cli/message.h"
#include "cli/overrides.h"
#include "cli/report_words.hpp"
#include "model/base/suggest.h"
#include "serving/command/platform_attention.hpp"
#include "serving/command/platform_blocks.hpp"
#include "serving/command/platform_port.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace tlmalloc {

namespace {

struct platform_law {
    ~platform_law() { tla_step_law_clear(&inner); }

    tla_step_law inner{};
    std::unique_ptr<npu> platform;
    std::unique_ptr<platform_tier> tier; // or none
    std::unique_ptr<platform_blocks> blocks;
    std::unique_ptr<platform_attention> attention; // or none; goes first
    std::uint32_t layers = 0;
    platform_blocks::times left; // less than a nanosecond, for the next step
    bool deaf = false;           // a decision was not heard, for lack of the host's memory
};

// Modules' reports go to stderr, since stdout may be a report; errors are thrown.
void report(const sc_core::sc_report &r, const sc_core::sc_actions &actions) {
    if (r.get_severity() == sc_core::SC_WARNING)
        print_message("tlmalloc serve: warning: %s: %s", r.get_msg_type(), r.get_msg());
    if (actions & sc_core::SC_THROW) throw r;
}

// The callers are C, through which no exception may pass.
template <typename Work>
tla_status told(tla_error *error, const Work &work) {
    try {
        return work();
    } catch (const sc_core::sc_report &r) {
        return tla_error_set(error, status_of(r), "%s", words_of(r).c_str());
    } catch (const std::bad_alloc &) {
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the platform");
    }
}

std::uint64_t take_ns(std::uint64_t &ps) {
    const std::uint64_t ns = ps / 1000;
    ps %= 1000;
    return ns;
}

tla_status time_of(void *context, const tla_step *step, tla_step_time *time, tla_error *error) {
    auto &law = *static_cast<platform_law *>(context);
    if (const tla_status status = law.inner.time(law.inner.context, step, time, error)) return status;
    if (law.deaf) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the platform");
    const auto run = [&] { return law.blocks->run(law.left, error); };
    if (const tla_status status = told(error, run)) return status;
    time->allocation_ns += take_ns(law.left.allocation_ps);
    time->mapping_ns += take_ns(law.left.mapping_ps);
    time->transfer_ns += take_ns(law.left.transfer_ps);
    if (!law.attention) return TLA_OK;
    std::uint64_t layer_ps = 0;
    const auto read = [&] { return law.attention->read(*step, layer_ps, error); };
    if (const tla_status status = told(error, read)) return status;
    std::uint64_t all_ps = 0;
    if (__builtin_mul_overflow(layer_ps, law.layers, &all_ps) ||
        __builtin_add_overflow(all_ps, law.left.transfer_ps, &law.left.transfer_ps))
        return tla_error_set(error, TLA_LIMIT, "attention of a step takes 2^64 ps or more");
    time->transfer_ns += take_ns(law.left.transfer_ps);
    return TLA_OK;
}

void hear(void *context, const tla_block_decision *decision) {
    auto &law = *static_cast<platform_law *>(context);
    try {
        law.blocks->hear(*decision);
    } catch (const std::bad_alloc &) {
        law.deaf = true;
    }
}

void destroy(void *context) {
    delete static_cast<platform_law *>(context);
}

// The rest of a step, where attention is none of it.
tla_serving_settings without_attention(tla_serving_settings settings) {
    tla_serving_layers &sequence = settings.layer_sequence;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < sequence.count; i++)
        if (std::strcmp(sequence.names[i], "attention") != 0)
            std::memmove(sequence.names[kept++], sequence.names[i], sizeof sequence.names[i]);
    sequence.count = kept;
    return settings;
}

// From a block's beginning on: all that is read by DMA, which is a layer by attention and all of it by moves.
std::uint64_t pattern_bytes(const tla_serving_settings &settings) {
    const std::uint64_t nbytes = settings.host_link.block_bytes;
    if (settings.pattern_everywhere || settings.rules.host_blocks) return nbytes;
    const std::uint64_t layer = settings.attention_by_dma ? nbytes / settings.layers : 0;
    return std::max(layer, platform_blocks::end_bytes);
}

tla_status check_tier(const tla_scheduler_rules &rules, std::uint64_t block_bytes, const tla_config &config,
                      tla_error *error) {
    const std::uint64_t capacity = config.host_memory.capacity, most = capacity / block_bytes;
    if (rules.host_blocks <= most) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "host_blocks: found %u of %llu bytes, expected at most %llu, which fit into the platform's "
                         "host_memory.capacity of %llu bytes",
                         rules.host_blocks, static_cast<unsigned long long>(block_bytes),
                         static_cast<unsigned long long>(most), static_cast<unsigned long long>(capacity));
}

tla_status check(const tla_serving_settings &settings, const tla_config &config, tla_error *error) {
    const tla_scheduler_rules &rules = settings.rules;
    const std::uint64_t nbytes = settings.host_link.block_bytes;
    if (rules.has_memory) return tla_error_set(error, TLA_UNSUPPORTED, "a platform supports only kv_memory blocks");
    if (config.host.lockstep != TLA_LOCKSTEP_OFF)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "a platform for serving needs host.lockstep off, because each block belongs to one slice");
    if (config.controller.ports <= port_beside)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "controller.ports is %u, expected at least %u: port %u serves the blocks of a platform",
                             config.controller.ports, port_beside + 1, port_beside);
    if (!nbytes)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the size of a block is unknown: set layers, kv_heads and head_dim");
    if (nbytes < 2 * platform_blocks::end_bytes)
        return tla_error_set(
            error, TLA_UNSUPPORTED, "a block has %llu bytes, expected at least %llu, for a pattern at each end",
            static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(2 * platform_blocks::end_bytes));
    const std::uint64_t pes = std::uint64_t{config.system.sips} * config.system.cube_mesh_width *
                              config.system.cube_mesh_height * config.system.pes_per_cube;
    const std::uint64_t slice = slice_config(config, {0, 0, 0}).capacity, most = slice / nbytes * pes;
    if (rules.blocks > most)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "gpu_blocks: found %u of %llu bytes, expected at most %llu, which fit into %llu slices of %llu bytes",
            rules.blocks, static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(most),
            static_cast<unsigned long long>(pes), static_cast<unsigned long long>(slice));
    return check_tier(rules, nbytes, config, error);
}

} // namespace

} // namespace tlmalloc

using namespace tlmalloc;

tla_status platform_law_parse(const char *text, const tla_serving_settings *settings, tla_step_law *law,
                              tla_error *error) {
    *law = {};
    const char *begin;
    std::size_t length;
    const char *const inner = platform_law_split(text, &begin, &length);
    if (!inner)
        return tla_error_set(error, TLA_SYNTAX,
                             "found %s, expected \"platform CONFIG\", \"platform CONFIG + fixed TIME + TIME/token\" or "
                             "\"platform CONFIG + profile DIR\"",
                             tla_quote(text).text);
    tla_config config{};
    const std::string path(begin, length);
    if (const tla_status status = tla_config_load(path.c_str(), nullptr, 0, &config, print_finding, nullptr))
        return tla_error_set(error, status, "%s: the platform's configuration is invalid: see the messages above",
                             path.c_str());
    sc_core::sc_report_handler::set_handler(report);
    return platform_law_make("", &config, inner, settings, law, error);
}

tla_status platform_law_make(const char *prefix, const tla_config *config, const char *rest,
                             const tla_serving_settings *settings, tla_step_law *law, tla_error *error) {
    *law = {};
    auto made = std::make_unique<platform_law>();
    const bool by_dma = settings->attention_by_dma;
    const tla_serving_settings others = by_dma ? without_attention(*settings) : *settings;
    if (const tla_status status = tla_step_law_parse(rest, &others, &made->inner, error)) return status;
    if (const tla_status status = check(*settings, *config, error)) return status;
    const tla_status status = told(error, [&] {
        const auto named = [prefix](const char *part) { return prefix + std::string(part); };
        made->platform = std::make_unique<npu>(named("npu").c_str(), *config, kernel_table{});
        const std::uint64_t nbytes = settings->host_link.block_bytes, layer = nbytes / settings->layers;
        made->blocks =
            std::make_unique<platform_blocks>(named("blocks").c_str(), *made->platform, settings->rules.blocks, nbytes,
                                              config->mmu.page_size, pattern_bytes(*settings), config->workload.asid,
                                              settings->pattern_everywhere ? nbytes : platform_blocks::end_bytes);
        if (settings->rules.host_blocks) {
            made->tier = std::make_unique<platform_tier>(named("tier").c_str(), *made->platform, nbytes);
            made->blocks->set_tier(*made->tier);
        }
        if (by_dma)
            made->attention = std::make_unique<platform_attention>(named("attention").c_str(), *made->platform,
                                                                   *made->blocks, layer, settings->rules.block_tokens);
        made->layers = settings->layers;
        return TLA_OK;
    });
    if (!status) *law = {time_of, hear, destroy, made.release()};
    return status;
}

tla_status platform_law_age(tla_step_law *law, const char *snapshot, std::size_t length, tla_error *error) {
    auto &made = *static_cast<platform_law *>(law->context);
    return told(error, [&] { return made.platform->age(std::string(snapshot, length), error); });
}

tla_status platform_law_finish(tla_step_law *law, tla_error *error) {
    auto &made = *static_cast<platform_law *>(law->context);
    const auto finish = [&] {
        const tla_status status = made.attention ? made.attention->finish(error) : TLA_OK;
        return status ? status : made.blocks->finish(error);
    };
    if (const tla_status status = told(error, finish)) return status;
    const std::uint64_t leaks = made.platform->leaks();
    if (leaks)
        return tla_error_set(error, TLA_LEAK, "%llu leaks on the platform: not all memory was freed",
                             static_cast<unsigned long long>(leaks));
    return TLA_OK;
}

platform_attention_totals platform_law_attention(const tla_step_law *law) {
    const auto &made = *static_cast<const platform_law *>(law->context);
    return made.attention ? made.attention->totals() : platform_attention_totals{};
}

platform_counts platform_law_counts(const tla_step_law *law) {
    return static_cast<const platform_law *>(law->context)->blocks->counts();
}
