// What stands where an output is to go: only a regular file is replaced or removed. In a mount namespace of its own,
// with devices that are nobody else's.
#include "platform/sweep_results.hpp"
#include "today.hpp"

#include <atomic>
#include <iostream>
#include <map>
#include <regex>
#include <sched.h>
#include <set>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <thread>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// A file system of its own on a folder, which only this process and its children see.
class own_mount {
  public:
    explicit own_mount(const std::string &on) : folder(on), mounted(mount_on(on)) {}
    ~own_mount() {
        if (mounted) umount2(folder.c_str(), MNT_DETACH);
    }
    bool is_there() const { return mounted; }

  private:
    static bool mount_on(const std::string &folder);
    std::string folder;
    bool mounted;
};

bool own_mount::mount_on(const std::string &folder) {
    const bool here = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      mount("none", folder.c_str(), "tmpfs", 0, nullptr) == 0 &&
                      mknod((folder + "/probe").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
    if (!here) std::cout << "test skipped: a mount namespace with devices is not here" << std::endl;
    return here;
}

// A reader for who writes to a pipe, and the end of a file for who reads from it.
class pipe_partner {
  public:
    explicit pipe_partner(const std::string &path) : partner([this, path] { serve(path); }) {}
    ~pipe_partner() {
        stop = true;
        partner.join();
    }

  private:
    void serve(const std::string &path) const {
        while (!stop) {
            const int writing = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
            if (writing >= 0) {
                close(writing);
                continue;
            }
            const int reading = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
            if (reading < 0) return;
            char bytes[65536];
            for (ssize_t got = -1; !stop && got != 0; usleep(500))
                while ((got = read(reading, bytes, sizeof bytes)) > 0)
                    ;
            close(reading);
        }
    }
    std::atomic<bool> stop{false};
    std::thread partner;
};

void make_socket(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    BOOST_REQUIRE_LT(path.size(), sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    BOOST_REQUIRE_EQUAL(bind(file, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    close(file);
}

// All that is no regular file, in a folder each, where no command may leave anything beside it. Every day a fifth.
const std::vector<std::pair<std::string, std::function<void(const std::string &)>>> places{
    {"null", [](const std::string &p) { BOOST_REQUIRE_EQUAL(mknod(p.c_str(), S_IFCHR | 0666, makedev(1, 3)), 0); }},
    {"full", [](const std::string &p) { BOOST_REQUIRE_EQUAL(mknod(p.c_str(), S_IFCHR | 0666, makedev(1, 7)), 0); }},
    {"block", [](const std::string &p) { BOOST_REQUIRE_EQUAL(mknod(p.c_str(), S_IFBLK | 0666, makedev(241, 0)), 0); }},
    {"pipe", [](const std::string &p) { BOOST_REQUIRE_EQUAL(mkfifo(p.c_str(), 0666), 0); }},
    {"socket", make_socket},
    {"folder",
     [](const std::string &p) {
         std::filesystem::create_directory(p);
         write_text(p + "/kept", "kept");
     }},
    {"link to a device", [](const std::string &p) { std::filesystem::create_symlink("../null/node", p); }},
    {"link to a folder", [](const std::string &p) { std::filesystem::create_symlink("../folder/node", p); }},
    {"link to nothing", [](const std::string &p) { std::filesystem::create_symlink("nothing", p); }},
    {"link to itself", [](const std::string &p) { std::filesystem::create_symlink("node", p); }},
};

// "null c 1:3 0666 node": what stands there and what beside it.
std::string state_of(const std::string &folder) {
    std::set<std::string> lines;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        struct stat found {};
        BOOST_REQUIRE_EQUAL(lstat(entry.path().c_str(), &found), 0);
        lines.insert(entry.path().filename().string() + " " + std::to_string(found.st_mode) + " " +
                     std::to_string(found.st_ino) + " " + std::to_string(found.st_rdev));
    }
    std::string text;
    for (const std::string &line : lines)
        text += line + "\n";
    return text;
}

std::vector<std::string> commands() {
    const std::string help = run_tlmalloc({"help"}).out;
    const std::regex line("\n  ([a-z]+) ");
    std::vector<std::string> found;
    for (std::sregex_iterator i(help.begin(), help.end(), line), end; i != end; ++i)
        if ((*i)[1] != "help") found.push_back((*i)[1]);
    return found;
}

// Those of its options that take an argument, as its own help lists them.
std::vector<std::string> options_of(const std::string &command) {
    const std::string help = run_tlmalloc({"help", command}).out;
    const std::regex line("\n  (?:-[A-Za-z], |    )(--[a-z-]+)\\[?=");
    std::vector<std::string> found;
    for (std::sregex_iterator i(help.begin(), help.end(), line), end; i != end; ++i)
        found.push_back((*i)[1]);
    return found;
}

// A line for each command that works, and to which an option can be added.
std::map<std::string, std::vector<std::string>> lines_that_work(const scratch_directory &scratch) {
    const std::string source = TLMALLOC_SOURCE_DIR "/configs/";
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,2,8\n3,free,1,8\n");
    const std::string addresses = scratch.write("a.csv", "time_ps,op,addr,bytes\n0,R,0,64\n0,W,64,64\n");
    const std::string plan = scratch.write("buffers.csv", sweeps::buffers);
    const std::string sweep = scratch.write("s.yaml", sweeps::plans(4));
    const std::string requests =
        scratch.write("r.jsonl", "{\"id\":0,\"arrival_s\":0,\"input\":20,\"output\":2,\"blocks\":[0,1]}\n");
    const std::string rows = scratch.write(
        "e.yaml", "name: s\nunit: GB/s\nworkload: stream\nwith: {bytes: 64 KiB}\nset: {system.pes_per_cube: 1, "
                  "mmu.walk: flat}\nrows:\n  - {label: a, published: 10, source: none}\n");
    const std::string recording = scratch.write(
        "s.json",
        R"({"device_traces": [[{"action": "segment_alloc", "addr": 4194304, "size": 2097152, "stream": 0, "time_us": 1},
{"action": "alloc", "addr": 4194304, "size": 512, "stream": 0, "time_us": 2}]],
"segments": [{"device": 0, "address": 4194304, "total_size": 2097152, "allocated_size": 512, "active_size": 512,
"stream": 0, "segment_type": "small", "blocks": [{"address": 4194304, "size": 512, "requested_size": 512,
"state": "active_allocated"}, {"address": 4194816, "size": 2096640, "requested_size": 0, "state": "inactive"}]}]})");
    const std::string results = scratch.path("results.sqlite"), report = scratch.path("report.json");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"sweep", sweep, "-o", results}).status, 0);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--json", report}).status, 0);
    return {
        {"run", {npu_small, "--kernel", "dma_read"}},
        {"replay", {trace, "--capacity", "1 KiB"}},
        {"explain", {recording}},
        {"report", {report, "--output", scratch.path("page.html")}},
        {"age", {trace, "--capacity", "1 KiB"}},
        {"plan", {plan, "--capacity", "64 B"}},
        {"serve", {requests, "--settings", source + "serving/small.yaml", "--step-time", "fixed 2 ms + 20 us/token"}},
        {"traffic", {source + "timing/hbm2.yaml", addresses}},
        {"probe", {npu_small, "--case", "local"}},
        {"reproduce", {rows}},
        {"sweep", {sweep, "--output", results, "--resume"}},
        {"study", {results}},
        {"topology", {npu_small}},
        {"check", {npu_small}}};
}

