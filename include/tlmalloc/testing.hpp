// Includes all headers for tests of targets, yours and tlmalloc's: the rules of TLM-2.0, a checker and an initiator.
#ifndef TLMALLOC_TESTING_HPP
#define TLMALLOC_TESTING_HPP

#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/conformance.hpp"
#include "tlmalloc/testing/conformance_probe.hpp"
#include "tlmalloc/testing/conformance_transport.hpp"
#include "tlmalloc/testing/initiator.hpp"

#endif
