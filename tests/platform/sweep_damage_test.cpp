// Results of a sweep that something has damaged: never taken for whole, never changed.
#include "platform/sweep_results.hpp"
#include "today.hpp"
#include "unit/seeded_random.hpp"

using namespace sweeps;

namespace {

struct sweep_files {
    scratch_directory scratch;
    std::string file, whole; // the sweep, and the bytes of its results
    std::string rows;

    sweep_files() {
        scratch.write("buffers.csv", buffers);
        file = scratch.write("s.yaml", plans(60)); // some pages
        const std::string made = scratch.path("made.sqlite");
        BOOST_REQUIRE_EQUAL(run_tlmalloc({"sweep", file, "-o", made}).status, 0);
        whole = read_text(made);
        rows = rows_of(made);
    }
};

// Bytes that change, pages that are swapped, lost or empty, an end that is missing or more than there was.
std::string damaged(std::string bytes, seeded_random &random) {
    const std::size_t page = 4096, pages = bytes.size() / page;
    const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random.between(0, count - 1)); };
    switch (random.between(0, 5)) {
    case 0:
    case 1:
        for (std::size_t i = any(8); i < 8; i++)
            bytes[any(bytes.size())] ^= static_cast<char>(1 + any(255));
        return bytes;
    case 2:
        for (std::size_t i = 0, at = any(bytes.size()), count = 1 + any(2000); i < count && at + i < bytes.size(); i++)
            bytes[at + i] = 0;
        return bytes;
    case 3:
        return bytes.substr(0, bytes.size() - page * any(pages));
    case 4:
        return bytes.substr(0, 1 + any(bytes.size() - 1));
    default: {
        const std::size_t from = any(pages), to = any(pages);
        return bytes.replace(page * to, page, bytes.substr(page * from, page));
    }
    }
}

// Every point has its row, and SQLite finds nothing wrong.
void check_whole(const std::string &results, const sweep_files &files, const std::string &err) {
    BOOST_CHECK_MESSAGE(cell(results, "PRAGMA integrity_check") == "ok", err);
    BOOST_CHECK_EQUAL(cell(results, "SELECT count(*) FROM point"),
                      std::to_string(std::count(files.rows.begin(), files.rows.end(), '\n')));
}

} // namespace

BOOST_AUTO_TEST_CASE(resume_study_and_merge_reject_damaged_results_and_keep_them) {
    const sweep_files files;
    seeded_random random(all_is_tested() ? 29 : 29 + today());
    const int count = all_is_tested() ? 200 : 40;
    int refused = 0;
    for (int i = 0; i < count; i++) {
        scratch_directory scratch;
        const std::string bytes = damaged(files.whole, random), path = scratch.write("r.sqlite", bytes);
        if (bytes == files.whole) continue;
        const command_result study = run_tlmalloc({"study", path});
        BOOST_CHECK_MESSAGE(study.status < 1000, study.err);
        const command_result run = run_tlmalloc({"sweep", files.file, "-o", path, "--resume"});
        BOOST_TEST_CONTEXT("number " << i) {
            if (run.status == 0) {
                check_whole(path, files, run.err);
            } else {
                refused++;
                BOOST_CHECK_MESSAGE(run.status <= 2 && contains(run.err, path), run.err);
                BOOST_CHECK(read_text(path) == bytes);
                BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
            }
            const std::string into = scratch.path("into.sqlite"), tasks = into + ".tasks", task = tasks + "/1_1.sqlite";
            std::filesystem::create_directory(tasks);
            write_text(task, bytes);
            const command_result merged = run_tlmalloc({"sweep", files.file, "-o", into, "--merge"});
            if (merged.status == 0) {
                check_whole(into, files, merged.err);
            } else {
                BOOST_CHECK_MESSAGE(
                    merged.status <= 2 &&
                        contains(merged.err, std::filesystem::exists(task) ? task : "points have no row yet"),
                    merged.err);
                BOOST_CHECK_MESSAGE(!std::filesystem::exists(task) || read_text(task) == bytes, merged.err);
            }
        }
    }
    BOOST_CHECK_GT(refused, count / 4);
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_rejected_with_the_damage_and_a_remedy) {
    const sweep_files files;
    std::string bytes = files.whole;
    const std::size_t page = 4096;
    bytes.replace(bytes.size() - page, page, std::string(page, '\0'));
    const std::string path = files.scratch.write("r.sqlite", bytes);
    for (const std::vector<std::string> &line :
         {std::vector<std::string>{"sweep", files.file, "-o", path, "--resume"}, {"study", path}}) {
        const command_result run = run_tlmalloc(line);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, path + ": the file is damaged (") &&
                                contains(run.err, "): move it away to rerun its points"),
                            run.err);
    }
    std::filesystem::rename(path, files.scratch.path("away"));
    BOOST_CHECK_EQUAL(run_tlmalloc({"sweep", files.file, "-o", path, "--resume"}).status, 0);
    BOOST_CHECK_EQUAL(rows_of(path), files.rows);
}
