//! One function a promise; a store runs them all with `store_conformance!(Harness)`.

mod commits;
mod counts;
mod desk;
mod index;
mod offsets;
mod removal;
mod reopening;
mod state;
mod windows;

pub use commits::*;
pub use counts::*;
pub use index::*;
pub use offsets::*;
pub use removal::*;
pub use reopening::*;
pub use state::*;
pub use windows::*;

/// Expands to a `#[test]` for every promise, on the given [`Harness`](crate::testing::Harness).
#[macro_export]
macro_rules! store_conformance {
    ($harness:ty) => {
        $crate::store_conformance!(@ $harness;
            a_batch_is_visible_whole
            a_read_sees_every_commit_written_before_it_durable_or_not
            commit_numbers_rise_over_all_shards
            an_empty_batch_is_a_commit_like_any_other
            when_a_commit_is_durable_so_are_all_before_it
            one_sync_answers_everyone_who_waits
            whoever_stops_waiting_does_not_disturb_the_others
            shards_are_written_and_read_from_many_threads_at_once
            syncs_are_told_to_the_observer
            a_count_has_a_bucket_for_each_minute_that_is_not_empty
            a_count_keeps_to_its_bounds
            a_count_may_be_long
            an_entry_comes_back_as_it_was_put
            an_entry_takes_the_place_of_an_earlier_one
            entries_are_told_apart_by_every_part_of_their_place
            an_entry_is_kept_until_its_time
            a_floor_hides_what_lies_at_or_before_it
            a_floor_may_stand_where_no_record_is
            a_floor_never_sinks
            a_floor_leaves_other_timelines_and_shards_alone
            offsets_count_from_zero_where_there_is_no_mark
            floors_and_anchors_count_the_same_offsets
            an_offset_is_of_a_record_and_not_of_a_gap
            offsets_past_the_last_record_give_nothing
            a_mark_written_with_the_records_it_passes_counts_them
            a_removed_record_is_gone_for_good
            removing_what_is_not_there_changes_nothing
            a_range_removal_spares_its_first_bound_and_takes_its_last
            a_range_removal_spares_later_sequence_numbers
            an_inverted_range_removal_removes_nothing
            a_removal_reaches_what_its_own_batch_inserted_before
            a_clean_close_keeps_everything
            a_reopened_store_goes_on_where_it_was
            a_crash_keeps_what_is_durable_and_whole_batches_only
            state_is_shown_in_key_order
            state_is_overwritten_and_forgotten
            the_last_write_of_a_batch_to_a_piece_of_state_wins
            state_of_shards_is_apart
            only_named_state_is_shown_as_such
            state_may_be_long_and_of_any_bytes
            a_window_is_in_position_order_whatever_the_order_of_insertion
            a_window_begins_after_its_first_bound_and_includes_its_last
            an_empty_or_inverted_window_is_empty
            a_window_ends_at_its_limit
            a_window_stops_after_the_record_that_reaches_its_bytes
            a_window_of_positions_comes_without_values
            a_window_stays_within_its_timeline
            a_window_stays_within_its_shard
            a_timeline_reaches_from_the_first_millisecond_to_the_last
            a_record_comes_back_byte_for_byte
            a_record_is_found_at_its_own_position_only
            reads_are_answered_in_the_order_asked
        );
    };
    (@ $harness:ty; $($promise:ident)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::testing::conformance::$promise::<$harness>();
            }
        )*
    };
}