// Ended when it hangs, which is a failure.
command_result run_with(const std::string &command, std::vector<std::string> words, const std::string &option) {
    words.insert(words.begin(), {"/usr/bin/timeout", "-s", "KILL", "100", TLMALLOC_COMMAND, command});
    words.push_back(option);
    return running_command(words).wait();
}

} // namespace

BOOST_AUTO_TEST_CASE(no_option_of_any_command_removes_or_replaces_what_is_no_regular_file) {
    scratch_directory scratch, nodes;
    const own_mount mounted(nodes.path("."));
    if (!mounted.is_there()) return;
    for (const auto &[name, make] : places) {
        std::filesystem::create_directory(nodes.path(name));
        make(nodes.path(name) + "/node");
    }
    const pipe_partner partner(nodes.path("pipe/node"));
    const auto lines = lines_that_work(scratch);
    std::set<std::string> written; // options that made a file
    for (const std::string &command : commands()) {
        BOOST_REQUIRE_MESSAGE(lines.count(command), "no line that works is known of the command " << command);
        const std::vector<std::string> line = lines.at(command);
        for (const std::string &option : options_of(command)) {
            BOOST_TEST_CONTEXT(command << " " << option) {
                for (const auto &place : some_of_today(places, 5)) {
                    const std::string folder = nodes.path(place.first), before = state_of(folder);
                    const command_result run = run_with(command, line, option + "=" + folder + "/node");
                    BOOST_CHECK_MESSAGE(run.status != 137 && run.status != 1000 + SIGKILL, place.first << ": hangs");
                    std::filesystem::remove(folder + "/nothing"); // where a link leads that may be written through
                    BOOST_CHECK_MESSAGE(state_of(folder) == before, place.first << ": was\n"
                                                                                << before << "is\n"
                                                                                << state_of(folder) << run.err);
                    BOOST_REQUIRE_EQUAL(read_text(nodes.path("folder/node/kept")), "kept");
                }
                run_with(command, line, option + "=" + scratch.path("made"));
                if (std::filesystem::remove_all(scratch.path("made"))) written.insert(command + " " + option);
            }
        }
    }
    for (const std::string output : {"run --json", "run --record", "run --vcd", "run --events", "run --trace",
                                     "replay --placements", "age --output", "explain --map", "plan --output",
                                     "serve --steps", "sweep --output", "study --csv", "reproduce --plot"})
        BOOST_CHECK_MESSAGE(written.count(output), output << " wrote nothing");
}

