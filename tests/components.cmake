# Which tests are a component's (platform/components.md). They have its label, and are left out with it.

# Whole programs, by the name of their file.
set(torch_tests as_recorded_course_test as_recorded_test explain_command_test explain_graphs_test
    explain_state_test least_capacity_test out_of_memory_snapshot_test torch_replay_test trace_formats_test)
set(serving_tests engines_hour_test host_tier_test measured_run_test out_of_memory_serve_test out_of_memory_serving_test
    platform_attention_test platform_blocks_test platform_tier_test scheduler_test serve_command_test serve_hour_test
    serve_memory_test serve_test serve_tier_test serving_managers_test serving_requests_test serving_study_test
    step_law_test)
set(sweep_tests out_of_memory_sweep_test output_places_test studies_page_test study_command_test sweep_command_test
    sweep_damage_test sweep_parts_test sweep_points_test sweep_slurm_test sweep_tune_test)
set(pages_tests report_command_test)
set(firmware_tests buddy_firmware_test firmware_arena_test firmware_test m_cpu_test module_pages_test offset_bins_firmware_test
    out_of_memory_riscv_test riscv_core_test riscv_hart_test riscv_unicorn_test)

# Cases of other programs, FILE.CASE; one that needs several components stands with each.
set(torch_cases
    error_texts_test.a_list_of_segments_is_not_reported_as_a_trace_of_the_profiler
    hostile_input_test.a_repeated_key_of_a_recording_is_rejected_at_its_place
    hostile_input_test.a_repeated_key_of_json_is_rejected_by_every_reader
    hostile_input_test.errors_are_reported_up_to_a_stated_number_and_then_reading_ends
    hostile_input_test.no_reader_waits_for_the_end_of_an_endless_file
    input_test.a_pickle_with_too_many_values_is_rejected_before_it_exhausts_memory
    input_test.a_pickle_that_is_too_large_is_rejected
    input_test.a_pickle_that_mentions_the_same_values_many_times_is_read_in_bounded_memory
    input_test.a_value_of_json_is_read_in_bounded_memory
    output_test.a_full_standard_output_prevents_every_file_and_is_reported_once
    output_test.a_dash_is_standard_output_and_the_table_goes_to_standard_error
    output_test.a_standard_output_that_is_full_or_closed_is_an_error_of_every_command
    output_test.an_output_that_cannot_be_written_whole_leaves_the_older_one
    output_test.every_output_is_written_and_an_older_one_replaced
    output_test.links_and_pipes_are_written_through_and_modes_are_kept
    plan_command_test.recordings_are_planned_with_lifetimes_as_they_happened
    report_keys_test.every_key_of_the_reports_is_in_the_page_and_no_other)
set(serving_cases
    command_line_test.help_names_every_command
    error_texts_test.serve_names_a_header_that_it_does_not_know
    hints_test.a_misspelt_word_in_an_experiment_gets_the_nearest_one
    hostile_input_test.a_repeated_key_of_json_is_rejected_by_every_reader
    hostile_input_test.no_reader_waits_for_the_end_of_an_endless_file
    output_places_test.no_option_of_any_command_removes_or_replaces_what_is_no_regular_file
    report_keys_test.every_key_of_the_reports_is_in_the_page_and_no_other
    reproduce_test.a_row_whose_data_are_missing_is_skipped_with_a_reason
    reproduce_test.every_experiment_meets_its_bounds_and_reports_it_in_json
    reproduce_test.findings_in_an_experiment_stand_at_their_place
    reproduce_test.requests_of_a_row_lie_in_the_data_folder_and_bad_ones_are_rejected
    sweep_command_test.a_serving_engine_is_swept_by_its_settings_and_its_law)
set(sweep_cases
    command_line_test.help_names_every_command
    hostile_input_test.constraints_end_whatever_they_say
    hostile_input_test.errors_are_reported_up_to_a_stated_number_and_then_reading_ends
    hostile_input_test.no_reader_waits_for_the_end_of_an_endless_file
    kernel_process_test.a_point_of_a_sweep_whose_kernel_ends_its_process_has_failed
    report_keys_test.every_key_of_the_reports_is_in_the_page_and_no_other)
set(pages_cases
    command_line_test.help_names_every_command
    hostile_input_test.a_repeated_key_of_json_is_rejected_by_every_reader
    hostile_input_test.an_event_log_has_lines_of_a_limit_and_an_end_whatever_bytes_come
    hostile_input_test.no_reader_waits_for_the_end_of_an_endless_file)
set(firmware_cases
    engine_command_test.a_driver_with_an_engine_is_rejected
    engine_command_test.a_kernel_waits_as_long_with_firmware_as_by_its_profile
    engine_command_test.a_list_of_few_nodes_fails_requests_without_a_node
    engine_command_test.a_memory_that_no_engine_holds_is_rejected_by_name
    engine_command_test.a_timing_of_instructions_without_firmware_is_rejected
    engine_command_test.a_trace_takes_as_long_with_firmware_as_by_its_profile
    engine_command_test.firmware_takes_the_cycles_of_its_instructions
    engine_command_test.settings_that_firmware_does_not_support_are_rejected_by_name
    key_effects_test.a_key_that_is_reported_changes_nothing_and_the_key_that_decides_is_named
    key_effects_test.every_key_that_is_not_reported_changes_some_run
    random_laws_test.every_key_and_every_kernel_is_drawn_or_listed_with_a_reason
    random_laws_test.random_platforms_keep_the_laws
    random_energy_test.energies_of_random_platforms_are_counts_times_constants_under_every_observer
    reset_test.an_engine_in_firmware_begins_anew)

# tlmalloc_components_of(TEST LIST): the components of a program, or of FILE.CASE with those of its program.
function(tlmalloc_components_of test found)
  string(REGEX REPLACE "\\..*" "" program ${test})
  set(components)
  foreach(component torch serving sweep pages firmware)
    if(program IN_LIST ${component}_tests OR test IN_LIST ${component}_cases)
      list(APPEND components ${component})
    endif()
  endforeach()
  set(${found} ${components} PARENT_SCOPE)
endfunction()

# tlmalloc_is_there(TEST VARIABLE): whether this build has all components that a test is of.
function(tlmalloc_is_there test there)
  tlmalloc_components_of(${test} components)
  set(${there} TRUE PARENT_SCOPE)
  foreach(component ${components})
    string(TOUPPER TLMALLOC_${component} option)
    if(NOT ${option})
      set(${there} FALSE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
