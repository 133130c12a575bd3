// Networks: what the reader takes and refuses, placements, and the kernel on shared memory against the reference.
#include "network/network.h"
#include "plain_kernel.hpp"
#include "scratch_directory.hpp"
#include "seeded_random.hpp"

namespace {

struct loaded {
    explicit loaded(const std::string &text) {
        scratch_directory scratch;
        const auto keep = [](void *context, const tla_config_finding *finding) {
            auto &all = *static_cast<std::string *>(context);
            all += std::to_string(finding->line) + ":" + std::to_string(finding->column) + ": " + finding->text + "\n";
        };
        status = network_load(scratch.write("net.yaml", text).c_str(), &net, keep, &findings);
        BOOST_CHECK_EQUAL(status == TLA_OK, findings.empty());
    }
    loaded(const loaded &) = delete;
    loaded &operator=(const loaded &) = delete;
    ~loaded() { network_clear(&net); }

    std::size_t find(const std::string &name) const {
        for (std::size_t t = 0; t < net.tensor_count; t++)
            if (net.tensors[t].name == name) return t;
        BOOST_FAIL("no tensor " << name);
        return 0;
    }

    network net{};
    tla_status status;
    std::string findings;
};

const std::string small = "name: small\n"
                          "inputs: {x: 8 KiB, w: 12 B}\n"
                          "ops:\n"
                          "  - {name: linear, inputs: x w, outputs: {y: 4 KiB, side: 16 B}}\n"
                          "  - {name: view, inputs: y, reshape: rows}\n"
                          "  - {name: sum, inputs: rows rows, outputs: {z: 8 KiB}}\n"
                          "outputs: z side\n";

// `small` with one line replaced.
std::string with_line(std::size_t line, const std::string &text) {
    std::istringstream in(small);
    std::string result, each;
    for (std::size_t i = 1; std::getline(in, each); i++)
        result += (i == line ? text : each) + "\n";
    return result;
}

// With one finding: what follows from a mistake is none.
void refuses(const std::string &text, const std::string &finding) {
    const loaded l(text);
    BOOST_CHECK_MESSAGE(std::count(l.findings.begin(), l.findings.end(), '\n') == 1, l.findings);
    BOOST_CHECK_EQUAL(l.status, TLA_SYNTAX);
    BOOST_CHECK_MESSAGE(l.findings.find(finding) != std::string::npos, l.findings << "expected " << finding);
    BOOST_CHECK(!l.net.tensors && !l.net.ops);
}

using buffers = std::vector<std::vector<uint8_t>>;

// What every tensor of a program holds when none shares memory.
buffers reference(const network &n, uint32_t program) {
    buffers all;
    std::vector<uint8_t *> views;
    for (std::size_t t = 0; t < n.tensor_count; t++) {
        all.emplace_back(n.tensors[t].nbytes);
        if (n.tensors[t].is_input) network_fill(&n, t, program, all.back().data());
        views.push_back(all.back().data());
    }
    network_compute(&n, views.data());
    return all;
}

// Runs every op on `programs` programs by the kernel, with what ops make at these offsets; how many bytes of the
// network's outputs are not the reference's.
std::size_t wrong_bytes(const network &n, const std::vector<uint64_t> &offsets, uint64_t height, uint32_t programs) {
    std::vector<network_home> homes(n.tensor_count);
    uint64_t end = memory_base + programs * height;
    for (std::size_t t = 0; t < n.tensor_count; t++) {
        homes[t] = {memory_base + offsets[t], height};
        if (!n.tensors[t].is_input) continue;
        homes[t] = {end, n.tensors[t].nbytes};
        end += programs * n.tensors[t].nbytes;
    }
    std::vector<uint8_t> memory(end - memory_base, 0xee);
    std::vector<bool> stored(memory.size());
    const auto at = [&](std::size_t t, uint32_t p) { return &memory[homes[t].va + p * homes[t].pitch - memory_base]; };
    for (uint32_t p = 0; p < programs; p++)
        for (std::size_t t = 0; t < n.tensor_count; t++)
            if (n.tensors[t].is_input) network_fill(&n, t, p, at(t, p));
    for (std::size_t op = 0; op < n.op_count; op++)
        for (uint32_t p = 0; p < programs && !n.ops[op].reshape; p++) {
            plain_program tl;
            tl.program = p;
            tl.programs = programs;
            tl.arguments.resize(NETWORK_ARGUMENTS_MAX);
            tl.arguments.resize(network_arguments(&n, op, homes.data(), tl.arguments.data()));
            tl.memory = &memory;
            tl.stored = &stored;
            BOOST_REQUIRE_EQUAL(network_kernel(&tl), TLA_OK);
            BOOST_REQUIRE(tl.tiles.empty() && !tl.bad_access);
        }
    std::size_t wrong = 0;
    for (uint32_t p = 0; p < programs; p++) {
        const buffers expected = reference(n, p);
        for (std::size_t t = 0; t < n.tensor_count; t++)
            for (uint64_t i = 0; n.tensors[t].is_output && i < n.tensors[t].nbytes; i++)
                wrong += at(t, p)[i] != expected[t][i];
    }
    return wrong;
}

// Some ops of some tensors; what nobody reads is an output.
std::string random_network(seeded_random &random, std::size_t ops) {
    const auto bytes = [&] {
        const uint64_t words = random.one_in(3) ? random.between(1, 12000) : random.between(1, 300);
        return std::to_string(4 * words) + " B";
    };
    std::string text = "name: random\ninputs: {";
    std::vector<std::string> names, unread;
    const std::uint64_t inputs = random.between(1, 3);
    for (std::uint64_t i = 0; i < inputs; i++) {
        names.push_back("in" + std::to_string(i));
        text += names.back() + ": " + bytes() + ", ";
    }
    unread = names;
    text += "}\nops:\n";
    const auto use = [&](const std::string &name) {
        unread.erase(std::remove(unread.begin(), unread.end(), name), unread.end());
        return name;
    };
    for (std::size_t op = 0; op < ops; op++) {
        const std::string number = std::to_string(op);
        text += "  - {name: op" + number + ", inputs: ";
        const bool reshape = names.size() > inputs && random.one_in(4);
        if (reshape) {
            text += use(names[random.between(inputs, names.size() - 1)]) + ", reshape: view" + number + "}\n";
            names.push_back("view" + number);
            unread.push_back(names.back());
            continue;
        }
        for (std::uint64_t i = 0, count = random.between(1, 3); i < count; i++)
            text += use(names[random.between(0, names.size() - 1)]) + " ";
        text += ", outputs: {";
        for (std::uint64_t i = 0, count = random.between(1, 2); i < count; i++) {
            names.push_back("t" + number + "_" + std::to_string(i));
            unread.push_back(names.back());
            text += names.back() + ": " + bytes() + ", ";
        }
        text += "}}\n";
    }
    text += "outputs:";
    for (const std::string &name : unread)
        text += " " + name;
    return text + "\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_network_is_read_with_its_lifetimes_in_ops) {
    const loaded l(small);
    BOOST_REQUIRE_MESSAGE(l.status == TLA_OK, l.findings);
    BOOST_CHECK_EQUAL(l.net.name, "small");
    BOOST_REQUIRE_EQUAL(l.net.tensor_count, 6u);
    BOOST_REQUIRE_EQUAL(l.net.op_count, 3u);
    const network_tensor &y = l.net.tensors[l.find("y")], &rows = l.net.tensors[l.find("rows")],
                         &side = l.net.tensors[l.find("side")];
    BOOST_CHECK(l.net.tensors[l.find("x")].is_input && !y.is_input);
    BOOST_CHECK_EQUAL(y.nbytes, 4096u);
    BOOST_CHECK_EQUAL(y.made_at, 0u);
    BOOST_CHECK_EQUAL(y.end, 3u); // under its other name
    BOOST_CHECK_EQUAL(y.users, 1u);
    BOOST_CHECK_EQUAL(rows.users, 2u);
    BOOST_CHECK_EQUAL(rows.bytes_of, l.find("y"));
    BOOST_CHECK_EQUAL(rows.nbytes, 4096u);
    BOOST_CHECK_EQUAL(side.end, 3u); // an output
    BOOST_CHECK(side.is_output && !y.is_output);
    for (const char *name : {"x", "w", "rows"})
        BOOST_CHECK(!network_needs_memory(&l.net, l.find(name)));
    for (const char *name : {"y", "side", "z"})
        BOOST_CHECK(network_needs_memory(&l.net, l.find(name)));
}

BOOST_AUTO_TEST_CASE(invalid_networks_are_rejected_with_their_place) {
    refuses("", "a network needs");
    refuses("name: x\n", "1:1: a network needs a name of at most 47 characters, ops and outputs");
    refuses(with_line(1, "nam: small"),
            "1:1: unknown key \"nam\", expected name, inputs, ops or outputs, did you mean \"name\"?");
    refuses(with_line(2, "inputs: {x: 8 KiB, w: 4 B, x: 12 B}"),
            "2:28: found the tensor \"x\" again, expected it once (line 2)");
    refuses(with_line(2, "inputs: {x: 0 B, w: 12 B}"),
            "2:13: x: found \"0 B\", expected a multiple of 4 B up to 1 TiB");
    refuses(with_line(2, "inputs: {x: 6 B, w: 12 B}"), "2:13: x: found \"6 B\"");
    refuses(with_line(2, "inputs: {x: 2 TiB, w: 12 B}"), "2:13: x: found \"2 TiB\"");
    refuses(with_line(2, "inputs: {x: many, w: 12 B}"), "2:13: x: found \"many\", expected a size");
    refuses(with_line(2, "inputs: {x: 8 KiB, w: 12 B, b: 4 B}"), "2:29: no op reads the tensor \"b\"");
    refuses(with_line(4, "  - {name: linear, inputs: x v, outputs: {y: 4 KiB, side: 16 B}}"),
            "4:28: inputs: found \"v\", expected inputs, or outputs of earlier ops");
    refuses(with_line(4, "  - {name: linear, inputs: x z, outputs: {y: 4 KiB, side: 16 B}}"), // before it is made
            "4:28: inputs: found \"z\"");
    refuses(with_line(6, "  - {name: sum, inputs: row rows, outputs: {z: 8 KiB}}"), "did you mean \"rows\"?");
    refuses(with_line(6, "  - {name: sum, inputs: rows, outputs: {y: 8 KiB}}"),
            "6:41: found the tensor \"y\" again, expected it once (line 4)");
    refuses(with_line(6, "  - {name: sum, inputs: rows, outputs: {z: 0 B}}"), "6:44: z: found \"0 B\"");
    refuses(with_line(6, "  - {name: sum, inputs: rows}"), "6:5: op \"sum\" has no outputs");
    refuses(with_line(6, "  - {name: sum, inputs: rows rows rows rows rows, outputs: {z: 4 B}}"),
            "6:5: op \"sum\": found 6 inputs and outputs, expected at most 5");
    refuses(with_line(6, "  - {name: sum, outputs: {z: 4 B}}"), "6:5: an op needs a name");
    refuses(with_line(6, "  - {inputs: rows, outputs: {z: 4 B}}"), "6:5: an op needs a name");
    refuses(with_line(4, "  - {name: linear, inputs: \"  \", outputs: {y: 4 KiB, side: 16 B}}"),
            "4:5: an op needs a name of at most 47 characters, and inputs");
    refuses(with_line(6, "  - {name: sum, input: rows, outputs: {z: 4 B}}"), "did you mean \"inputs\"?");
    refuses(with_line(5, "  - {name: view, inputs: x, reshape: rows}"),
            "5:38: reshape needs exactly one input, the output of an op");
    refuses(with_line(5, "  - {name: view, inputs: y y, reshape: rows}"), "reshape needs exactly one input");
    refuses(with_line(5, "  - {name: view, inputs: y y y y y, reshape: rows}"),
            "5:5: op \"view\": found 6 inputs and outputs, expected at most 5");
    refuses(with_line(5, "  - {name: view, inputs: y, reshape: rows, outputs: {q: 4 B}}"), "and no outputs");
    refuses(with_line(7, "outputs: side"), "6:46: no op reads the tensor \"z\": remove it, or list it in outputs");
    refuses(with_line(7, "outputs: z sid"), "7:10: outputs: found \"sid\"");
    refuses(with_line(7, "outputs: [z]"), "7:10: outputs: found a sequence");
    refuses(with_line(6, "  - {name: sum, inputs: rows, outputs: {z: 4 B, a: 4 B, b: 4 B, c: 4 B, d: 4 B}}"),
            "outputs: found more than the limit of 4");
    refuses(with_line(1, "name: " + std::string(300, 'n')), "name: found a text of 300 characters");
    refuses(with_line(1, "name: " + std::string(48, 'n')), "a name of at most 47");
    network n;
    BOOST_CHECK_EQUAL(network_load("/nowhere/net.yaml", &n, nullptr, nullptr), TLA_IO);
    BOOST_CHECK(!n.tensors);
}

BOOST_AUTO_TEST_CASE(keys_may_come_in_any_order) {
    std::istringstream in(small);
    std::string line, last_first;
    while (std::getline(in, line))
        if (line.rfind("outputs", 0) == 0) last_first = line + "\n";
    const loaded l(last_first + small.substr(0, small.rfind("outputs")));
    BOOST_CHECK_MESSAGE(l.status == TLA_OK, l.findings);
}

BOOST_AUTO_TEST_CASE(the_result_depends_on_every_word_and_its_place) {
    const loaded l("name: n\ninputs: {a: 8 B, b: 12 B}\nops:\n  - {name: f, inputs: a b, outputs: {c: 4 B, d: 16 B}}\n"
                   "outputs: c d\n");
    BOOST_REQUIRE_MESSAGE(l.status == TLA_OK, l.findings);
    std::vector<std::vector<uint8_t>> bytes{{1, 0, 0, 0, 2, 0, 0, 0},
                                            {3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0},
                                            std::vector<uint8_t>(4),
                                            std::vector<uint8_t>(16)};
    std::vector<uint8_t *> views;
    for (auto &b : bytes)
        views.push_back(b.data());
    network_compute(&l.net, views.data());
    const auto word = [&](std::size_t t, std::size_t i) {
        uint32_t value = 0;
        std::memcpy(&value, &bytes[t][4 * i], 4);
        return value;
    };
    uint32_t c = 16; // all of a, then all of b
    for (const uint32_t in : {1u, 2u, 3u, 4u, 5u})
        c = c * 33 + in;
    BOOST_CHECK_EQUAL(word(2, 0), c);
    const uint32_t of_a[] = {1, 2, 1, 2}, of_b[] = {3, 4, 5, 3};
    for (std::size_t i = 0; i < 4; i++)
        BOOST_CHECK_EQUAL(word(3, i), (17u * 33 + of_a[i]) * 33 + of_b[i]);
}

BOOST_AUTO_TEST_CASE(random_networks_compute_the_reference_in_memory_that_is_shared_as_placed) {
    seeded_random random(1701);
    for (int round = 0; round < 40; round++) {
        const std::string text = random_network(random, random.between(1, 12));
        const loaded l(text);
        BOOST_REQUIRE_MESSAGE(l.status == TLA_OK, l.findings << text);
        uint64_t bound = 0, heights[2];
        for (std::size_t op = 0; op < l.net.op_count; op++) {
            uint64_t living = 0;
            for (std::size_t t = 0; t < l.net.tensor_count; t++)
                if (network_needs_memory(&l.net, t) && l.net.tensors[t].made_at <= op && op < l.net.tensors[t].end)
                    living += l.net.tensors[t].nbytes;
            bound = std::max(bound, living);
        }
        for (const network_method method : {NETWORK_PLAN, NETWORK_RECORD_TABLE}) {
            std::vector<uint64_t> offsets(l.net.tensor_count);
            tla_error error{};
            BOOST_REQUIRE_MESSAGE(network_place(&l.net, method, 64, offsets.data(), &heights[method], &error) == TLA_OK,
                                  error.text);
            BOOST_CHECK_GE(heights[method], bound);
            BOOST_TEST_CONTEXT(text) BOOST_CHECK_EQUAL(wrong_bytes(l.net, offsets, heights[method], 2), 0u);
        }
        BOOST_CHECK_LE(heights[NETWORK_PLAN], heights[NETWORK_RECORD_TABLE]);
    }
}

// A tensor that is moved onto another one that lives with it is seen in the outputs, whichever two they are.
BOOST_AUTO_TEST_CASE(a_tensor_that_is_overwritten_while_it_lives_shows_in_the_outputs) {
    seeded_random random(1702);
    int tried = 0;
    for (int round = 0; round < 12; round++) {
        const loaded l(random_network(random, random.between(2, 10)));
        BOOST_REQUIRE_MESSAGE(l.status == TLA_OK, l.findings);
        std::vector<uint64_t> offsets(l.net.tensor_count);
        uint64_t height = 0;
        BOOST_REQUIRE_EQUAL(network_place(&l.net, NETWORK_PLAN, 4, offsets.data(), &height, nullptr), TLA_OK);
        height *= 2; // room for what is moved
        for (std::size_t a = 0; a < l.net.tensor_count; a++)
            for (std::size_t b = 0; b < l.net.tensor_count; b++) {
                const network_tensor &live = l.net.tensors[a], &moved = l.net.tensors[b];
                if (!network_needs_memory(&l.net, a) || !network_needs_memory(&l.net, b)) continue;
                if (moved.made_at <= live.made_at || moved.made_at + 1 >= live.end) continue; // a is read later
                std::vector<uint64_t> overlapping = offsets;
                for (std::size_t t = 0; t < l.net.tensor_count; t++)
                    if (l.net.tensors[t].bytes_of == b) overlapping[t] = offsets[a];
                BOOST_CHECK_GT(wrong_bytes(l.net, overlapping, height, 1), 0u);
                tried++;
            }
    }
    BOOST_CHECK_GT(tried, 20);
}

BOOST_AUTO_TEST_CASE(whichever_call_of_the_kernel_fails_its_tiles_are_freed) {
    const loaded l("name: n\ninputs: {a: 8 B, b: 12 B}\nops:\n  - {name: f, inputs: a b, outputs: {c: 16 B}}\n"
                   "outputs: c\n");
    std::vector<network_home> homes(l.net.tensor_count, {memory_base, 0});
    std::vector<uint8_t> memory(1 << 16);
    std::vector<bool> stored(memory.size());
    for (unsigned fail_at = 1;; fail_at++) {
        plain_program tl;
        tl.arguments.resize(NETWORK_ARGUMENTS_MAX);
        network_arguments(&l.net, 0, homes.data(), tl.arguments.data());
        tl.memory = &memory;
        tl.stored = &stored;
        tl.fail_at = fail_at;
        const tla_status status = network_kernel(&tl);
        const bool was_free = status && tl.tiles.size() == 1; // the call that failed was a tl_free
        BOOST_CHECK(tl.tiles.empty() || was_free);
        if (!status) break;
        BOOST_REQUIRE_LT(fail_at, 1000u);
    }
}