// SQLite empties and removes journals beside its file.
BOOST_AUTO_TEST_CASE(files_in_the_place_of_a_journal_of_results_stay) {
    scratch_directory scratch;
    scratch.write("buffers.csv", sweeps::buffers);
    const std::string file = scratch.write("s.yaml", sweeps::plans(1)), results = scratch.path("r.sqlite");
    for (const std::string end : {"-journal", "-wal", "-shm"}) {
        BOOST_TEST_CONTEXT(end) {
            const std::string mine = scratch.write("r.sqlite" + end, "mine");
            const command_result run = run_tlmalloc({"sweep", file, "-o", results});
            BOOST_CHECK_EQUAL(run.status, 2);
            BOOST_CHECK_MESSAGE(contains(run.err, mine + ": a file is in the place of a journal of the new results"),
                                run.err);
            BOOST_CHECK_EQUAL(read_text(mine), "mine");
            std::filesystem::remove(mine);
            BOOST_CHECK_EQUAL(run_tlmalloc({"sweep", file, "-o", results}).status, 0);
            std::filesystem::create_directory(mine);
            const command_result resumed = run_tlmalloc({"sweep", file, "-o", results, "--resume"});
            BOOST_CHECK_EQUAL(resumed.status, 2);
            BOOST_CHECK_MESSAGE(contains(resumed.err, mine + ": a directory is in the place of a journal"),
                                resumed.err);
            std::filesystem::remove(mine);
            std::filesystem::remove(results);
        }
    }
}

// What is in the folder of a job's tasks and is no regular file is nobody's result.
BOOST_AUTO_TEST_CASE(a_merge_removes_regular_files_only) {
    scratch_directory scratch;
    scratch.write("buffers.csv", sweeps::buffers);
    const std::string file = scratch.write("s.yaml", sweeps::plans(1)), results = scratch.path("r.sqlite"),
                      folder = results + ".tasks";
    std::filesystem::create_directory(folder);
    const std::string empty = scratch.write("empty", "");
    for (const std::string &to : {std::string("/dev/null"), empty}) {
        std::filesystem::create_symlink(to, folder + "/1.sqlite");
        run_tlmalloc({"sweep", file, "-o", results, "--merge"});
        BOOST_CHECK(std::filesystem::is_symlink(folder + "/1.sqlite"));
        std::filesystem::remove(folder + "/1.sqlite");
    }
}

// A file that was there before and is empty was not made by the command.
BOOST_AUTO_TEST_CASE(results_that_cannot_be_are_removed_only_where_the_sweep_has_made_them) {
    scratch_directory scratch;
    scratch.write("buffers.csv", sweeps::buffers);
    std::string text = sweeps::plans(1);
    text.replace(text.find("[9 B]"), 5, "[64 B]");
    text.replace(text.find("height: height"), 14, "height: nowhere"); // found out when the first point has run
    const std::string file = scratch.write("s.yaml", text);
    BOOST_CHECK_EQUAL(run_tlmalloc({"sweep", file, "-o", scratch.path("new.sqlite")}).status, 2);
    BOOST_CHECK(!std::filesystem::exists(scratch.path("new.sqlite")));
    const std::string older = scratch.write("older.sqlite", "");
    BOOST_CHECK_EQUAL(run_tlmalloc({"sweep", file, "-o", older, "--resume"}).status, 2);
    BOOST_CHECK(std::filesystem::exists(older));
    std::filesystem::create_symlink("behind.sqlite", scratch.path("link.sqlite"));
    BOOST_CHECK_EQUAL(run_tlmalloc({"sweep", file, "-o", scratch.path("link.sqlite")}).status, 2);
    BOOST_CHECK(std::filesystem::is_symlink(scratch.path("link.sqlite")));
    BOOST_CHECK(!std::filesystem::exists(scratch.path("behind.sqlite")));
}
