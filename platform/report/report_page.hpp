// A page for the browser in one file: our scripts, the library that they use, and the data.
#ifndef TLMALLOC_PLATFORM_REPORT_REPORT_PAGE_HPP
#define TLMALLOC_PLATFORM_REPORT_REPORT_PAGE_HPP

#include "tlmalloc/base/status.h"

#include <jansson.h>
#include <string>

namespace tlmalloc {

// Where Debian's libjs-d3 puts the library, and its licence.
struct d3_files {
    std::string script = "/usr/share/javascript/d3/d3.min.js", licence = "/usr/share/doc/libjs-d3/copyright";
};

// Appends an element <script> with these data, of a type that browsers do not run, in which nothing can end it.
void add_data_element(std::string &page, const std::string &id, const json_t *data);

// Appends an element <script> with these bytes in base 64.
void add_bytes_element(std::string &page, const std::string &id, const std::string &bytes);

// Appends the page around the data elements: all that comes before and after them. The parts are found beside the
// program. TLA_IO or TLA_SYNTAX with a text for a library that is missing, or is not d3 3.5.
tla_status make_page(const d3_files &d3, const std::string &data, std::string *page, tla_error *error);

} // namespace tlmalloc
#endif
