// What keys as CCI parameters cost on the host: instances with presets, beside configurations with the same overrides.
#include "measuring.hpp"
#include "tlmalloc/cci/cci_settings.hpp"

#include <cci_configuration>
#include <memory>
#include <string>

using namespace tlmalloc;

namespace {

struct options {
    std::uint64_t instances = 256, rounds = 7;
    const char *json = nullptr;
};

constexpr std::pair<const char *, const char *> presets[] = {{"controller.hbm_policy", "best_fit"},
                                                             {"controller.ports", "8"},
                                                             {"hbm.timing", "hbm3"},
                                                             {"mmu.page_size", "64 KiB"}};

std::string name_of(std::uint64_t instance) {
    return "npu" + std::to_string(instance);
}

void preset_all(const options &o) {
    cci::cci_broker_handle broker = cci::cci_get_global_broker(cci::cci_originator("bench_cci"));
    for (std::uint64_t i = 0; i < o.instances; i++)
        for (const auto &[key, value] : presets)
            broker.set_preset_cci_value(name_of(i) + "." + key, cci::cci_value(std::string(value)));
}

double parameters_ns(const options &o, const tla_config &expected) {
    std::vector<std::unique_ptr<cci_settings>> all;
    const double begin = processor_ns();
    for (std::uint64_t i = 0; i < o.instances; i++)
        all.push_back(std::make_unique<cci_settings>(name_of(i)));
    const double taken = processor_ns() - begin;
    for (const auto &one : all)
        if (!tla_config_equal(&one->config(), &expected)) fail("an instance has another configuration");
    return taken;
}

double overrides_ns(const options &o, tla_config *config) {
    std::vector<std::string> texts;
    for (const auto &[key, value] : presets)
        texts.push_back(std::string(key) + "=" + value);
    std::vector<const char *> overrides;
    for (const std::string &text : texts)
        overrides.push_back(text.c_str());
    const double begin = processor_ns();
    for (std::uint64_t i = 0; i < o.instances; i++)
        if (tla_config_load(nullptr, overrides.data(), overrides.size(), config, nullptr, nullptr) != TLA_OK)
            fail("the overrides are rejected");
    return processor_ns() - begin;
}

} // namespace

int sc_main(int argc, char **argv) {
    options o;
    read_options(argc, argv, "What keys as CCI parameters cost on the host.",
                 {{{"instances", 'n', "N", 0, "of an npu (default 256)", 0}, &o.instances},
                  {{"rounds", 'r', "N", 0, "rounds, of which the median counts (default 7)", 0}, &o.rounds}},
                 &o.json);
    cci_utils::consuming_broker global("global");
    cci::cci_register_broker(global);
    preset_all(o);
    std::vector<double> by_parameters, by_overrides;
    for (std::uint64_t round = 0; round < o.rounds; round++) {
        tla_config config{};
        by_overrides.push_back(overrides_ns(o, &config));
        by_parameters.push_back(parameters_ns(o, config));
    }
    const double with = median(by_parameters), without = median(by_overrides);
    std::printf("%llu instances: %.0f ms as CCI parameters, %.0f ms as overrides: %.1f times\n",
                static_cast<unsigned long long>(o.instances), with / 1e6, without / 1e6, with / without);
    json_t *root = json_pack("{s:s, s:I, s:f, s:f, s:f}", "benchmark", "bench_cci", "instances",
                             static_cast<json_int_t>(o.instances), "parameters_ms", with / 1e6, "overrides_ms",
                             without / 1e6, "ratio", with / without);
    return write_figures(root, o.json);
}
